"""From answers in characters to tokens of windows, by hand."""

import random

import pytest

from bert_span import SpanPreprocessor, SquadExample, WindowOptions
from bert_span.data.window_batches import labelled_batches
from bert_span.squad.example import AnswerSpan

pytestmark = pytest.mark.usefixtures("eager")
_VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "a", "b", "c", "d", "e", "f"),
  *("the", "leader", "was", "john", "smith", "(", "1895", "-", "1943", ")"),
  *(".", "japanese", "food", "##food"),
]
# [CLS] who [SEP], room for 35 tokens of the passage, [SEP].
_OPTIONS = WindowOptions(39, 2, 1)
# Room for three.
_SHORT = WindowOptions(7, 2, 1)


def _windows(context, answer, char_start, options=_OPTIONS):
  """The labelled windows of one example."""
  example = SquadExample("", "who", context, (AnswerSpan(answer, char_start),))
  preprocessor = SpanPreprocessor(_VOCABULARY, options=options)
  ((_, windows, labels, _),) = labelled_batches([example], preprocessor)
  windows |= labels
  return {name: values.tolist() for name, values in windows.items()}


@pytest.mark.parametrize(
  ("context", "answer", "char_start", "tokens"),
  [
    # A part of a word is found in it, a part of a token is the whole word.
    ("The leader was John Smith (1895-1943).", "1895", 27, ["1895"]),
    ("The leader was John Smith.", "John Smith", 15, ["john", "smith"]),
    # As run_squad: the narrow no-break space separates words, this one not.
    ("Japanese\u202ffood", "Japan", 0, ["japanese"]),
    ("Japanese\xa0food", "Japan", 0, ["japanese", "food"]),
    # Spaces at the beginning are no word.
    (" Japanese food", " Japan", 0, ["japanese"]),
    # Separators belong to the word before them.
    *(
      (f"Japanese{blank}food", f"{blank}fo", 8, ["japanese", "food"])
      for blank in " \n\u202f"
    ),
    # Accents do not shift the answer.
    ("d\u0301 é\u0301 John a", "John", 6, ["john"]),
  ],
)
def test_the_tokens_of_an_answer(context, answer, char_start, tokens):
  windows = _windows(context, answer, char_start)
  (start,), (end,) = windows["start_positions"], windows["end_positions"]
  found = windows["input_ids"][0][start : end + 1]
  assert [_VOCABULARY[i] for i in found] == tokens


@pytest.mark.parametrize(
  ("context", "answer", "char_start", "options", "positions"),
  [
    # As run_squad: the second "a" of the word "a-b-a" is labelled the first.
    ("c a-b-a", "a", 6, _OPTIONS, [(4, 4)]),
    ("c a-b-a", "b-a", 4, _OPTIONS, [(6, 8)]),
    # Not outside the words of the answer.
    ("a b a", "a", 4, _OPTIONS, [(5, 5)]),
    # An answer that a window cuts (a b c, c d e, e f), or does not have.
    ("a b c d e f", "d e", 6, _SHORT, [(0, 0), (4, 5), (0, 0)]),
    ("a b c d e f", "", -1, _SHORT, [(0, 0)] * 3),
    # No token; the original labels it from b to a.
    ("a \u200b b c d", "\u200b", 2, _SHORT, [(-1, -1)] * 2),
  ],
)
def test_the_positions_in_each_window(
  context, answer, char_start, options, positions
):
  windows = _windows(context, answer, char_start, options)
  starts, ends = windows["start_positions"], windows["end_positions"]
  assert list(zip(starts, ends, strict=True)) == positions


def test_a_long_answer_in_a_passage_without_blanks_is_found():
  # One word of 100,000 tokens, where the answer could start at 80,000 places.
  rng = random.Random(1)
  context = "".join(rng.choices("(-).", k=100_000))
  options = WindowOptions(50_000, 50_000, 5)
  windows = _windows(context, context[20_000:40_000], 20_000, options)
  assert windows["start_positions"] == [20_003, 0, 0]
  assert windows["end_positions"] == [40_002, 0, 0]
