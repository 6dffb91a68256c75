"""What bert_span.ask prints, and the program itself."""

import contextlib
import io
import json
import operator
import os
import pty
import shlex
import subprocess
import sys

import pytest

from bert_span.ask import AskOptions
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.jobs import ask as job
from tests.support.models import (
  CONTEXT,
  QUESTION,
  eagerly,
  shared_extractor,
  shared_model,
)
from tests.support.programs import refusal, succeeds_here

_OTHER = "When was the cafe built?"


@pytest.fixture(autouse=True)
def _eagerly():
  with eagerly():
    yield


@pytest.fixture
def ask(capsys):
  """A function of questions that returns the printed lines."""

  def ask_in_process(*questions, kind=SpanExtractor, **options):
    model = shared_model(kind=kind)
    job.ask(
      AskOptions(model=model, question=questions, context=CONTEXT, **options)
    )
    return capsys.readouterr().out.splitlines()

  return ask_in_process


def test_answers_are_marked_and_followed_by_their_n_best_lists(ask):
  best, *_ = expected = shared_extractor().answer(QUESTION, CONTEXT, n_best=3)
  lines = ask(QUESTION)
  assert lines[0] == f"Answer: {best.text}"
  assert lines[2] == (
    f"{CONTEXT[: best.char_start]}[[{best.text}]]{CONTEXT[best.char_end :]}"
  )
  assert lines[4].split() == ["score", "probability", "characters", "text"]
  for line, answer in zip(lines[5:], expected, strict=True):
    score, probability, place, text = line.split(maxsplit=3)
    assert float(score) == pytest.approx(answer.score, abs=1e-3)
    assert float(probability) == pytest.approx(answer.probability, abs=1e-4)
    assert place == f"{answer.char_start}-{answer.char_end}"
    assert text == answer.text
  several = ask(QUESTION, _OTHER)
  assert several[: len(lines) + 2] == [f"Question: {QUESTION}", *lines, ""]
  assert several[len(lines) + 2] == f"Question: {_OTHER}"


def test_a_question_that_is_cut_is_named(capsys):
  for length, is_named in ((4, True), (5, False)):
    options = AskOptions(
      model=shared_model(),
      question=(QUESTION,),
      context=CONTEXT,
      max_query_length=length,
    )
    job.ask(options)
    line = capsys.readouterr().err
    assert (f"max_query_length={length}" in line) == is_named
    assert (QUESTION in line) == is_named


@pytest.mark.large
def test_json_says_no_answer_above_the_null_threshold(ask):
  options = {
    "version_2_with_negative": True,
    "null_score_diff_threshold": -1000.0,
  }
  lines = ask(QUESTION, **options)
  assert lines[0].startswith("No answer: ")
  assert "threshold -1000.000" in lines[0]
  assert lines[2].split()[0] == "score"
  (line,) = ask(QUESTION, **options, json=True)
  row = json.loads(line)
  assert (row["answer"], row["char_start"], row["char_end"]) == ("", None, None)
  # Without version 2 the threshold decides nothing.
  options = {"null_score_diff_threshold": -1000.0}
  assert ask(QUESTION, **options)[0].startswith("Answer: ")


def test_every_span_of_a_bio_head_is_marked_and_listed(ask):
  spans = shared_extractor(kind=BioExtractor).answers(QUESTION, CONTEXT)
  assert len(spans) > 1
  lines = ask(QUESTION, kind=BioExtractor)
  texts = [span.text for span in spans]
  assert lines[0] == f"Answer: {'; '.join(texts)}"
  assert lines[2].count("[[") == len(spans)
  assert lines[2].replace("[[", "").replace("]]", "") == CONTEXT
  assert [line.split(maxsplit=3)[3] for line in lines[5:]] == texts
  (line,) = ask(QUESTION, kind=BioExtractor, json=True)
  answers = json.loads(line)["answers"]
  place = operator.itemgetter("text", "char_start", "char_end")
  assert list(map(place, answers)) == [place(vars(span)) for span in spans]
  with pytest.raises(ValueError, match="head"):
    ask(QUESTION, kind=BioExtractor, head="span")


def test_a_long_passage_is_announced_and_its_windows_are_counted(
  ask, monkeypatch
):
  shown = []

  class Bar(job._WindowsBar):
    def __call__(self, done, total):
      shown.append((int(done), int(total)))
      super().__call__(done, total)

  short = ask(QUESTION)
  monkeypatch.setattr(job, "_LONG_PASSAGE", len(CONTEXT) - 1)
  monkeypatch.setattr(job, "_WindowsBar", Bar)
  assert ask(QUESTION) == short
  assert shown and shown[-1][0] == shown[-1][1]


def test_a_pipe_of_questions_gives_a_json_object_a_line(tmp_path):
  (tmp_path / "passage.txt").write_text(CONTEXT, "utf-8-sig")
  run = succeeds_here(
    *("bert_span.ask", f"--model={shared_model()}", "--json", "--n_best=2"),
    f"--context_file={tmp_path / 'passage.txt'}",
    stdin=f"{QUESTION}\r\n{_OTHER}",
  )
  rows = [json.loads(line) for line in run.stdout.splitlines()]
  assert [row["question"] for row in rows] == [QUESTION, _OTHER]
  for row in rows:
    assert CONTEXT[row["char_start"] : row["char_end"]] == row["answer"]
    assert len(row["n_best"]) == 2
    assert row["n_best"][0]["text"] == row["answer"]
    assert row["n_best"][0]["score"] == row["score"]


def _talk(terminal, inputs):
  """Types an input at each prompt; gives all that was shown."""
  output = b""
  # Linux says by an OSError that the other end is closed.
  with contextlib.suppress(OSError):
    while block := os.read(terminal, 1024):
      output += block
      if inputs and output.endswith(b"Question: "):
        os.write(terminal, inputs.pop(0).encode())
  return output


@pytest.mark.large
def test_a_terminal_is_prompted_and_gets_colour():
  environment = {**os.environ, "TERM": "xterm", "NO_COLOR": ""}
  ours, theirs = pty.openpty()
  ask = [sys.executable, "-m", "bert_span.ask"]
  with subprocess.Popen(
    [*ask, f"--model={shared_model()}", f"--context={CONTEXT}"],
    stdin=theirs,
    stdout=theirs,
    stderr=subprocess.DEVNULL,
    env=environment,
  ) as process:
    os.close(theirs)
    output = _talk(ours, [f"{QUESTION}\n", f"{_OTHER}\n", "\x04"])
  os.close(ours)
  text = output.decode()
  assert process.returncode == 0
  assert text.count("Answer: ") == 2
  assert "\033[1;32m" in text
  assert "[[" not in text


def test_a_terminal_without_colours_gets_brackets(ask, monkeypatch):
  monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
  for no_color, terminal in (("1", "xterm"), ("", "dumb")):
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", terminal)
    assert "[[" in ask(QUESTION)[2]


@pytest.mark.parametrize(
  ("arguments", "stdin", "named"),
  [
    ("--context=C --context_file=x", "", "--context_file"),
    ("--question=' ' --context=C", "", "--question"),
    ("--question=Q --context=' '", "", "--context"),
    ("--question=Q", "\n", "standard input"),
    ("", "C", "--question"),
    ("--question=Q", "caf\xe9", "byte 0xe9 at offset 3"),
    ("--question=Q --context=C --bio_threshold=1", "", "--bio_thr"),
    ("--question=Q --context_file=/none", "", "/none"),
    ("--question=Q --n_best=21", "C", "n_best"),
    # Found by the job.
    ("--question=Q --model=none", "C", "none"),
    ("--context=C", "\n", "standard input, line 1"),
  ],
)
def test_what_does_not_fit_is_refused(
  monkeypatch, capsys, arguments, stdin, named
):
  pipe = io.TextIOWrapper(io.BytesIO(stdin.encode("latin-1")))
  monkeypatch.setattr("sys.stdin", pipe)
  flags = [f"--model={shared_model()}", *shlex.split(arguments)]
  assert named in refusal("bert_span.ask", *flags)
  assert not capsys.readouterr().out


def test_a_folder_of_documents_is_asked(tmp_path, capsys):
  (tmp_path / "mill.md").write_text(f"# Notes\n\n{CONTEXT}\n", "utf-8")
  (tmp_path / "other.txt").write_text("The mill by the river.", "utf-8")
  options = AskOptions(
    model=shared_model(),
    question=(QUESTION,),
    context_glob=f"{tmp_path}/*.*",
    top_k=1,
    search_index=tmp_path / "index",
  )
  job.ask(options.replaced(json=True, top_k=2, n_best=1))
  assert len(json.loads(capsys.readouterr().out)["answers"]) == 1
  job.ask(options.replaced(json=True))
  (answer,) = json.loads(capsys.readouterr().out)["answers"]
  expected = shared_extractor().answer(QUESTION, f"# Notes\n\n{CONTEXT}")
  assert answer["document"] == str(tmp_path / "mill.md")
  assert answer["char_start"] == expected.char_start
  assert answer["text"] == expected.text
  job.ask(options)
  shown = capsys.readouterr().out
  assert f"Answer: {expected.text}" in shown and "mill.md" in shown


def test_a_model_of_a_hub_answers(hub_model, capsys):
  job.ask(AskOptions(model=hub_model, question=(QUESTION,), context=CONTEXT))
  text = shared_extractor().answer(QUESTION, CONTEXT).text
  assert f"Answer: {text}" in capsys.readouterr().out
