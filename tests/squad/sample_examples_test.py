"""The questions that exports are checked with."""

import pytest

from bert_span.squad.sample_examples import sample_examples


def test_both_proofs_have_questions_of_every_kind():
  short, full = (sample_examples(proof) for proof in ("short", "full"))
  assert (len(short), len(full)) == (17, 128)
  assert set(short) < set(full)
  for examples in (short, full):
    assert len({e.qas_id for e in examples}) == len(examples)
    assert any(not e.answers for e in examples[:9])
    assert any(e.answers for e in examples)
    assert any(len(e.context) > 3000 for e in examples)  # several windows
    texts = [e.question for e in examples] + [e.context for e in examples]
    assert "" in texts
    assert any("東京" in text for text in texts)
  with pytest.raises(ValueError, match="'quick'"):
    sample_examples("quick")
