r"""Shows that files, servers and clients of the version before still work.

With the version before checked out in OLD, from the checkout of the new one:

  python tests/support/old_files.py make --folder=F --repository=OLD
  python tests/support/old_files.py check --folder=F
  python tests/support/old_files.py wire --folder=F --repository=OLD

`make` writes every kind of file with the old version, and what that version
reads from them. `check` reads copies of the files with the new version, by the
same commands, and compares. `wire`, after `make`, asks each version's server
with the client of the other. Status 1 if a text, an offset or a name differs,
or a number by more than 1e-5. F must not be moved. --only=WORD takes the kinds
whose name contains the word. `make` takes 20 minutes of processor time, `check`
10, `wire` 2.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import h5py
import numpy as np
import safetensors.numpy

_TOLERANCE = 1e-5  # of numbers, relative above 1
_PREEMPTED = 42  # the status of a training that SIGTERM has stopped
_REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# They hold dates, hashes, and options that a later version may drop.
_NOT_COMPARED = (
  *("metadata.json", "checksums.json", "training_options.json"),
  *("data_places.jsonl", "job.json", "tokens_per_second"),
  "question_truncated",  # a new output
)

# Kinds of files: the commands that write them, and those that read a copy. A
# stopped training is made by SIGTERM; the same command continues it.
_KINDS = {
  "model-directory-{head}": (
    ["{train} --output_dir={here}"],
    ["{ask}/model", "{predict} --output_dir={here}"],
  ),
  "stopped-run_squad-{head}": (["{run_squad}"], ["{run_squad}"]),
  "squad-records-{head}": (
    ["bert_span.create_squad_records {labels} --output_dir={here}/records"],
    ["{train} --train_records={here}/records --output_dir={here}/trained"],
  ),
  "logits-and-predictions-{head}": (
    ["{train} {data} --do_predict --write_logits --output_dir={here}"],
    [
      "{decode} --model={here}/model --output_dir={here}/decoded",
      "{decode} {windows} {decoder} {vocabulary} --output_dir={here}/by_flags",
      "bert_span.evaluate {data} --predictions_file={here}/{predictions}",
    ],
  ),
  "n-best-lists": (
    ["{train} {data} --do_predict --output_dir={here}"],
    ["{report} --nbest_file={here}/nbest_predictions.json"],
  ),
  "stopped-run_pretraining": (["{run_pretraining}"], ["{run_pretraining}"]),
  "pretraining-records": (
    [
      "bert_span.create_pretraining_data {text} {vocabulary} --dupe_factor=2 "
      "--output_file={here}/a.tfrecord,{here}/b.tfrecord.gz"
    ],
    [
      "{pretrain} --max_seq_length=64 --input_file={here}/*.tfrecord* "
      "--output_dir={here}/trained"
    ],
  ),
  "pretrained-model": (
    ["{pretrain} {text} --output_dir={here}"],
    [
      "bert_span.run_pretraining {text} --do_eval --output_dir={here}",
      "{tune} --preset={here}/model --output_dir={here}/tuned",
    ],
  ),
  "calibrated-model": (
    [
      "bert_span.convert --model=minilm_squad --output_dir={here}/model",
      "bert_span.calibrate --model={here}/model {data} --noplots",
    ],
    [
      "{ask}/model",
      "bert_span.convert --model={here}/model --output_dir={here}/copy",
    ],
  ),
  "saved-model-minilm_squad": (["{save}=minilm_squad"], ["{beam}/served/1"]),
  "saved-model-{head}": (["{save}={trained}"], ["{beam}/served/1"]),
  "tflite-8-bits-minilm_squad": (
    ["{tflite}=minilm_squad --quantization=dynamic"],
    ["{ask}/qa.tflite"],
  ),
  "tflite-float16": (
    ["{tflite}={trained} --quantization=float16"],
    ["{ask}/qa.tflite"],
  ),
  "tflite-any-length-{head}": (
    ["{tflite}={trained} --dynamic_length"],
    ["{ask}/qa.tflite"],
  ),
}
# What the {words} stand for, besides {folder}, which is --folder, {here}, the
# folder of the files of a kind, and {head}.
_WORDS = {
  "inputs": "{folder}/inputs",
  "trained": "{folder}/old/model-directory-{head}/model",
  "vocabulary": "--vocab_file={inputs}/vocab.txt",
  "encoder": "{vocabulary} --bert_config_file={inputs}/bert_config.json",
  "windows": "--max_seq_length=128 --doc_stride=48 --head={head} "
  "--version_2_with_negative",
  "data": "--predict_file={inputs}/{head}.json",
  "labels": "{windows} {vocabulary} --train_file={inputs}/{head}.json",
  "rates": "--train_batch_size=8 --learning_rate=1e-3",
  "tune": "bert_span.run_squad {labels} {decoder} {weights} {rates} "
  "--do_train --num_train_epochs=1",
  "train": "{tune} --bert_config_file={inputs}/bert_config.json",
  "predict": "bert_span.run_squad {windows} {decoder} {data} --do_predict",
  "run_squad": "{train} {data} --num_train_epochs=4 --eval_steps=15 "
  "--best_metric={metric} --do_predict --do_eval --write_logits "
  "--output_dir={here}",
  "decode": "bert_span.decode {data} --logits_file={here}/logits.npz",
  "report": "bert_span.report {data} --output_file={here}/report.html",
  "text": "--input_file={inputs}/text.txt --input_form=documents "
  "--max_seq_length=64",
  "pretrain": "bert_span.run_pretraining {encoder} {rates} --do_train "
  "--num_train_steps=10 --num_warmup_steps=5",
  "run_pretraining": "{pretrain} {text} --num_train_steps=40 --do_eval "
  "--eval_file={inputs}/text.txt --eval_steps=5 --max_eval_steps=4 "
  "--best_metric=mlm_loss --output_dir={here}",
  "ask": "bert_span.ask --json --n_best=5 --context_file={inputs}/passage.txt "
  "--question=Who? --question=When? --model={here}",
  "beam": "bert_span.beam_predict --input={inputs}/questions.jsonl --n_best=5 "
  "--num_shards=1 --output_dir={here}/answers --model={here}",
  "save": "export.export_saved_model --output={here}/served --model",
  "tflite": "export.export_tflite --output={here}/qa.tflite --model",
}
_HEADS = {
  # So that some questions of each file are answered, and some are not.
  "span": {
    "metric": "f1",
    "weights": "",
    "decoder": "--null_score_diff_threshold=-0.3",
    "predictions": "predictions.json --na_prob_file={here}/null_odds.json",
  },
  "bio": {
    "metric": "overlap_f1",
    "weights": "--bio_class_weights=350,20,1",
    "decoder": "",
    "predictions": "span_predictions.json --multi_span",
  },
}

# Prints a line of JSON for each server; both versions run it.
_CLIENT = """
import json, sys
try:
  from bert_span.serving.client import SpanClient  # of 0.1.0
except ModuleNotFoundError:
  from bert_span.client import SpanClient
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
columns = [[row[name] for row in rows] for name in ("question", "context")]
names = "text", "char_start", "char_end", "byte_start", "byte_end", "score"
names += "probability", "is_answerable"
values = lambda span: {name: getattr(span, name) for name in names}
for address in sys.argv[2:]:
  with SpanClient(address) as client:
    found = [
      [answer.null_odds, *map(values, (answer, *answer.n_best, *answer.spans))]
      for answer in client.answer(*columns)
    ]
  print(json.dumps(found))
"""


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("step", choices=("make", "check", "wire"))
  parser.add_argument("--folder", type=pathlib.Path, required=True)
  parser.add_argument("--repository", type=pathlib.Path, default=_REPOSITORY)
  parser.add_argument("--only", default="")
  arguments = parser.parse_args()
  folder = arguments.folder.resolve()
  repository = arguments.repository.resolve()
  if arguments.step == "wire":
    return wire(folder, repository)
  chosen = [name for name in names() if arguments.only in name]
  if arguments.step == "check":
    differ = [check(name, folder, repository) for name in chosen]
    return any(differ)
  write_inputs(folder / "inputs", repository / "bert_span")
  for name in chosen:
    make(name, folder, repository)
  return False


def make(name, folder, repository):
  """Writes files of a kind to F/old, and what is read to F/expected."""
  here, is_stopped = folder / "old" / name, name.startswith("stopped")
  shutil.rmtree(here, ignore_errors=True)
  here.mkdir(parents=True)
  for command in commands(name, folder, "old")[0]:
    stop_file = here / "evaluations.json" if is_stopped else None
    run(repository, "-m", *command, stop_file=stop_file)
  read(name, folder, repository, "expected")
  print(f"{name}: made", flush=True)


def check(name, folder, repository):
  """Reads, compares and prints; returns whether something differs."""
  try:
    read(name, folder, repository, "found")
    sides = (contents(folder / side / name) for side in ("expected", "found"))
    return compare(name, *sides)
  except (RuntimeError, OSError, ValueError) as error:
    print(f"{name}: FAILED: {error}", flush=True)
    return True


def read(name, folder, repository, side):
  """Reads a copy of the files of a kind, in F/expected or F/found."""
  here = folder / side / name
  shutil.rmtree(here, ignore_errors=True)
  shutil.copytree(folder / "old" / name, here)
  steps = [int(p.stem.split("-")[-1]) for p in here.glob("model.ckpt-*.index")]
  for command in commands(name, folder, side)[1]:
    ended = run(repository, "-m", *command)
    if name.startswith("stopped"):
      # A training from the start would give the same model, too, and one whose
      # best step was before the stop need not have continued.
      if f"model.ckpt-{max(steps)}, " not in ended.stderr:
        raise RuntimeError(f"{max(steps)} is not continued: {ended.stderr}")
      best = json.loads((here / "model/selection.json").read_text())["step"]
      if best <= max(steps):
        raise RuntimeError(f"the best step, {best}, is not after {max(steps)}")
    lines = ended.stdout.splitlines(keepends=True)
    with open(here / "stdout.jsonl", "a", encoding="utf-8") as file:
      file.writelines(line for line in lines if line.startswith("{"))


def wire(folder, before):
  """Asks servers of both versions by both clients; True if answers differ."""
  questions, is_different = folder / "inputs/questions.jsonl", False
  # The new version's own minilm_squad may have other weights.
  packaged = before / "bert_span/pretrained/minilm_squad"
  trained = [folder / f"old/model-directory-{head}/model" for head in _HEADS]
  for model in (packaged, *trained):
    with served(before, model) as old, served(_REPOSITORY, model) as new:
      by_old, by_new = (
        run(version, "-c", _CLIENT, questions, old, new).stdout.splitlines()
        for version in (before, _REPOSITORY)
      )
      replies = [server_replies(address, questions) for address in (old, new)]
    expected, *others = map(json.loads, by_old + by_new)
    texts = "old client, new server", "new client, old server", "both new"
    for text, found in zip(texts, others, strict=True):
      is_different |= compare(f"{model}: {text}", expected, found)
    is_different |= compare(f"{model}: replies", *replies)
  return is_different


def names():
  """Lists the kinds; files of the first are for later ones."""
  pairs = [(name, head) for name in _KINDS for head in _HEADS]
  return list(dict.fromkeys(name.format(head=head) for name, head in pairs))


def commands(name, folder, side):
  """Returns the two lists of commands of a kind, as lists of words."""
  head = "bio" if name.endswith("bio") else "span"
  words = {"folder": folder, "here": folder / side / name, "head": head}
  words |= {**_HEADS[head], **_WORDS}

  def expanded(command):
    while "{" in command:
      command = command.format(**words)
    return command.split()

  (kind,) = (k for n, k in _KINDS.items() if n.format(head=head) == name)
  return [[expanded(command) for command in part] for part in kind]


def start(repository, *words):
  """Starts Python with the package of a checkout, and pipes to it."""
  return subprocess.Popen(
    [sys.executable, *map(str, words)],
    cwd=repository,
    env={**os.environ, "PYTHONPATH": str(repository)},
    text=True,
    **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE),
  )


def run(repository, *words, stop_file=None):
  """Runs Python; SIGTERM stops it once a file exists. RuntimeError if it fails.

  Returns its `subprocess.CompletedProcess`.
  """
  process = start(repository, *words)
  while stop_file and not stop_file.exists() and process.poll() is None:
    time.sleep(0.01)
  if stop_file:
    process.send_signal(signal.SIGTERM)
  stdout, stderr = process.communicate()
  if process.returncode != (_PREEMPTED if stop_file else 0):
    raise RuntimeError(f"{words}: {process.returncode}\n{stderr[-3000:]}")
  return subprocess.CompletedProcess(words, 0, stdout, stderr)


@contextlib.contextmanager
def served(repository, model):
  """The address of a local server of a model."""
  words = "-m", "bert_span.serve", f"--model={model}", "--port=0"
  server = start(repository, *words)
  try:
    lines = iter(server.stderr.readline, "")
    addresses = (re.search(r"http://[\d.]+:\d+", line) for line in lines)
    yield next(filter(None, addresses))[0]
  finally:
    server.terminate()
    server.communicate()


def server_replies(address, questions):
  """What a server says of its signatures, and its rows and logits."""
  rows = list(map(json.loads, questions.read_text("utf-8").splitlines()))
  for row in rows:
    del row["id"]
  ids = {"input_ids": [[101, 2040, 102, 2198, 2234, 102]]}
  ids |= {"input_mask": [[1] * 6], "segment_ids": [[0, 0, 0, 1, 1, 1]]}
  bodies = {"instances": rows}, {"signature_name": "logits", "inputs": ids}
  requests = [("/metadata", None), *((":predict", body) for body in bodies)]
  replies = []
  for path, body in requests:
    url = f"{address}/v1/models/bert_span{path}"
    data = body and json.dumps(body).encode()
    with urllib.request.urlopen(url, data) as reply:
      replies.append(json.load(reply))
  return replies


def write_inputs(folder, package):
  """Writes the labels and texts of the sample, and the sizes of an encoder."""
  folder.mkdir(parents=True, exist_ok=True)
  vocabulary = "pretrained/minilm_squad/assets/tokenizer/vocabulary.txt"
  shutil.copy(package / vocabulary, folder / "vocab.txt")
  config = {"vocab_size": 30522, "hidden_size": 32, "intermediate_size": 64}
  config |= {"num_hidden_layers": 2, "num_attention_heads": 2}
  config |= {"max_position_embeddings": 128, "type_vocab_size": 2}
  config |= {"initializer_range": 0.5}  # so that answers differ
  (folder / "bert_config.json").write_text(json.dumps(config))
  content = (package / "sample/dev.json").read_text("utf-8")
  (folder / "span.json").write_text(content, "utf-8")
  squad = json.loads(content)
  paragraphs = [p for article in squad["data"] for p in article["paragraphs"]]
  rows = [
    {"id": qa["id"], "question": qa["question"], "context": p["context"]}
    for p in paragraphs
    for qa in p["qas"][:2]
  ]
  for name, lines in {
    "questions.jsonl": map(json.dumps, rows),
    "text.txt": (" ".join(p["context"].split()) for p in paragraphs),
    "passage.txt": [paragraphs[0]["context"]],
  }.items():
    (folder / name).write_text("\n".join(lines), "utf-8")
  for paragraph in paragraphs:
    first_word = {"text": paragraph["context"].split()[0], "answer_start": 0}
    for qa in paragraph["qas"]:
      # Two spans for every annotator.
      qa["annotations"] = [[first_word, answer] for answer in qa.pop("answers")]
  (folder / "bio.json").write_text(json.dumps(squad), "utf-8")


def contents(folder):
  """Returns a dict from path to what a file holds, of all that is compared."""
  readers = {
    ".json": lambda path: json.loads(path.read_text("utf-8")),
    ".jsonl": lambda path: list(map(json.loads, path.open(encoding="utf-8"))),
    ".npz": lambda path: dict(np.load(path)),
    ".safetensors": safetensors.numpy.load_file,
    ".h5": weights,
  }
  return {
    str(path.relative_to(folder)): readers[path.suffix](path)
    for path in sorted(folder.rglob("*"))
    if path.suffix in readers
  }


def weights(path):
  """Returns the arrays of an HDF5 file by name."""
  names = []
  with h5py.File(path) as file:
    file.visit(names.append)
    return {n: file[n][()] for n in names if isinstance(file[n], h5py.Dataset)}


# In files, in replies, and in lists of _CLIENT after null odds and answer.
_SHARED = re.compile(
  r"n_best(_| \d+ )probability|^ \d+ ([2-9]|\d\d+) probability"
)


def compare(name, expected, found):
  """Prints whether two values are equal; returns whether they differ."""
  pairs = distances(expected, found)
  if "minilm_squad" in name or "calibrated" in name:
    # Since 1.0.0 the entries beside the answer share what it leaves.
    pairs = (pair for pair in pairs if not _SHARED.search(pair[0]))
  place, largest = max(pairs, key=lambda pair: pair[1])
  is_different = not largest <= _TOLERANCE
  text = f"DIFFERS by {largest:.1e} at {place}" if is_different else "equal"
  print(f"{name}: {text}, numbers by at most {largest:.1e}", flush=True)
  return is_different


def distances(expected, found, place=""):
  """Yields places, and how far numbers are apart there; other values, inf."""
  if isinstance(expected, list) and isinstance(found, list):
    expected, found = dict(enumerate(expected)), dict(enumerate(found))
  if isinstance(expected, dict) and isinstance(found, dict):
    for key in {**expected, **found}:
      if str(key).split("/")[-1] in _NOT_COMPARED:
        continue
      if key in expected and key in found:
        yield from distances(expected[key], found[key], f"{place} {key}")
      else:
        yield f"{place} {key}, missing on one side", math.inf
    return
  expected, found = np.asarray(expected), np.asarray(found)
  is_same_type = (expected.dtype, expected.shape) == (found.dtype, found.shape)
  if is_same_type and (expected == found).all():
    yield place, 0.0
  elif is_same_type and expected.dtype.kind == "f":
    gaps = np.abs(expected - found) / np.maximum(1, np.abs(expected))
    gaps = np.where(expected == found, 0, gaps)
    yield place, float(np.max(np.nan_to_num(gaps, nan=np.inf)))
  else:
    yield place, math.inf


if __name__ == "__main__":
  sys.exit(main())
