"""Point 1: tokens."""

import pytest
from altered_goldens import altered

from bert_span.certificate.token_checks import check_tokens


@pytest.mark.large
def test_all_strings_have_the_originals_tokens(original):
  checks = check_tokens(original)
  assert [check.name.split(",")[0] for check in checks] == (
    ["WordPieces", "Words"] * 2
  )
  for check in checks:
    assert check.holds, check.failures
    assert check.cases == check.equal > 1000


@pytest.mark.large
def test_one_other_token_is_noticed(original):
  def change(rows):
    return [
      [text, [*tokens, "x"] if i == 7 else tokens]
      for i, (text, tokens) in enumerate(rows[:20])
    ]

  goldens = altered(original, "tokenization_lower.jsonl.gz", change)
  wordpieces, *others = check_tokens(goldens)
  assert wordpieces.cases - wordpieces.equal == 1
  assert not wordpieces.holds
  assert all(check.holds for check in others)
