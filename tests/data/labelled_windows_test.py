"""What a model is fine-tuned on, for each head."""

import pytest

from bert_span.data.labelled_windows import left_out_lines, make_training_set
from bert_span.data.packed_windows import LeftOut
from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.squad.example import Answer, SquadExample
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor

_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "q", "a", "b", "c", "d", "e"]
# Three tokens of the passage in a window: "a b c", "c d e".
_EXAMPLES = [
  SquadExample("long", "q", "a b c d e", (Answer("d", 6),)),
  SquadExample("zero", "q", "a \u200b b", (Answer("\u200b", 2),)),
]


@pytest.mark.parametrize("head", [SPAN_HEAD, BIO_HEAD])
def test_windows_are_labelled_for_the_head(head):
  preprocessor = SpanPreprocessor(_VOCABULARY, options=WindowOptions(7, 2, 1))
  whole = make_training_set(_EXAMPLES, preprocessor, head.labels, "soft", False)
  assert whole.windows.scheme is head.labels
  assert whole.num_examples == 2
  assert len(whole.windows) == 2
  assert whole.left_out == (0, ["zero"])
  part = make_training_set(_EXAMPLES, preprocessor, head.labels, "soft", True)
  assert len(part.windows) == 1
  assert part.left_out == (1, ["zero"])


def test_what_is_left_out_is_told():
  assert list(left_out_lines(LeftOut(0, []))) == []
  windows, questions = left_out_lines(LeftOut(3, ["a", "b", "c", "d"]))
  assert windows.startswith("3 windows left out")
  assert questions.startswith("4 questions left out")
  assert "first: a, b, c)" in questions
