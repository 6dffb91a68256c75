import json

import numpy as np
import pytest
import tensorflow as tf
from squad_content import spans, squad_content

from bert_span.data.window_batches import example_arrays
from bert_span.lint.linter import lint_squad_file
from bert_span.lint.options import LintSettings
from bert_span.lint.window_lint import (
  lint_windows,
  measure_tokens,
  place_windows,
)
from bert_span.squad.example import AnswerSpan, SquadExample
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor
from bert_span.text.tokenizer import WordPieceTokenizer

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
_OPTIONS = WindowOptions(max_seq_length=10, doc_stride=2, max_query_length=2)


@pytest.fixture
def lint(tmp_path):
  """A function that lints questions of (text, answer) about one passage."""
  tokenizer = WordPieceTokenizer([*_SPECIAL, *"abcdefgh", "who", "?"])

  def write_and_lint(context, *questions, options=_OPTIONS, **settings):
    qas = [
      {
        "id": f"q{number}",
        "question": question,
        "answers": spans((answer, context.find(answer))),
      }
      for number, (question, answer) in enumerate(questions)
    ]
    path = tmp_path / "letters.json"
    path.write_text(json.dumps(squad_content(context, *qas)))
    findings, figures = lint_windows(
      lint_squad_file(path), tokenizer, LintSettings(options, **settings)
    )
    names = {}
    for finding in findings:
      names.setdefault(finding.kind.name.lower(), []).append(finding.qas_id)
    return names, figures, findings

  return write_and_lint


def test_what_windows_cut_is_found_question_by_question(lint):
  # Windows hold the tokens a-e, c-g, e-h.
  names, _, findings = lint(
    "a b c d e f g h",
    ("who a", "a b c d e"),
    ("who b", "b c d e f"),
    ("who c ?", "e f g h"),
    max_answer_length=4,
  )
  assert names == {
    "answer_cut": ["q1"],
    "answer_too_long": ["q0", "q1"],
    "question_cut": ["q2"],
  }
  assert findings[0].detail == "'b c d e f', 5 WordPieces"
  assert findings[-1].detail == "'who c ?', 3 WordPieces"
  assert findings[-1].json_path == "data[0].paragraphs[0].qas[2]"


def test_what_has_no_wordpiece_is_shown_in_escapes(lint):
  names, _, findings = lint("a \u200b b", ("who", "\u200b"))
  assert names == {"answer_without_token": ["q0"]}
  assert findings[0].detail == r"'\u200b'"
  names, figures, findings = lint("\u200b\u200b", ("who", "\u200b"))
  assert names == {"no_window": ["q0"]}
  assert findings[0].detail == r"'\u200b\u200b'"
  assert figures["windows_per_question"]["max"] == 0
  assert "answer" not in figures["wordpieces"]


def test_lengths_are_summed_up_and_compared_with_the_chosen_one(lint):
  _, figures, findings = lint(
    "a b c d e f g h", ("who a", "b c d e f"), ("who", "c d e")
  )
  assert [finding.qas_id for finding in findings] == ["q0"]  # cut
  words = figures["wordpieces"]
  assert (words["passage"]["count"], words["passage"]["max"]) == (1, 8)
  assert (words["answer"]["p50"], words["answer"]["max"]) == (3, 5)
  # Three windows with room for 5 tokens, two (step 2) with room for 6.
  assert figures["windows_per_question"]["max"] == 3
  assert figures["windows_per_question"]["mean"] == 2.5
  chosen, longer = figures["max_seq_lengths"][:2]
  assert (chosen["windows"], longer["windows"]) == (5, 2)
  assert (chosen["answers_cut"], longer["answers_cut"]) == (1, 0)
  assert (chosen["bucket_cost"], chosen["padded_cost"]) == (1.0, 1.0)
  assert longer["wordpieces"] == 2 + 8 + 3 + 1 + 8 + 3
  # Two windows padded to 32 against five of 10.
  expected = 64 * (1 + 32 / 4608) / (50 * (1 + 10 / 4608))
  assert longer["bucket_cost"] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
  ("options", "max_positions", "lengths"),
  [
    # What fits the encoder and the question, and the chosen one.
    (WindowOptions(256, 128, 200), 384, [256, 320, 384]),
    (WindowOptions(600, 128, 250), 512, [256, 320, 384, 448, 512, 600]),
  ],
)
def test_the_lengths_that_are_compared(lint, options, max_positions, lengths):
  _, figures, _ = lint(
    "a b", ("who", "a"), options=options, max_positions=max_positions
  )
  rows = figures["max_seq_lengths"]
  assert [row["max_seq_length"] for row in rows] == lengths


def test_unknown_words_are_counted_over_each_passage_once(lint):
  names, figures, findings = lint(
    *("a €€ €¤ ac", ("who", "a"), ("€€ € ½ €¤", "a")),
    options=WindowOptions(20, 8, 4),
  )
  unknown = figures["unknown"]
  # a [UNK] [UNK] [UNK] | who | [UNK] [UNK] [UNK] [UNK]
  assert (unknown["tokens"], unknown["unknown_tokens"]) == (9, 7)
  assert unknown["token_share"] == pytest.approx(7 / 9, abs=1e-6)
  assert (unknown["characters"], unknown["unknown_characters"]) == (16, 12)
  # The most frequent come first; "ac" has no unknown character.
  characters, words = (
    [tuple(row.values()) for row in unknown[f"most_frequent_{name}"]]
    for name in ("characters", "words")
  )
  assert characters == [("€", 7, "q0"), ("¤", 2, "q0"), ("½", 1, "q1")]
  assert words == [("€¤", 2, "q0"), ("€€", 2, "q0"), ("ac", 1, "q0")]
  assert names == {"many_unknown_words": [None]}
  assert "77.8 %" in findings[0].detail
  names, figures, _ = lint("a " * 200 + "€", ("who", "a"))
  assert figures["unknown"]["unknown_tokens"] == 1
  assert names == {}


# --- Counting tokens.

_VOCABULARY = [*_SPECIAL, "a", "b", "##b", "who", "."]


@pytest.mark.parametrize(
  "options",
  [WindowOptions(), WindowOptions(16, 4, 3), WindowOptions(12, 64, 2)],
)
def test_windows_and_answers_are_those_of_the_preprocessor(options):
  passage = "bb  ½b.\t½  \n\na\u00a0bb.b a\u0301 bb\u202fa. " * 2
  examples = [
    SquadExample(
      "",
      "who a " * (end % 3),
      passage,
      (AnswerSpan(passage[start:end], start),),
    )
    for start in range(len(passage))
    for end in range(start + 1, min(start + 9, len(passage)))
  ]
  examples += [SquadExample("", "", text) for text in (passage, " ", "a")]
  preprocessor = SpanPreprocessor(_VOCABULARY, options=options)
  lengths, _ = measure_tokens(examples, preprocessor.tokenizer)
  found = place_windows(lengths, options)
  arrays = example_arrays(examples, with_answers=True)
  windows = preprocessor(
    {name: tf.constant(array) for name, array in arrays.items()}
  )
  windows = {name: values.numpy() for name, values in windows.items()}
  windows["length"] = windows["input_mask"].sum(axis=1)
  for name, values in found.items():
    if name != "holds_answer":
      np.testing.assert_array_equal(values, windows[name], err_msg=name)
  held = found["holds_answer"]
  assert held.any() and not held.all()
  example, shift = found["example_index"], found["first_context_position"]
  shift = shift - found["context_start"]
  for name, tokens in (
    ("start_positions", lengths.answer_start),
    ("end_positions", lengths.answer_end),
  ):
    expected = np.where(held, tokens[example] + shift, 0)
    # -1 is an answer without a token.
    np.testing.assert_array_equal(np.maximum(windows[name], 0), expected)
