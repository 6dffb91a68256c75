"""Answers batches of questions in one way; `benchmarks.lite` starts it.

  PYTHON lite_side.py SIDE SETTINGS

SETTINGS are JSON. Each line of the input is JSON, a list of questions and one
of passages; each line of the output is {"seconds": 0.1, "peak_kb": 170000,
"answers": [{"text": .., "char_start": .., "char_end": .., "probability": ..}]}.
It is run as a file, since bert_span_lite's environment has no other package.
"""

import json
import os
import sys
import time
import types

_FIELDS = "text", "char_start", "char_end", "probability"


def main():
  """Answers until the input ends."""
  name, settings = sys.argv[1], json.loads(sys.argv[2])
  num_threads = settings["num_threads"]
  # Runtimes that choose for themselves take no more threads, either.
  os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:num_threads])
  answer = _SIDES[name](settings)
  for line in sys.stdin:
    batch = json.loads(line)
    begin = time.perf_counter()
    answers = answer(*batch)
    seconds = time.perf_counter() - begin
    row = {"seconds": seconds, "peak_kb": _peak_kb(), "answers": answers}
    print(json.dumps(row), flush=True)


def _peak_kb():
  """The most memory of this process, without that of the one it came from."""
  with open("/proc/self/status") as file:
    return next(int(x.split()[1]) for x in file if x.startswith("VmHWM:"))


def _fields_of(extractor):
  def answer(questions, contexts):
    return [
      {name: getattr(each, name) for name in _FIELDS}
      for each in extractor.answer(questions, contexts)
    ]

  return answer


def _lite(settings):
  import bert_span_lite

  path, num_threads = settings["tflite"], settings["num_threads"]
  return _fields_of(bert_span_lite.SpanExtractor(path, num_threads))


def _tflite(settings):
  from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor

  path, num_threads = settings["tflite"], settings["num_threads"]
  return _fields_of(TFLiteSpanExtractor(path, num_threads=num_threads))


def _saved_model(settings):
  import tensorflow as tf
  import tensorflow_text  # noqa: F401 -- registers its ops

  model = tf.saved_model.load(settings["saved_model"])

  def answer(questions, contexts):
    outputs = model.signatures["serving_default"](
      question=tf.constant(questions), context=tf.constant(contexts)
    )
    columns = [outputs[name].numpy() for name in ("answer", *_FIELDS[1:])]
    return [
      dict(zip(_FIELDS, (text.decode(), *map(float, row)), strict=True))
      for text, *row in zip(*columns, strict=True)
    ]

  return answer


def _onnxruntime(settings, directory="onnx"):
  from benchmarks import huggingface_peer

  answerer = huggingface_peer.HuggingFaceAnswerer(
    settings[directory],
    huggingface_peer.onnxruntime_logits(settings[directory]),
    settings["questions"],
    types.SimpleNamespace(**settings["window"]),
    types.SimpleNamespace(**settings["decoder"]),
  )

  def answer(questions, contexts):
    return [{"text": text} for text in answerer.answer(questions, contexts)]

  return answer


def _onnxruntime_int8(settings):
  return _onnxruntime(settings, "onnx_int8")


_SIDES = {
  "lite": _lite,
  "tflite": _tflite,
  "saved_model": _saved_model,
  "onnxruntime": _onnxruntime,
  "onnxruntime_int8": _onnxruntime_int8,
}

if __name__ == "__main__":
  main()
