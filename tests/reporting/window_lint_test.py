import json

import pytest

from bert_span.reporting.linter import lint_squad_file
from bert_span.reporting.window_lint import lint_windows
from bert_span.text.options import WindowOptions
from tests.support.models import BYTE_PAIRS
from tests.support.squad import spans, squad_content

pytestmark = pytest.mark.usefixtures("eager")
_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefgh", "who", "?"]
_OPTIONS = WindowOptions(max_seq_length=10, doc_stride=2, max_query_length=2)


@pytest.fixture
def lint(tmp_path):
  """A function that lints questions of (text, answer) about one passage."""

  def write_and_lint(
    context, *questions, options=_OPTIONS, vocabulary=_VOCABULARY, **settings
  ):
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
      lint_squad_file(path), vocabulary, True, options, **settings
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


@pytest.mark.large
def test_what_has_no_wordpiece_is_shown_in_escapes(lint):
  names, _, findings = lint("a \u200b b", ("who", "\u200b"))
  assert names == {"answer_without_token": ["q0"]}
  assert findings[0].detail == r"'\u200b'"
  names, figures, findings = lint("\u200b\u200b", ("who", "\u200b"))
  assert names == {"no_window": ["q0"]}
  assert findings[0].detail == r"'\u200b\u200b'"
  assert figures["windows_per_question"]["max"] == 0
  assert "answer" not in figures["wordpieces"]


def test_lengths_are_summed_up(lint):
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


def test_many_unknown_words_are_a_finding(lint):
  # [CLS] who [SEP] a [UNK] [UNK] [SEP]: 2 of 7
  names, _, findings = lint("a \u20ac\u20ac \u20ac\u00a4", ("who", "a"))
  assert names == {"many_unknown_words": [None]}
  assert "28.6 %" in findings[0].detail
  names, _, _ = lint("a " * 200 + "\u20ac", ("who", "a"))
  assert names == {}


def test_byte_pairs_have_two_separators_and_no_unknown_word(lint):
  for length, expected in ((6, {}), (5, {"answer_cut": ["q0"]})):
    names, figures, _ = lint(
      "aa",
      ("", "aa"),
      vocabulary=BYTE_PAIRS,
      options=WindowOptions(length, 1, 0),
    )
    assert names == expected
    assert figures["wordpieces"]["answer"]["max"] == 2
