"""From answers in characters to tokens of windows, by hand."""

import functools
import random

import pytest

from bert_span import SpanPreprocessor, SquadExample, WindowOptions
from bert_span.data.window_batches import labelled_batches
from bert_span.squad.example import AnswerSpan
from bert_span.text.sentencepiece_model import ModelProto, sentence_pieces

pytestmark = pytest.mark.usefixtures("eager")
_VOCABULARY = (
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "a", "b", "c", "d", "e", "f"),
  *("the", "leader", "was", "john", "smith", "(", "1895", "-", "1943", ")"),
  *(".", "japanese", "food", "##food"),
)
# [CLS] who [SEP], room for 35 tokens of the passage, [SEP].
_OPTIONS = WindowOptions(39, 2, 1)
# Room for three.
_SHORT = WindowOptions(7, 2, 1)


@functools.cache
def _preprocessor(vocabulary, *arguments):
  """One, which computes windows sooner the second time."""
  return SpanPreprocessor([*vocabulary], *arguments)


def _windows(context, answer, char_start, options=_OPTIONS):
  """The labelled windows of one example."""
  example = SquadExample("", "who", context, (AnswerSpan(answer, char_start),))
  preprocessor = _preprocessor(_VOCABULARY, True, options)
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
  found = windows["token_ids"][0][start : end + 1]
  assert [_VOCABULARY[i] for i in found] == tokens


# Words are what white space separates: whole sentences in these scripts.
_SCRIPTS = (
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "日", "本", "京", "。"),
  *("ひ", "##と", "##か", "ไทย", "##ไป", "ไป"),
)


@pytest.mark.parametrize(
  ("context", "char_start", "answer", "tokens"),
  [
    # Chinese: each character is a token, and the first equal run is taken,
    # even if the second one is the answer, as in run_squad.
    ("日本京。", 1, "本", ["本"]),
    ("京日本京。", 3, "京", ["京"]),
    # Japanese: characters of kana are one word, of which only the start has
    # the tokens of a text of its own.
    ("日ひとか", 1, "ひと", ["ひ", "##と"]),
    ("日ひとか", 2, "と", ["日", "ひ", "##と", "##か"]),
    # Thai: one word; an answer inside it is the whole.
    ("ไทยไป", 3, "ไป", ["ไทย", "##ไป"]),
    ("ไทย ไป", 4, "ไป", ["ไป"]),
  ],
)
def test_word_pieces_of_scripts_without_blanks(
  context, char_start, answer, tokens
):
  example = SquadExample("", "who", context, (AnswerSpan(answer, char_start),))
  preprocessor = _preprocessor(_SCRIPTS, False, _OPTIONS)
  ((_, windows, labels, _),) = labelled_batches([example], preprocessor)
  (start,), (end,) = labels["start_positions"], labels["end_positions"]
  found = windows["token_ids"][0][start : end + 1]
  assert [_SCRIPTS[i] for i in found] == tokens
  if context[0] == "京":
    assert start == 3  # after [CLS] who [SEP]: the first of the two


@pytest.mark.parametrize(
  ("context", "answer", "pieces"),
  [
    ("日本 日ひとか", "ひと", [("ひ", 4), ("と", 5)]),
    # A piece that shares a character with the answer is part of it.
    ("ฉันไปไทย", "ไทย", [("ไทย", 5)]),
    ("ฉันไปไทย", "ทย", [("ไทย", 5)]),
    ("京日本京。", "京。", [("京", 3), ("。", 4)]),
    ("by John (1895).", "1895", [("1", 9), ("8", 10), ("9", 11), ("5", 12)]),
  ],
)
def test_sentence_pieces_of_an_answer_are_not_widened_to_words(
  context, answer, pieces
):
  model = ModelProto()
  for name, kind in (("<unk>", 2), ("<s>", 3), ("</s>", 3)):
    model.pieces.add(piece=name, type=kind)
  names = "▁", *"日本京。ひとかฉันไป()1895.byJohn", "ไทย"
  for name in names:
    model.pieces.add(piece=name, score=-1.0)
  vocabulary = sentence_pieces(model.SerializeToString(), "xlm-roberta", "")
  start = context.rindex(answer)
  example = SquadExample("", "by", context, (AnswerSpan(answer, start),))
  preprocessor = SpanPreprocessor(vocabulary, options=WindowOptions(50, 9, 9))
  ((_, windows, labels, _),) = labelled_batches([example], preprocessor)
  (start,), (end,) = labels["start_positions"], labels["end_positions"]
  tokens = preprocessor.tokenizer.vocabulary
  found = [
    (tokens[windows["token_ids"][0][i]], windows["token_char_starts"][0][i])
    for i in range(start, end + 1)
  ]
  assert found == pieces


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
