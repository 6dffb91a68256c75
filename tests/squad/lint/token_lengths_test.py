import numpy as np
import pytest
import tensorflow as tf

from bert_span.data.window_batches import example_arrays
from bert_span.squad.example import Answer, SquadExample
from bert_span.squad.lint import token_lengths
from bert_span.squad.lint.linter import lint_squad_file
from bert_span.squad.lint.token_lengths import measure_tokens
from bert_span.squad.lint.window_costs import holds_answer, place_windows
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


def _measured(tokenizer):
  seen = []
  lengths = measure_tokens(
    _EXAMPLES,
    tokenizer,
    lambda texts, tokens, indices: seen.extend(
      zip(texts, indices, strict=True)
    ),
  )
  return lengths, seen


@pytest.mark.parametrize("limit", [1, 10**6])
def test_lengths_and_answers_are_counted_in_tokens(
  tokenizer, monkeypatch, limit
):
  monkeypatch.setattr(token_lengths, "_CHARACTERS_PER_BATCH", limit)
  lengths, seen = _measured(tokenizer)
  # "a bb. b" is the tokens a, b, ##b, ., b.
  assert lengths.question.tolist() == [2, 1, 0, 1, 1, 1]
  assert lengths.context.tolist() == [5, 1, 5, 5, 1, 0]
  assert lengths.passage.tolist() == [5, 1, 1, 0]
  assert lengths.answer_start.tolist() == [1, 0, -1, 1, -1, -1]
  assert lengths.answer_end.tolist() == [1, 0, -1, 4, -1, -1]
  assert lengths.answer.tolist() == [1, 1, 0, 4, 0, 0]
  assert np.flatnonzero(lengths.without_token).tolist() == [4]
  questions = [(e.question, i) for i, e in enumerate(_EXAMPLES)]
  passages = [("a bb. b", 0), ("b", 1), ("a \u200b", 4), ("\u200b", 5)]
  assert sorted(seen) == sorted(questions + passages)


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
  lengths = measure_tokens(examples, preprocessor.tokenizer)
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
