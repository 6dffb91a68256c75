import numpy as np
import pytest
import tensorflow as tf

from bert_span.data.window_batches import example_arrays
from bert_span.squad.example import Answer, SquadExample
from bert_span.squad.lint import token_lengths
from bert_span.squad.lint.linter import lint_squad_file
from bert_span.squad.lint.token_lengths import UnknownWords, measure_tokens
from bert_span.squad.lint.window_lint import holds_answer, place_windows
from bert_span.squad.rules import with_answer_to_learn
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import load_vocabulary

_VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "##b", "who", "."),
]
_EXAMPLES = [
  SquadExample("1", "who a", "a bb. b", (Answer("b", 2),)),
  SquadExample("2", "who", "b", (Answer("b", 0),)),
  SquadExample("3", "", "a bb. b"),
  SquadExample("4", "who", "a bb. b", (Answer("bb. b", 2),)),
  SquadExample("5", "who", "a \u200b", (Answer("\u200b", 2),)),
  SquadExample("6", "who", "\u200b"),
]


@pytest.fixture(scope="module")
def tokenizer():
  return WordPieceTokenizer(_VOCABULARY)


@pytest.mark.parametrize("limit", [1, 2, 10**6])
def test_lengths_and_answers_are_counted_in_tokens(
  tokenizer, monkeypatch, limit
):
  monkeypatch.setattr(token_lengths, "_CHARACTERS_PER_BATCH", limit)
  lengths, unknown = measure_tokens(_EXAMPLES, tokenizer)
  # "a bb. b" is the tokens a, b, ##b, ., b.
  assert lengths.question.tolist() == [2, 1, 0, 1, 1, 1]
  assert lengths.context.tolist() == [5, 1, 5, 5, 1, 0]
  assert lengths.passage.tolist() == [5, 1, 1, 0]
  assert lengths.answer_start.tolist() == [1, 0, -1, 1, -1, -1]
  assert lengths.answer_end.tolist() == [1, 0, -1, 4, -1, -1]
  assert lengths.answer.tolist() == [1, 1, 0, 4, 0, 0]
  assert np.flatnonzero(lengths.without_token).tolist() == [4]
  # Each passage once: 7 tokens, and 6 of questions.
  assert unknown.figures(_EXAMPLES)["tokens"] == 7 + 6


def test_a_passage_in_pieces_has_the_same_tokens_and_answers(
  tokenizer, monkeypatch
):
  passage = "bb  ½b.\t½  \n\na\u00a0bb.b a\u0301 bb\u202fa. " * 2
  examples = [
    SquadExample("", "", passage, (Answer(passage[start:end], start),))
    for start in range(len(passage))
    for end in range(start + 1, min(start + 9, len(passage)))
  ]
  whole, unknown = measure_tokens(examples, tokenizer)
  monkeypatch.setattr(token_lengths, "_CHARACTERS_PER_BATCH", 3)
  pieces, unknown_in_pieces = measure_tokens(examples, tokenizer)
  for name, values in vars(whole).items():
    assert values.tolist() == vars(pieces)[name].tolist()
  assert unknown.figures(examples) == unknown_in_pieces.figures(examples)
  # The labels of training: one window holds the passage.
  arrays = example_arrays(examples, with_answers=True)
  labels = SpanPreprocessor(_VOCABULARY)(
    {name: tf.constant(values) for name, values in arrays.items()}
  )
  # After [CLS] and [SEP]; 0 and -1 are no answer.
  for name, positions in (
    ("start_positions", whole.answer_start),
    ("end_positions", whole.answer_end),
  ):
    expected = np.maximum(labels[name].numpy() - 2, -1)
    assert positions.tolist() == expected.tolist()


@pytest.mark.large
@pytest.mark.parametrize(
  "options", [WindowOptions(64, 16, 12), WindowOptions(40, 64, 20)]
)
def test_windows_and_held_answers_are_those_of_the_preprocessor(
  goldens, options
):
  vocabulary = load_vocabulary(str(goldens / "tiny_ckpt" / "vocab.txt"))
  preprocessor = SpanPreprocessor(vocabulary, options=options)
  linted = lint_squad_file(goldens / "edge-v2.json")
  examples = list(map(with_answer_to_learn, linted.examples))
  lengths, _ = measure_tokens(examples, preprocessor.tokenizer)
  places = place_windows(lengths, options)
  windows = preprocessor(
    {
      name: tf.constant(array)
      for name, array in example_arrays(examples, with_answers=True).items()
    }
  )
  windows = {name: values.numpy() for name, values in windows.items()}
  for name in ("example_index", "context_start", "context_length"):
    assert places[name].tolist() == windows[name].tolist()
  assert places["length"].tolist() == windows["input_mask"].sum(axis=1).tolist()
  held = holds_answer(places, lengths)
  labelled = (windows["start_positions"] > 0) & (
    windows["start_positions"] <= windows["end_positions"]
  )
  assert held.tolist() == labelled.tolist()
  assert held.any()
  assert not held.all()


@pytest.fixture
def unknown_figures():
  """A function that counts a batch of texts, one example each."""
  tokenizer = WordPieceTokenizer([*_VOCABULARY[:5], "##b", "c", "."])

  def count(*texts):
    unknown = UnknownWords(tokenizer)
    unknown.add(texts, tokenizer(list(texts)), range(len(texts)))
    return unknown.figures([SquadExample(str(i), "", "") for i in range(9)])

  return count


def _rows(figures, name):
  rows = figures[f"most_frequent_{name}"]
  return [(row["text"], row["count"], row["question_id"]) for row in rows]


def test_tokens_and_characters_are_counted_without_white_space(unknown_figures):
  figures = unknown_figures("ab  ½c .", "a")
  # a ##b [UNK] . | a: the word "½c" as a whole is unknown.
  assert (figures["tokens"], figures["unknown_tokens"]) == (5, 1)
  assert (figures["characters"], figures["unknown_characters"]) == (6, 2)
  assert _rows(figures, "words") == [("½c", 1, "0")]
  assert _rows(figures, "characters") == [("½", 1, "0")]


def test_the_most_frequent_come_first_with_their_first_example(unknown_figures):
  figures = unknown_figures("½ a", "€€ €¤", "€€ € ½ €¤")
  assert _rows(figures, "words") == [("€¤", 2, "1"), ("€€", 2, "1")]
  assert _rows(figures, "characters") == [
    *(("€", 7, "1"), ("½", 2, "0"), ("¤", 2, "1"))
  ]


@pytest.mark.parametrize(
  ("texts", "words"), [(("ac", "a" * 201), 2), (("ab c.", ""), 0)]
)
def test_a_word_can_be_unknown_without_an_unknown_character(
  unknown_figures, texts, words
):
  figures = unknown_figures(*texts)
  assert (figures["distinct_words"], figures["distinct_characters"]) == (
    words,
    0,
  )
