"""The program bert_span.ask, run as users run it."""

import json
import os
import pty
import subprocess
import sys

import pytest
from programs import run_program
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor

from bert_span.extractor import SpanExtractor
from bert_span.heads.bio import BIO_HEAD

_OTHER = "When was the cafe built?"
_COMMAND = [sys.executable, "-m", "bert_span.ask"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  """Models with and without "no answer", and a passage in a file."""
  path = tmp_path_factory.mktemp("ask")
  tiny_extractor().save_to_preset(path / "model")
  tiny_extractor(version_2=True).save_to_preset(path / "model2")
  tiny_extractor(head=BIO_HEAD).save_to_preset(path / "bio")
  (path / "passage.txt").write_text(CONTEXT, "utf-8-sig")
  return path


def _ask(folder, *arguments, stdin="", model="model"):
  return run_program(
    "bert_span.ask",
    f"--model={folder / model}",
    *arguments,
    input=stdin.encode() if isinstance(stdin, str) else stdin,
    text=False,
  )


def _error(run):
  assert run.returncode == 1
  assert not run.stdout
  text = run.stderr.decode()
  assert "Traceback" not in text
  return text.splitlines()[-1]


@pytest.mark.large
def test_answer_is_marked_and_followed_by_its_n_best_list(folder):
  run = _ask(folder, f"--question={QUESTION}", f"--context={CONTEXT}")
  assert run.returncode == 0, run.stderr
  assert not run.stderr  # Nothing but the answer is printed.
  extractor = SpanExtractor.from_preset(folder / "model")
  expected = extractor.answer(QUESTION, CONTEXT, n_best=3)
  best = expected[0]
  lines = run.stdout.decode().splitlines()
  assert lines[0] == f"Answer: {best.text}"
  assert lines[2] == (
    f"{CONTEXT[: best.char_start]}[[{best.text}]]{CONTEXT[best.char_end :]}"
  )
  assert lines[4].split() == ["score", "probability", "characters", "text"]
  for line, answer in zip(lines[5:8], expected, strict=True):
    score, probability, place, text = line.split(maxsplit=3)
    assert float(score) == pytest.approx(answer.score, abs=1e-3)
    assert float(probability) == pytest.approx(answer.probability, abs=1e-4)
    assert place == f"{answer.char_start}-{answer.char_end}"
    assert text == answer.text
  assert lines[8:] == []


@pytest.mark.large
def test_a_pipe_of_questions_gives_a_json_object_a_line(folder):
  run = _ask(
    folder,
    f"--context_file={folder / 'passage.txt'}",
    *("--json", "--n_best=2"),
    stdin=f"{QUESTION}\r\n{_OTHER}",
  )
  assert run.returncode == 0, run.stderr
  rows = [json.loads(line) for line in run.stdout.splitlines()]
  assert [row["question"] for row in rows] == [QUESTION, _OTHER]
  for row in rows:
    assert CONTEXT[row["char_start"] : row["char_end"]] == row["answer"]
    assert len(row["n_best"]) == 2
    assert row["n_best"][0]["text"] == row["answer"]
    assert row["n_best"][0]["score"] == row["score"]


@pytest.mark.large
def test_a_piped_passage_is_asked_several_questions(folder):
  run = _ask(
    folder,
    *(f"--question={QUESTION}", f"--question={_OTHER}"),
    stdin=f"\n{CONTEXT}\n",
  )
  assert run.returncode == 0, run.stderr
  text = run.stdout.decode()
  assert text.index(f"Question: {QUESTION}") < text.index(f"Question: {_OTHER}")
  assert text.count("Answer: ") == 2


@pytest.mark.large
def test_no_answer_is_said_and_the_model_decides_whether_there_is_any(folder):
  arguments = (f"--question={QUESTION}", f"--context={CONTEXT}")
  low = "--null_score_diff_threshold=-1000"
  run = _ask(folder, *arguments, low, model="model2")
  assert run.returncode == 0, run.stderr
  first, _, *table = run.stdout.decode().splitlines()
  assert first.startswith("No answer: the model finds none in this passage")
  assert "above the threshold -1000.000" in first
  assert table[0].split()[0] == "score"
  run = _ask(folder, *arguments, low, "--json", model="model2")
  row = json.loads(run.stdout)
  assert (row["answer"], row["char_start"], row["char_end"]) == ("", None, None)
  # The other model was saved without version 2, so the threshold is nothing.
  run = _ask(folder, *arguments, low)
  assert run.stdout.decode().startswith("Answer: ")


@pytest.mark.large
def test_a_reader_that_stops_reading_is_no_error(folder):
  with subprocess.Popen(
    [*_COMMAND, f"--model={folder / 'model'}", f"--context={CONTEXT}"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
  ) as process:
    process.stdout.close()
    process.stdin.write(f"{QUESTION}\n".encode() * 3)
    process.stdin.close()
    errors = process.stderr.read().decode()
  assert process.returncode == 0
  assert "Traceback" not in errors and "Broken pipe" not in errors


def _talk(terminal, inputs):
  """Types an input at each prompt; gives all that was shown."""
  output, read = b"", 0
  while True:
    try:
      block = os.read(terminal, 1024)
    except OSError:  # How Linux says that the other end is closed.
      block = b""
    if not block:
      return output
    output += block
    if inputs and output[read:].endswith(b"Question: "):
      read = len(output)
      os.write(terminal, inputs.pop(0).encode())


@pytest.mark.large
@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_is_prompted_and_gets_colour(folder, no_color):
  environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
  if not no_color:
    del environment["NO_COLOR"]
  ours, theirs = pty.openpty()
  with subprocess.Popen(
    [*_COMMAND, f"--model={folder / 'model'}", f"--context={CONTEXT}"],
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
  assert ("\033[1;32m" in text) != no_color
  assert ("[[" in text) == no_color


@pytest.mark.parametrize(
  ("arguments", "stdin", "message"),
  [
    (("--model=", "--question=Q"), "C", "--model is required"),
    (("--context=C", "--context_file=x"), "", "give either"),
    (("--question= ", "--context=C"), "", "--question is empty"),
    (("--question=Q", "--context= "), "", "--context: the passage is empty"),
    (("--question=Q",), "\n", "standard input: the passage is empty"),
    ((), "C", "--question is required"),
    (("--context_file=-",), "C", "--question is required"),
    (("--question=Q", "--context_file=/none"), "", "/none"),
    (("--question=Q",), b"caf\xe9", "not UTF-8: byte 0xe9 at offset 3"),
    (("--question=Q", "--n_best=0"), "C", "n_best"),
    (("--question=Q", "word"), "C", "unknown arguments word"),
  ],
)
def test_flags_that_do_not_fit_end_at_once_in_one_line(
  folder, arguments, stdin, message
):
  run = _ask(folder, *arguments, stdin=stdin)
  if "--n_best=0" in arguments:  # absl's own words, and a hint below them.
    assert run.returncode == 1
    assert message in run.stderr.decode()
  else:
    assert message in _error(run)


@pytest.mark.large
def test_what_the_model_refuses_ends_in_one_line(folder):
  arguments = (f"--question={QUESTION}", f"--context={CONTEXT}")
  run = _ask(folder, *arguments, model="none")
  assert "There is no directory and no preset" in _error(run)
  run = _ask(folder, *arguments, "--n_best=21")
  assert "Raise --n_best_size" in _error(run)
  run = _ask(folder, f"--context={CONTEXT}", stdin="\n")
  assert "standard input, line 1: the question is empty" in _error(run)


@pytest.mark.large
def test_every_span_of_a_bio_head_is_marked_and_listed(folder):
  flags = (f"--question={QUESTION}", f"--context={CONTEXT}")
  run = _ask(folder, *flags, model="bio")
  assert run.returncode == 0, run.stderr
  spans = SpanExtractor.from_preset(folder / "bio").answers(QUESTION, CONTEXT)
  assert len(spans) > 1
  lines = run.stdout.decode().splitlines()
  assert lines[0] == f"Answer: {'; '.join(span.text for span in spans)}"
  assert lines[2].count("[[") == len(spans)
  assert lines[2].replace("[[", "").replace("]]", "") == CONTEXT
  assert [line.split(maxsplit=3)[3] for line in lines[5:]] == [
    span.text for span in spans
  ]
  run = _ask(folder, *flags, "--json", model="bio")
  row = json.loads(run.stdout)
  assert [tuple(a.values())[:3] for a in row["answers"]] == [
    span[:3] for span in spans
  ]


@pytest.mark.large
def test_a_head_that_is_not_the_models_is_refused(folder):
  flags = (f"--question={QUESTION}", f"--context={CONTEXT}", "--head=span")
  assert "has a bio head" in _error(_ask(folder, *flags, model="bio"))
