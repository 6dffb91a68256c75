import json

import numpy as np
import pytest
from squad_content import spans, squad_content

from bert_span.squad.lint.linter import lint_squad_file
from bert_span.squad.lint.options import LintSettings
from bert_span.squad.lint.token_lengths import TokenLengths
from bert_span.squad.lint.window_lint import (
  answers_cut,
  computation,
  holds_answer,
  lint_windows,
  place_windows,
  window_cost,
)
from bert_span.text.options import WindowOptions
from bert_span.text.tokenizer import WordPieceTokenizer

_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefgh", "who", "?"]
_OPTIONS = WindowOptions(max_seq_length=10, doc_stride=2, max_query_length=2)


@pytest.fixture(scope="module")
def tokenizer():
  return WordPieceTokenizer(_VOCABULARY)


@pytest.fixture
def lint(tokenizer, tmp_path):
  """A function that lints questions of (text, answer) about one passage."""

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
    linted = lint_squad_file(path)
    findings, figures = lint_windows(
      linted, tokenizer, LintSettings(options, **settings)
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


def test_lengths_and_windows_are_summed_up(lint):
  _, figures, findings = lint(
    "a b c d e f g h", ("who a", "b"), ("who", "c d e")
  )
  assert findings == []
  words = figures["wordpieces"]
  assert (words["question"]["count"], words["question"]["mean"]) == (2, 1.5)
  assert (words["passage"]["count"], words["passage"]["max"]) == (1, 8)
  assert (words["answer"]["p50"], words["answer"]["max"]) == (1, 3)
  # Three windows with room for 5 tokens, two (step 2) with room for 6.
  assert figures["windows_per_question"]["max"] == 3
  assert figures["windows_per_question"]["mean"] == 2.5


def test_lengths_are_compared_with_the_chosen_one(lint):
  _, figures, _ = lint("a b c d e f g h", ("who a", "b c d e f"))
  rows = figures["max_seq_lengths"]
  assert [row["max_seq_length"] for row in rows] == [
    *(10, 128, 192, 256, 320, 384, 448, 512)
  ]
  chosen, longer = rows[:2]
  assert (chosen["windows"], longer["windows"]) == (3, 1)
  assert (chosen["answers_cut"], longer["answers_cut"]) == (1, 0)
  assert (chosen["answerless_windows"], longer["answerless_windows"]) == (3, 0)
  assert (chosen["bucket_cost"], chosen["padded_cost"]) == (1.0, 1.0)
  assert longer["wordpieces"] == 2 + 8 + 3
  # One window padded to 32 against three of 10.
  expected = 32 * (1 + 32 / 4608) / (30 * (1 + 10 / 4608))
  assert longer["bucket_cost"] == pytest.approx(expected, abs=1e-4)


def test_lengths_that_do_not_fit_the_encoder_or_the_question_are_left_out(lint):
  _, figures, _ = lint(
    "a b",
    ("who", "a"),
    options=WindowOptions(256, 128, 200),
    max_positions=384,
  )
  lengths = [row["max_seq_length"] for row in figures["max_seq_lengths"]]
  assert lengths == [256, 320, 384]


def test_the_chosen_length_is_compared_whatever_it_is(lint):
  options = WindowOptions(600, 128, 64)
  _, figures, _ = lint("a b", ("who", "a"), options=options)
  lengths = [row["max_seq_length"] for row in figures["max_seq_lengths"]]
  assert lengths == [128, 192, 256, 320, 384, 448, 512, 600]


def test_unknown_words_are_counted_over_each_passage_once(lint):
  names, figures, findings = lint("a €€ b €", ("who a", "a"), ("who €", "b"))
  unknown = figures["unknown"]
  # a [UNK] b [UNK] | who a | who [UNK]
  assert (unknown["tokens"], unknown["unknown_tokens"]) == (8, 3)
  assert unknown["token_share"] == pytest.approx(3 / 8)
  assert (unknown["characters"], unknown["unknown_characters"]) == (13, 4)
  assert unknown["most_frequent_characters"] == [
    {"text": "€", "count": 4, "question_id": "q0"}
  ]
  assert unknown["most_frequent_words"] == [
    {"text": "€€", "count": 1, "question_id": "q0"}
  ]
  assert names == {"many_unknown_words": [None]}
  assert "37.5 %" in findings[0].detail


def test_some_unknown_words_are_no_warning(lint):
  names, figures, _ = lint("a " * 200 + "€", ("who", "a"))
  assert figures["unknown"]["unknown_tokens"] == 1
  assert names == {}


def _lengths(question, context, start, end):
  start, end = np.array(start), np.array(end)
  return TokenLengths(
    question=np.array(question, np.int32),
    context=np.array(context, np.int32),
    answer_start=start,
    answer_end=end,
    without_token=np.zeros(len(start), bool),
    passage=np.array(context),
  )


def test_the_worked_example_of_the_windows_has_three():
  # Room for 10 - 2 - 3 = 5 of 8 tokens, step 2; the question of 4 is cut to 2.
  windows = place_windows(_lengths([4], [8], [-1], [-1]), _OPTIONS)
  assert windows["context_start"].tolist() == [0, 2, 4]
  assert windows["context_length"].tolist() == [5, 5, 4]
  assert windows["length"].tolist() == [10, 10, 9]


def test_an_answer_longer_than_the_overlap_can_be_cut():
  # Windows hold tokens 0-4, 2-6, 4-7.
  lengths = _lengths([2] * 4, [8] * 4, [0, 1, 1, -1], [4, 5, 4, -1])
  windows = place_windows(lengths, _OPTIONS)
  assert answers_cut(windows, lengths).tolist() == [False, True, False, False]
  held = holds_answer(windows, lengths).reshape(4, 3)
  assert held.sum(axis=1).tolist() == [1, 0, 1, 0]


def test_a_passage_without_tokens_has_no_window():
  lengths = _lengths([1], [0], [-1], [-1])
  cost = window_cost(lengths, _OPTIONS, bucket_width=4, hidden_size=768)
  assert tuple(cost.values()) == (10, 0, 0, 0, 0, 0, 0, 0.0, 0.0)


def test_a_cost_counts_windows_padding_and_work():
  # Windows of 10, 10 and 9 WordPieces, and one of 2 + 1 + 3 = 6.
  lengths = _lengths([2, 2], [8, 1], [1, -1], [4, -1])
  cost = window_cost(lengths, _OPTIONS, bucket_width=4, hidden_size=1)
  assert cost["windows"] == 4
  assert cost["answerless_windows"] == 2
  assert cost["answers_cut"] == 0
  assert cost["wordpieces"] == 35
  # 10 -> 12, but never beyond max_seq_length; 9 as well; 6 -> 8.
  assert cost["bucket_wordpieces"] == 10 + 10 + 10 + 8
  assert cost["padded_wordpieces"] == 40
  assert cost["padded_cost"] == pytest.approx(4 * 10 * (1 + 10 / 6))
  assert cost["bucket_cost"] == pytest.approx(
    3 * 10 * (1 + 10 / 6) + 8 * (1 + 8 / 6)
  )


def test_computation_is_the_count_of_a_layers_multiplications():
  length, hidden, heads = 384, 768, 12
  size = hidden // heads
  dense = length * hidden * hidden * (4 + 4 + 4)  # q k v out, up, down
  between = heads * (length * size * length) * 2  # scores, weighted sum
  assert computation([length], hidden) == pytest.approx(
    (dense + between) / (12 * hidden * hidden)
  )
