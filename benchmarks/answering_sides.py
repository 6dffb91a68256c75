"""Ways to answer questions with the same weights, each in its own process.

strings       the exported SavedModel, signature serving_default
logits        the same SavedModel, signature logits; the client makes windows
              with transformers' fast tokenizer and decodes as its guide says
transformers  that client with AutoModelForQuestionAnswering in PyTorch
onnxruntime   that client with the same model as ONNX, float32
openvino      that client with the same ONNX file, float32
extractor     SpanExtractor on the model directory
tflite        TFLiteSpanExtractor on a float32 file of any length, with one
              thread per core

With fewer bits: strings_bfloat16; onnxruntime_int8, ONNX Runtime's dynamic
quantization; tflite_int8, a file with quantization="dynamic".
"""

import dataclasses
import importlib.util
import multiprocessing
import os
import time
from typing import Any

STRINGS, LOGITS, TRANSFORMERS = "strings", "logits", "transformers"
ONNXRUNTIME, OPENVINO = "onnxruntime", "openvino"
EXTRACTOR, TFLITE = "extractor", "tflite"
STRINGS_BFLOAT16, TFLITE_INT8 = "strings_bfloat16", "tflite_int8"
ONNXRUNTIME_INT8 = "onnxruntime_int8"
# PyTorch writes the weights for all sides that use transformers' tokenizer.
_CLIENT = ("torch", "transformers")
_PACKAGES = {
  LOGITS: _CLIENT,
  TRANSFORMERS: _CLIENT,
  **dict.fromkeys(
    (ONNXRUNTIME, ONNXRUNTIME_INT8), (*_CLIENT, "onnx", "onnxruntime")
  ),
  OPENVINO: (*_CLIENT, "onnx", "openvino"),
}
PEERS = (
  *(LOGITS, TRANSFORMERS, ONNXRUNTIME, OPENVINO, EXTRACTOR, TFLITE),
  *(STRINGS_BFLOAT16, ONNXRUNTIME_INT8, TFLITE_INT8),
)


@dataclasses.dataclass(frozen=True)
class SideSettings:
  """What the process of a side needs."""

  model: str  # The model directory.
  folder: str  # What was exported, under the names of the sides.
  questions: list[str]  # see `HuggingFaceAnswerer`
  window_options: Any  # `WindowOptions`
  decoder_options: Any  # `DecoderOptions`


def missing_packages(name):
  """Returns the packages that a side needs and that are not installed."""
  packages = _PACKAGES.get(name, ())
  return [name for name in packages if not importlib.util.find_spec(name)]


def prepare_sides(model, questions, folder, peers):
  """Exports a model for all sides.

  Args:
    model: the model directory.
    questions: list of str, see `HuggingFaceAnswerer`.
    folder: an existing folder for the exports.
    peers: names of the sides other than strings.

  Returns:
    `SideSettings`.
  """
  from benchmarks.huggingface_peer import write_int8, write_onnx
  from bert_span.extractors.precision import with_encoder_dtype
  from bert_span.extractors.span_extractor import SpanExtractor
  from bert_span.presets.huggingface_writer import save_huggingface
  from bert_span.serving.signatures import ServedModel, write_saved_model

  extractor = SpanExtractor.from_preset(model)
  settings = SideSettings(
    *(model, folder, questions),
    *(extractor.window_options, extractor.decoder_options),
  )
  # As extractor.export, without its checks.
  vocabulary = extractor.preprocessor.tokenizer.vocabulary
  served = {STRINGS: extractor}
  if STRINGS_BFLOAT16 in peers:
    served[STRINGS_BFLOAT16] = with_encoder_dtype(extractor, "bfloat16")
  for name, its_extractor in served.items():
    path = _exported(settings, name)
    write_saved_model(ServedModel(its_extractor), vocabulary, path)
  for name, bits in {TFLITE: "none", TFLITE_INT8: "dynamic"}.items():
    if name in peers:
      options = {"quantization": bits, "dynamic_length": True}
      extractor.export(_exported(settings, name), format="litert", **options)
  if not _PACKAGES.keys().isdisjoint(peers):
    directory = _exported(settings, TRANSFORMERS)
    save_huggingface(extractor, directory)
    if not {ONNXRUNTIME, ONNXRUNTIME_INT8, OPENVINO}.isdisjoint(peers):
      write_onnx(directory)
    if ONNXRUNTIME_INT8 in peers:
      write_int8(directory, _exported(settings, ONNXRUNTIME_INT8))
  return settings


def _exported(settings, name):
  suffix = ".tflite" if name in (TFLITE, TFLITE_INT8) else ""
  return os.path.join(settings.folder, name + suffix)


class Side:
  """The process of a side; `name` is STRINGS or one of PEERS."""

  def __init__(self, name, settings):
    context = multiprocessing.get_context("spawn")
    self._connection, other = context.Pipe()
    self._process = context.Process(
      target=_work, args=(other, name, settings), daemon=True
    )
    self._process.start()
    other.close()

  def answer(self, batch):
    """Returns the seconds and the answers of (questions, passages)."""
    self._connection.send(batch)
    return self._connection.recv()

  def close(self):
    """Ends the process."""
    self._connection.close()
    self._process.join()


def _work(connection, name, settings):
  """Answers batches until the connection is closed."""
  answer = _answer_function(name, settings)
  while True:
    try:
      batch = connection.recv()
    except EOFError:
      return
    begin = time.perf_counter()
    texts = answer(*batch)
    connection.send((time.perf_counter() - begin, texts))


def _answer_function(name, settings):
  """Returns a function from questions and passages to answers."""
  if name in (STRINGS, STRINGS_BFLOAT16):
    return _strings_function(_exported(settings, name))
  if name == EXTRACTOR:
    from bert_span.extractors.span_extractor import SpanExtractor

    return _texts_of(SpanExtractor.from_preset(settings.model))
  if name in (TFLITE, TFLITE_INT8):
    from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor

    cores = len(os.sched_getaffinity(0))
    path = _exported(settings, name)
    return _texts_of(TFLiteSpanExtractor(path, num_threads=cores))
  from benchmarks import huggingface_peer

  make_logits, exported = {
    LOGITS: (huggingface_peer.served_logits, STRINGS),
    TRANSFORMERS: (huggingface_peer.torch_logits, TRANSFORMERS),
    ONNXRUNTIME: (huggingface_peer.onnxruntime_logits, TRANSFORMERS),
    ONNXRUNTIME_INT8: (huggingface_peer.onnxruntime_logits, ONNXRUNTIME_INT8),
    OPENVINO: (huggingface_peer.openvino_logits, TRANSFORMERS),
  }[name]
  return huggingface_peer.HuggingFaceAnswerer(
    _exported(settings, TRANSFORMERS),
    make_logits(_exported(settings, exported)),
    settings.questions,
    settings.window_options,
    settings.decoder_options,
  ).answer


def _texts_of(extractor):
  def answer(questions, contexts):
    answers = extractor.answer(question=questions, context=contexts)
    return [answer.text for answer in answers]

  return answer


def _strings_function(saved_model):
  import tensorflow as tf
  import tensorflow_text  # noqa: F401 -- registers its ops

  model = tf.saved_model.load(saved_model)

  def answer(questions, contexts):
    answers = model.signatures["serving_default"](
      question=tf.constant(questions), context=tf.constant(contexts)
    )["answer"]
    return [text.decode() for text in answers.numpy()]

  return answer
