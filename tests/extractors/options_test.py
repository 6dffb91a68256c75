"""Options of programs that answer."""

import pytest

from bert_span.extractors.options import AnswerOptions
from bert_span.text.options import WindowOptions


def test_windows_are_checked_only_with_the_saved_options():
  """The model's max_seq_length may be the one that the query fits."""
  given = {"max_seq_length": 32, "max_query_length": 64}
  with pytest.raises(ValueError, match="max_seq_length"):
    WindowOptions(**given)
  options = AnswerOptions(**given)
  assert options.given(WindowOptions) == given
  # Values that are wrong by themselves are refused at once.
  with pytest.raises(ValueError, match=r"doc_stride.* 0"):
    AnswerOptions(doc_stride=0)
  with pytest.raises(ValueError, match=r"head.*'pointer'"):
    AnswerOptions(head="pointer")
