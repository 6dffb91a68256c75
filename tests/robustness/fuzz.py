"""Damages every kind of input at random, and gives it to the programs.

  python -m tests.robustness.fuzz --seconds=600

Every outcome must be an answer and status 0, or a few lines without a traceback
and another status, within two minutes and a gigabyte. The programs run in this
process. A failure prints the command that repeats it:

  ... fuzz --target=squad --seed=17 --first=1234 --seconds=1
"""

import argparse
import contextlib
import copy
import functools
import io
import itertools
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

import numpy as np
import pyarrow
from pyarrow import parquet

from bert_span.answers.prediction_files import read_na_probs, read_predictions
from bert_span.beam import question_files
from bert_span.client import RetryOptions, SpanClient
from bert_span.client.retries import ServingError
from bert_span.evaluate import EvaluateOptions
from bert_span.jobs.evaluate import evaluate
from bert_span.squad.reader import read_squad
from bert_span.storage.tensor_files import read_tensors
from tests.support import programs, servers
from tests.support.hub import Call, Name, View, write_torch_file
from tests.support.models import (
  CONTEXT,
  QUESTION,
  exported_tflite,
  shared_model,
)
from tests.support.squad import spans, squad_content, write_squad_files

# Values in the place of another type. Lone surrogates and control characters
# come from JSON escapes.
_VALUES = (
  *(None, True, False, 0, -1, 7, 2**31, 10**30, -(2**63), 1.5, 1e308),
  *(float("nan"), float("inf"), -float("inf")),
  *("", "x", "0", "no", "a\nb", "\x00", "\ud83d", "é" * 300, "../../x", "/dev"),
  *("\x1b[2J", "9" * 400),
  *([], [[]], [None], ["x"], [7], {}, {"text": "x"}, {"\ud83d\n": [1, {}]}),
)
_LITERALS = (
  *("NaN", "-Infinity", "1e999", "9" * 5000, "-0", "01", "'x'", "1.0", "null"),
  *("[" * 100_000, "[" * 900 + "]" * 900, '{"a":' * 990 + "1" + "}" * 990),
)
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig")
_MAX_SECONDS = 120
_MAX_KILOBYTES = 1 << 20
_MAX_MESSAGE = 6000  # characters: ten errors, and no file's content
# What a remedy tells people to do.
_REMEDY = re.compile(
  r"\b(add|check|convert|correct|download|fill|give|join|mark|predict|put|"
  r"remove|rename|run|wrap|write)\b",
  re.IGNORECASE,
)


class Failure(BaseException):
  """Neither an answer nor a refusal; the programs let it pass."""


def run(program, *arguments, must_answer=False, **flags):
  """Runs a program in this process; returns whether it answers.

  `flags` are values by name. Failure if it refuses in another way than by a
  message of a few lines; what ends it with a traceback is raised.
  """
  name = f"bert_span.{program}"
  arguments += tuple(f"--{flag}={value}" for flag, value in flags.items())
  ended = programs.run_here(name, *arguments)
  status, message = ended.returncode, ended.stderr
  if "Traceback" in message or (status and must_answer):
    raise Failure(message[-_MAX_MESSAGE:])
  if status == 1 and program == "lint_squad" and ended.stdout:
    return True  # A report with errors.
  if status:
    # Logged lines may be before it.
    begins = rf"(?:.*\n)?((?:{name}: |FATAL Flags parsing error).*)"
    found = re.match(begins, message, re.DOTALL)
    said = found[1] if found else ""
    if not said or len(said) > _MAX_MESSAGE or len(said.splitlines()) > 14:
      raise Failure(f"status {status} with the message {message[:2000]!r}")
  return not status


def _scores(squad, predictions, odds):
  files = {"predictions_file": predictions, "na_prob_file": odds}
  return evaluate(EvaluateOptions(predict_file=squad, **files))


def result_or_clear_error(read, *paths):
  """What read(*paths) returns; a ValueError must name a file and a remedy."""
  try:
    return read(*map(str, paths))
  except ValueError as error:
    assert type(error) is ValueError
    message = str(error)
  assert any(str(path) in message for path in paths)
  assert len(message) < _MAX_MESSAGE
  first, *others = message.splitlines()
  assert others or _REMEDY.search(first[-200:]), message
  for line in others:
    assert line.startswith("  ")
    assert _REMEDY.search(line[-200:]) or line.startswith("  and "), line
  return None


class Fuzz:
  """Targets: methods of a random generator that return whether they answer."""

  def __init__(self, folder, server):
    self._folder, self._server = folder, server
    write_squad_files(folder)
    self._squad = folder / "v2.json"
    self._vocabulary = {"vocab_file": folder / "vocab.txt"}
    predictions = {f"q{i}": "Anna" for i in range(8)}
    self._predicted = self._made("p.json", predictions)
    self._text = self._made("text.txt", (CONTEXT + "\n").encode() * 40)

  def readers(self, rng):
    """SQuAD JSON, predictions and probabilities, read without a program."""
    squad = self._made("questions.json", _SQUAD)
    squad = self._damaged(rng, squad)
    found = result_or_clear_error(read_squad, squad)
    if found:
      assert found.examples
      assert all(line.isprintable() for line in found.report.lines())
      for example in found.examples:
        assert isinstance(example.qas_id, str)
        for answer in example.answers:
          if answer.char_start >= 0:
            assert example.context.startswith(answer.text, answer.char_start)
    paths = []
    for name, tree, read, kind in (
      ("ids.json", {"q1": "Ada", "3": "Ada", "q2": ""}, read_predictions, str),
      ("odds.json", {"q1": -2.5, "3": 0, "q2": 3}, read_na_probs, (int, float)),
    ):
      paths.append(self._made(name, tree))
      if rng.random() < 0.5:
        paths[-1] = self._damaged(rng, paths[-1])
      values = result_or_clear_error(read, paths[-1])
      for qas_id, value in (values or {}).items():
        assert isinstance(qas_id, str)
        assert isinstance(value, kind)
    scores = result_or_clear_error(_scores, squad, *paths)
    assert scores is None or 0 <= scores["f1"] <= 100
    return scores is not None

  def squad(self, rng):
    path = self._damaged(rng, self._squad)
    program = rng.choice(("lint", "fix", "evaluate", "windows"))
    if program == "windows":
      files = {"input_file": path, "output_file": f"{path}.o"}
      return run("inspect_windows", **files, **self._vocabulary)
    if program == "evaluate":
      predicted = {"predictions_file": self._predicted}
      return run("evaluate", predict_file=path, **predicted)
    flags = {"fix": program == "fix", "output_file": f"{path}.fixed"}
    return run("lint_squad", path, **flags, **self._vocabulary)

  def predictions(self, rng):
    tree = {f"q{i}": rng.choice(("Anna", "", "1895")) for i in range(8)}
    flags = {"predictions_file": tree, "na_prob_file": dict.fromkeys(tree, 0.5)}
    for flag, values in flags.items():
      path = self._made(f"{flag}.json", values)
      if rng.random() < 0.6:
        path = self._damaged(rng, path)
      flags[flag] = path
    return run("evaluate", predict_file=self._squad, **flags)

  def model(self, rng):
    copy = self._copy(shared_model(version_2=True))
    paths = sorted(path for path in copy.rglob("*") if path.is_file())
    path = rng.choice(paths)
    if rng.random() < 0.05:
      path.unlink()
    else:
      path.write_bytes(_damage(rng, path))
    # Without a comparison of checksums, which notices everything.
    return run("ask", model=copy, verify=rng.random() < 0.2, **_ASKED)

  def pickled(self, rng):
    """pytorch_model.bin in both forms, one that would run code among them."""
    path = self._damaged(rng, rng.choice(self._pickled))
    tensors = result_or_clear_error(read_tensors, path)
    assert not self._canary.exists()
    for tensor in (tensors or {}).values():
      assert tensor.dtype == np.float32
    return tensors is not None

  @functools.cached_property
  def _pickled(self):
    base = np.arange(12, dtype="float32")
    tensors = {
      "whole": base.reshape(3, 4),
      "part": View(base, 5, (2, 2), (4, 2)),
      "half": np.array([0.5, -2.0], np.float16),
    }
    runs = Call(Name("os", "mkdir"), (str(self._canary),))
    paths = []
    for is_old in (False, True):
      for name, more in (("plain", {}), ("hostile", {"runs": runs})):
        path = self._folder / f"{name}_{is_old}.bin"
        write_torch_file(path, {**tensors, **more}, is_old)
        paths.append(path)
    return paths

  @property
  def _canary(self):
    """A folder that a pickle would make."""
    return self._folder / "made_by_a_pickle"

  def tflite(self, rng):
    content = pathlib.Path(exported_tflite()[0]).read_bytes()
    begin = content.index(b"PK\x03\x04") if rng.random() < 0.9 else 0
    content = content[:begin] + damaged_bytes(rng, content[begin:])
    return run("ask", model=self._made("damaged.tflite", content), **_ASKED)

  def encoder(self, rng):
    """bert_config.json and the vocabulary of a model to train."""
    config = self._folder / "bert_config.json"
    flags = {"bert_config_file": config, **self._vocabulary}
    name = rng.choice(sorted(flags))
    flags[name] = self._damaged(rng, flags[name])
    return run(
      *("run_squad", "--do_train", "--dry_run", *_SHORT),
      train_file=self._squad,
      train_batch_size=4,
      version_2_with_negative=True,
      output_dir=self._folder / "dry",
      **flags,
    )

  def logits(self, rng):
    return run(
      "decode",
      logits_file=self._damaged(rng, self._logits),
      predict_file=self._squad,
      model=shared_model(True),
      output_dir=self._folder / "decoded",
    )

  @functools.cached_property
  def _logits(self):
    folder = self._folder / "predicted"
    run(
      *("run_squad", "--do_predict", "--write_logits", *_SHORT),
      must_answer=True,
      preset=shared_model(True),
      predict_file=self._squad,
      version_2_with_negative=True,
      output_dir=folder,
    )
    return folder / "logits.npz"

  def questions(self, rng):
    """JSON lines and Parquet of questions."""
    path = self._damaged(rng, rng.choice(self._questions))
    (file,) = question_files.find_question_files(str(path))
    records = list(question_files.read_questions(file))
    return not any(isinstance(x, question_files.BadRecord) for x in records)

  @functools.cached_property
  def _questions(self):
    row = {"question": QUESTION, "context": CONTEXT}
    rows = [{"id": f"q{i}", **row} for i in range(5)]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    table = self._folder / "questions.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), table)
    return [self._made("questions.jsonl", lines), table]

  def masked_text(self, rng):
    """TFRecords for pre-training."""
    return run(
      *("run_pretraining", "--do_eval", *_MASKING),
      max_eval_steps=1,
      eval_batch_size=2,
      eval_file=self._damaged(rng, self._masked_text),
      output_dir=self._folder / "pretraining",
      bert_config_file=self._folder / "bert_config.json",
      **self._vocabulary,
    )

  @functools.cached_property
  def _masked_text(self):
    path = self._folder / "masked.tfrecord"
    run(
      *("create_pretraining_data", *_MASKING),
      must_answer=True,
      input_file=self._text,
      output_file=path,
      **self._vocabulary,
    )
    return path

  def flags(self, rng):
    """Flags of programs that read and write little."""
    name, flags = rng.choice(self._programs())
    flags = [str(flag) for flag in flags]
    for _ in range(rng.randint(1, 2)):
      defined = programs.define_flags(f"bert_span.{name}")
      flag = rng.choice(defined)
      value = rng.choice(_FLAG_VALUES)
      if flag not in ("output_dir", "output_file", "flagfile", "undefok"):
        flags.append(f"--{flag}={value}")
    if rng.random() < 0.1:
      content = damaged_bytes(rng, b"--seed=1\n" * 9)
      flags.append(f"--flagfile={self._made('flags', content)}")
    return run(name, *flags)

  def replies(self, rng):
    """Replies of a server that is another, damaged or hostile."""
    rows = (
      servers.output_row(CONTEXT, [("Anna", 0.5), ("", 0.25)]),
      servers.span_row(CONTEXT, [("mill", 0.5), ("Anna", 0.25)]),
    )
    content = json.dumps({"predictions": [rng.choice(rows)]}).encode()
    content = damaged_json(rng, content)
    status = rng.choice((200, 200, 200, 200, 400, 503, 302, 999))
    headers = {"Retry-After": "0"}
    if rng.random() < 0.1:
      headers["Content-Length"] = rng.choice(("0", "-1", "x", "10", "1e9"))
      headers["Connection"] = "close"
    self._server.script = [(status, headers, content)] * 3
    options = RetryOptions(timeout=2, deadline=2, max_attempts=1)
    try:
      with SpanClient(self._server.address, retry_options=options) as client:
        spans = [client.answer(QUESTION, CONTEXT)]
        spans += client.answer(QUESTION, CONTEXT, n_best=8)
        spans += client.answers(QUESTION, CONTEXT)
    except ServingError as error:
      assert str(error).isprintable()
      assert len(str(error)) < _MAX_MESSAGE
      return False
    for span in spans:
      assert span.text == CONTEXT[span.char_start : span.char_end]
      assert 0 <= span.probability <= 1.001
    return True

  def _made(self, name, content):
    """The path of a file of bytes, or else of JSON."""
    if not isinstance(content, bytes):
      content = json.dumps(content).encode()
    path = self._folder / name
    path.write_bytes(content)
    return path

  def _damaged(self, rng, path):
    """The path of a damaged copy of a file."""
    return self._made(f"damaged_{path.name}", _damage(rng, path))

  def _copy(self, folder):
    """A copy of a folder, made anew."""
    copy = self._folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    return pathlib.Path(shutil.copytree(folder, copy))

  def _programs(self):
    """Programs that end soon, with flags that they accept."""
    squad = self._squad
    vocabulary = f"--vocab_file={self._folder / 'vocab.txt'}"
    model = f"--model={shared_model(version_2=True)}"
    predictions = f"--predictions_file={self._predicted}"
    text = f"--input_file={self._text}"
    return (
      ("evaluate", [f"--predict_file={squad}", predictions]),
      ("lint_squad", [squad, vocabulary]),
      ("inspect_windows", [f"--input_file={squad}", vocabulary]),
      ("inspect_masking", [text, vocabulary, *_MASKING]),
      ("ask", [model, *(f"--{name}={x}" for name, x in _ASKED.items())]),
    )


def _damage(rng, path):
  """The damaged content of a file."""
  is_json = path.suffix == ".json"
  damage = damaged_json if is_json else damaged_bytes
  return damage(rng, path.read_bytes())


_ASKED = {"question": QUESTION, "context": CONTEXT, "json": True}
_SQUAD = squad_content(
  "Yes Ada came é 🙂 by herself.",
  {
    "id": "q1",
    "question": "who",
    "answers": spans(("Ada", 3), ("🙂", 15)),
    "is_impossible": False,
  },
  {"id": 3, "question": "?", "annotations": [spans(("Ada", 3)), []]},
  {"id": "q2", "question": "when", "answers": []},
  version="v2.0",
)
_SQUAD["data"].append({"title": "None", "paragraphs": []})
_SHORT = ("--max_seq_length=32", "--doc_stride=8", "--max_query_length=12")
_MASKING = ("--max_seq_length=32", "--max_predictions_per_seq=4")
_FLAG_VALUES = (
  *("2", "8", "24", "0.5", "true", "false"),
  *("", "0", "-1", "1", "1.5", "nan", "inf", "-inf", "1e309", "10**9"),
  *("2147483647", "2147483648", "1000000000000", "9" * 30, "-" + "9" * 30),
  *("x", "../..", "/", "/dev/null", "a,b", "0,0,0", "1,1"),
  *("é\udcff", "\x1b[2J"),
)
TARGETS = tuple(name for name in vars(Fuzz) if not name.startswith("_"))


def fuzz(targets, seconds, seed, first=0, report=print):
  """Runs targets in turn, each at least once; returns the failures' number."""
  counts = {name: [0, 0, 0] for name in targets}  # answers, refusals, failures
  end = time.monotonic() + seconds
  signal.signal(signal.SIGALRM, _raise_late)
  with (
    tempfile.TemporaryDirectory() as folder,
    servers.running(servers.ModelServer()) as server,
  ):
    fuzzed = Fuzz(pathlib.Path(folder), server)
    for number in itertools.count(first):
      name = targets[number % len(targets)]
      is_enough = number - first >= len(targets)
      if is_enough and time.monotonic() >= end:
        break
      rng = random.Random(f"{seed}/{name}/{number // len(targets)}")
      memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
      signal.alarm(_MAX_SECONDS)
      try:
        with contextlib.redirect_stderr(io.StringIO()):
          answers = getattr(fuzzed, name)(rng)
        counts[name][0 if answers else 1] += 1
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        if grown > _MAX_KILOBYTES:
          raise Failure(f"memory grew by {grown:,} kB")
      except (Exception, Failure):
        counts[name][2] += 1
        place = f"--seed={seed} --first={number // len(targets)}"
        report(f"--target={name} {place}\n{traceback.format_exc()}")
      finally:
        signal.alarm(0)
  for name, (answers, refusals, failures) in counts.items():
    outcomes = f"{answers} answers, {refusals} refusals, {failures} failures"
    report(f"{name}: {outcomes}")
  return sum(failures for _, _, failures in counts.values())


def _raise_late(*_):
  raise Failure(f"not ended after {_MAX_SECONDS} s")


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--seconds", type=float, default=60)
  parser.add_argument("--seed", type=int, default=0)
  parser.add_argument("--first", type=int, default=0)
  parser.add_argument("--target", choices=TARGETS, action="append")
  given = parser.parse_args()
  targets = given.target or TARGETS
  return bool(fuzz(targets, given.seconds, given.seed, given.first))


def damaged_bytes(rng, content):
  """Flips bits, cuts, repeats, swaps or inserts parts of some bytes."""
  content = bytearray(content)
  for _ in range(rng.choice((1, 1, 1, 2, 8))):
    if not content:
      break
    begin = rng.randrange(len(content))
    end = min(len(content), begin + rng.choice((1, 2, 4, 16, 256)))
    kind = rng.choice(("flip", "flip", "flip", "cut", "end", "repeat", "fill"))
    if kind == "flip":
      content[begin] ^= 1 << rng.randrange(8)
    elif kind == "cut":
      del content[begin:end]
    elif kind == "end":
      del content[begin:]
    elif kind == "repeat":
      content[begin:begin] = content[begin:end]
    else:
      content[begin:end] = bytes([rng.choice((0, 0x7F, 0xFF))]) * (end - begin)
  return bytes(content)


def damaged_json(rng, content):
  """Changes values, keys, literals or the encoding of a JSON text, or bytes."""
  kind = rng.choice(("tree", "tree", "tree", "literal", "encoding", "bytes"))
  if kind == "bytes":
    return damaged_bytes(rng, content)
  text = content.decode("utf-8")
  if kind == "encoding":
    return text.encode(rng.choice(_ENCODINGS), "replace")
  if kind == "literal":
    word = rng.choice([word for word in text.split('"')[1::2] if word])
    return text.replace(f'"{word}"', rng.choice(_LITERALS), 1).encode()
  tree = json.loads(text)
  for _ in range(rng.randint(1, 3)):
    tree = _changed(rng, tree)
  text = json.dumps(tree, ensure_ascii=rng.random() < 0.5)
  return text.encode("utf-8", "surrogatepass")


def _changed(rng, tree):
  """A JSON value with one part replaced, removed, added or repeated."""
  value = copy.deepcopy(rng.choice(_VALUES))
  place = rng.choice(list(_places(tree)))
  if not place:
    return value if rng.random() < 0.2 else tree
  parent = tree
  for key in place[:-1]:
    parent = parent[key]
  change = rng.choice(("replace", "replace", "remove", "add"))
  if change == "replace":
    parent[place[-1]] = value
  elif change == "remove":
    del parent[place[-1]]
  elif isinstance(parent, dict):
    parent[rng.choice((*parent, "id", "zz", "a\nb", ""))] = value
  else:
    parent.append(copy.deepcopy(parent[place[-1]]))
  return tree


def _places(value, place=()):
  """Every place in a tree of lists and dicts, as a tuple of keys."""
  yield place
  children = value.items() if isinstance(value, dict) else ()
  if isinstance(value, list):
    children = enumerate(value)
  for key, child in children:
    yield from _places(child, (*place, key))


if __name__ == "__main__":
  sys.exit(main())
