r"""Seconds and memory of encoders of published sizes, from loading to training.

  python -m benchmarks.real_sizes --models=bert_large --parts=answer,saved_model

Smallest setting:
  python -m benchmarks.real_sizes --models=tiny_modernbert \
    --parts=answer,tflite,training,long_2048

Each model has random weights and a made-up vocabulary of the published size, in
which each word of the questions is one token (published ones have some 1.2
tokens a word). It is written once, in transformers' format, and each part reads
it in a process of its own:

answer          loading; the first answer; one question and sixteen, each with
                one window of about 160 WordPieces, the median of five
saved_model     export, its proof included
tflite          export with quantization="dynamic", its proof included
training        a step of 8 windows of 384 WordPieces, the mean of two
checkpointing   the same with gradient checkpointing (recompute)
long_384, long_2048, long_8192
                a passage of 20,000 characters, 4,000 WordPieces, in windows of
                this length, the median of three; the last two for ModernBERT
transformers    as answer, in PyTorch, where it is installed

Prints a table of times and of the peak of resident memory, in GB beside the
size of the weights' file. That of saved_model is without the fresh process that
asks the written file.
"""

import contextlib
import functools
import importlib.util
import itertools
import json
import os
import re
import signal
import statistics
import tempfile
import time

from absl import flags

from benchmarks.inputs import check, check_known
from benchmarks.random_models import Shape
from benchmarks.repetitions import (
  measured_apart,
  milliseconds,
  repeated_seconds,
)
from benchmarks.tables import print_head, print_row
from bert_span.cli import program
from bert_span.storage.process_memory import process_peak_bytes

_BASE, _LARGE = Shape(12, 12, 768), Shape(24, 16, 1024)
# Architecture, shape, tokens; sizes of the published configurations.
_MODELS = {
  "tiny": ("bert", Shape(1, 1, 16), 30522),
  "bert_base": ("bert", _BASE, 30522),
  "bert_large": ("bert", _LARGE, 30522),
  "roberta_large": ("roberta", _LARGE, 50265),
  "xlm_roberta_large": ("xlm-roberta", _LARGE, 250002),
  "deberta_v3_large": ("deberta-v2", _LARGE, 128100),
  "tiny_modernbert": ("modernbert", Shape(2, 1, 16), 20000),
  "modernbert_base": ("modernbert", Shape(22, 12, 768), 50368),
}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_QUESTION, _PASSAGE = "who came", "a b c d e f g h " * 18
_WORD = " abcd"
_LONG_PASSAGE = _WORD * 4000
_STEPS = 4

_RUN_MODELS = flags.DEFINE_list(
  "models", ["bert_base", "bert_large"], f"Models, of {', '.join(_MODELS)}."
)
_RUN_PARTS = flags.DEFINE_list(
  "parts",
  None,
  "Parts to measure, as above; by default all whose packages are installed but "
  "those of long passages.",
)
_FOLDER = flags.DEFINE_string(
  "folder", None, "Folder of the written models; by default a temporary one."
)
_CASE = flags.DEFINE_string("case", None, "One case to measure: folder,part.")


def main(argv):
  """Measures each part of each model, or the one of --case."""
  if _CASE.value:
    path, part = _CASE.value.rsplit(",", 1)
    print(json.dumps(_CASES[part](path)))
    return
  check_known(_RUN_MODELS, _MODELS)
  check_known(_RUN_PARTS, _CASES)
  parts = _RUN_PARTS.value or [x for x in _CASES if x not in _LONG]
  if importlib.util.find_spec("torch") is None:
    check(
      "transformers" not in (_RUN_PARTS.value or ()),
      "--parts=transformers needs PyTorch. Install it: pip install torch.",
    )
    parts = [part for part in parts if part != "transformers"]
  columns = "model", "part", "weights, GB", "time", "peak, GB"
  print_head(*columns, text=("model", "part", "time"))
  with contextlib.ExitStack() as stack:
    folder = _FOLDER.value
    if not folder:
      folder = stack.enter_context(tempfile.TemporaryDirectory())
    for model in _RUN_MODELS.value:
      path = os.path.join(folder, model)
      if not os.path.isdir(path):
        _write(model, path)
      size = os.path.getsize(os.path.join(path, "model.safetensors"))
      for part in parts:
        print_row(model, part, f"{size / 1e9:.2f}", *_measured(path, part))


def _measured(path, part):
  """Returns the cells of time and peak."""
  try:
    result = measured_apart("benchmarks.real_sizes", f"{path},{part}")
  except SystemExit as error:
    if error.code != -signal.SIGKILL:
      raise
    return "killed: more memory than the machine has", ""
  return result["time"], f"{result['peak_gb']:.2f}"


def _write(name, path):
  """Writes a random model in transformers' format."""
  from benchmarks.random_models import random_encoder, random_span_model
  from bert_span.data.preprocessor import SpanPreprocessor
  from bert_span.presets.huggingface_writer import save_huggingface

  architecture, shape, size = _MODELS[name]
  vocabulary = _vocabulary(architecture, size)
  changes = {"vocabulary_size": size, "architecture": architecture}
  if architecture == "deberta-v2":
    changes["position_buckets"] = 256
  elif architecture == "modernbert":
    changes["intermediate_dim"] = 3 * shape.hidden_dim // 2
  model = random_span_model(random_encoder(shape, **changes))
  model.preprocessor = SpanPreprocessor(vocabulary)
  os.makedirs(path)
  save_huggingface(model, path)


def _vocabulary(architecture, size):
  """Returns a vocabulary of a size, of words, letters and made-up tokens."""
  from bert_span.text.byte_pair_tokenizer import BYTES
  from bert_span.text.sentencepiece_model import (
    CONTROL,
    PIECE_FAMILIES,
    UNKNOWN,
    ModelProto,
    sentence_pieces,
  )
  from bert_span.text.vocabulary import BytePairs, ModernBertPairs

  words = _words()
  if architecture == "bert":
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    return tokens + [f"[unused{i}]" for i in range(size - len(tokens))]
  if architecture in ("modernbert", "roberta"):
    kind, special = (
      ModernBertPairs,
      ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"],
    )
    if architecture == "roberta":
      kind, special = BytePairs, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    merges, starts = {}, {}
    for word in words:
      letters = f"Ġ{word}"  # as byte pairs have a blank
      *before, _ = parts = list(itertools.accumulate(letters))
      starts |= dict.fromkeys(parts[1:])
      merges |= dict.fromkeys(
        map(" ".join, zip(before, letters[1:], strict=True))
      )
    tokens = [*special, *BYTES, *starts]
    tokens += [f"[unused{i}]" for i in range(size - len(tokens))]
    return kind(tokens, list(merges))
  model, family = ModelProto(), PIECE_FAMILIES[architecture]
  names = family.replaced or ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
  for name in names:
    model.pieces.add(piece=name, type=CONTROL)
  unknown = names.index(family.unknown)
  model.pieces[unknown].type = UNKNOWN
  model.trainer_spec.unk_id = unknown
  for word in words:
    model.pieces.add(piece=f"\u2581{word}", score=-5.0)
  for letter in _LETTERS:
    model.pieces.add(piece=letter, score=-6.0)
  added = size - len(family.tokens([piece.piece for piece in model.pieces]))
  for i in range(added):
    model.pieces.add(piece=f"{_LETTERS}{i}", score=-20.0)
  return sentence_pieces(model.SerializeToString(), architecture, "made up")


def _words():
  """Returns the words of the questions that exports are compared on."""
  from bert_span.squad.sample_examples import sample_examples

  texts = [f"{x.question} {x.context}" for x in sample_examples()]
  texts += [x.lower() for x in texts]  # for vocabularies without capitals
  words = {*_LETTERS, _WORD.strip(), *_QUESTION.split()}
  return sorted(
    words.union(*(re.findall("[A-Za-z]+|[0-9]+", x) for x in texts))
  )


def _answer(path):
  """Loading, the first answer, one question and sixteen."""
  from bert_span import SpanExtractor

  begin = time.perf_counter()
  extractor = SpanExtractor.from_preset(path)
  return _answering(time.perf_counter() - begin, extractor.answer)


def _transformers(path):
  """The same by transformers with PyTorch, as its guide has it."""
  # What the process imports counts neither here nor above.
  import torch  # noqa: F401
  import transformers  # noqa: F401

  from benchmarks.huggingface_peer import HuggingFaceAnswerer, torch_logits
  from bert_span.answers.decoding.options import DecoderOptions
  from bert_span.text.options import WindowOptions

  begin = time.perf_counter()
  answerer = HuggingFaceAnswerer(
    path, torch_logits(path), [_QUESTION], WindowOptions(), DecoderOptions()
  )
  return _answering(time.perf_counter() - begin, answerer.answer)


def _answering(load_seconds, answer):
  """Describes the times of loading and of a function of two lists."""
  load_gb = process_peak_bytes() / 1e9
  (first,), _ = repeated_seconds(lambda: answer([_QUESTION], [_PASSAGE]), 1, 0)
  one, sixteen = (_median_ms(answer, n) for n in (1, 16))
  return _result(
    f"load {load_seconds:.1f} s ({load_gb:.2f} GB), "
    f"first answer {first:.1f} s, one {one:.0f} ms, "
    f"sixteen {sixteen:.0f} ms"
  )


def _median_ms(answer, num_questions):
  questions = [_QUESTION] * num_questions, [_PASSAGE] * num_questions
  return milliseconds(repeated_seconds(lambda: answer(*questions), 5)[0], 50)[0]


def _export(path, ending, **options):
  from bert_span import SpanExtractor

  extractor = SpanExtractor.from_preset(path)
  with tempfile.TemporaryDirectory() as folder:
    begin = time.perf_counter()
    extractor.export(os.path.join(folder, f"qa{ending}"), **options)
    return _result(f"{time.perf_counter() - begin:.1f} s")


def _training(path, recompute=False):
  from benchmarks.random_training import seconds_per_step
  from bert_span import SpanExtractor
  from bert_span.training.options import ExecutionOptions

  extractor = SpanExtractor.from_preset(path)
  execution = ExecutionOptions(recompute=recompute)
  seconds = seconds_per_step(extractor, 8, 384, _STEPS, execution)
  return _result(f"{seconds:.1f} s")


def _long(path, length):
  """Answers about a long passage in windows of a length."""
  from bert_span import SpanExtractor

  extractor = SpanExtractor.from_preset(path, max_seq_length=length)
  texts = {"question": [_QUESTION], "context": [_LONG_PASSAGE]}
  num_windows = len(extractor.preprocessor(texts)["token_ids"])
  answer = functools.partial(extractor.answer, _QUESTION, _LONG_PASSAGE)
  seconds = statistics.median(repeated_seconds(answer, 3)[0])
  return _result(
    f"{num_windows} windows, a step of {extractor.window_options.doc_stride}: "
    f"{seconds:.2f} s"
  )


def _result(measured):
  return {"time": measured, "peak_gb": process_peak_bytes() / 1e9}


_LONG = {
  f"long_{length}": functools.partial(_long, length=length)
  for length in (384, 2048, 8192)
}
_CASES = {
  "answer": _answer,
  "saved_model": lambda path: _export(path, ""),
  "tflite": lambda path: _export(path, ".tflite", quantization="dynamic"),
  "training": _training,
  "checkpointing": lambda path: _training(path, recompute=True),
  **_LONG,
  "transformers": _transformers,
}


if __name__ == "__main__":
  program.run_program(main)
