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
products      no answers: the matrix products of the windows of strings
"""

import dataclasses
import functools
import importlib.util
import multiprocessing
import os
import time

STRINGS, LOGITS, TRANSFORMERS = "strings", "logits", "transformers"
ONNXRUNTIME, OPENVINO = "onnxruntime", "openvino"
EXTRACTOR, TFLITE, PRODUCTS = "extractor", "tflite", "products"
# PyTorch writes the weights for all sides that use transformers' tokenizer.
_CLIENT = ("torch", "transformers")
_PACKAGES = {
  LOGITS: _CLIENT,
  TRANSFORMERS: _CLIENT,
  ONNXRUNTIME: (*_CLIENT, "onnx", "onnxruntime"),
  OPENVINO: (*_CLIENT, "onnx", "openvino"),
}
PEERS = (
  *(LOGITS, TRANSFORMERS, ONNXRUNTIME, OPENVINO),
  *(EXTRACTOR, TFLITE, PRODUCTS),
)


@dataclasses.dataclass(frozen=True)
class SideSettings:
  """What the process of a side needs."""

  model: str  # The model directory.
  saved_model: str  # Directory of the exported version.
  tflite: str  # The exported file.
  huggingface: str  # Directory of the weights for transformers and as ONNX.
  answerer: dict  # More arguments of `HuggingFaceAnswerer`.


def missing_packages(name):
  """The packages that a side needs and that are not installed."""
  packages = _PACKAGES.get(name, ())
  return [name for name in packages if not importlib.util.find_spec(name)]


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
    """Answers a batch, a pair of lists of questions and passages.

    Returns:
      Seconds, list of answers, and number of windows; None if the side does
      not report it.
    """
    self._connection.send(batch)
    return self._connection.recv()

  def close(self):
    """Ends the process."""
    self._connection.close()
    self._process.join()


def _work(connection, name, settings):
  """Answers batches until the connection is closed."""
  answer = _answer_function(name, settings)
  prepare = _shapes_function(settings) if name == PRODUCTS else lambda *b: b
  while True:
    try:
      batch = connection.recv()
    except EOFError:
      return
    batch = prepare(*batch)
    begin = time.perf_counter()
    texts, windows = answer(*batch)
    connection.send((time.perf_counter() - begin, texts, windows))


def _answer_function(name, settings):
  if name == STRINGS:
    return _strings_function(settings.saved_model)
  if name == EXTRACTOR:
    from bert_span.extractor import SpanExtractor

    return _answers_of(SpanExtractor.from_preset(settings.model))
  if name == PRODUCTS:
    return _products_function(settings)
  if name == TFLITE:
    from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor

    cores = len(os.sched_getaffinity(0))
    return _answers_of(TFLiteSpanExtractor(settings.tflite, num_threads=cores))
  from benchmarks import huggingface_peer

  make_logits, directory = {
    LOGITS: (huggingface_peer.served_logits, settings.saved_model),
    TRANSFORMERS: (huggingface_peer.torch_logits, settings.huggingface),
    ONNXRUNTIME: (huggingface_peer.onnxruntime_logits, settings.huggingface),
    OPENVINO: (huggingface_peer.openvino_logits, settings.huggingface),
  }[name]
  return huggingface_peer.HuggingFaceAnswerer(
    settings.huggingface, make_logits(directory), **settings.answerer
  ).answer


def _products_function(settings):
  from benchmarks.bare_products import BareProducts
  from bert_span.presets.load_pretrained import load_pretrained

  products = BareProducts(load_pretrained(settings.model).backbone)

  def multiply(*shapes):
    for shape in shapes:
      products(*shape)
    return None, None

  return multiply


def _shapes_function(settings):
  """A function from a batch to the shapes of the encoder's inputs."""
  from bert_span.extractor import SpanExtractor

  from benchmarks.bare_products import step_shapes
  from bert_span.answers.decoding.options import StepOptions

  extractor = SpanExtractor.from_preset(settings.model)
  steps = StepOptions(settings.answerer["max_windows_per_step"])
  return functools.partial(step_shapes, extractor, steps)


def _answers_of(extractor):
  def answer(questions, contexts):
    answers = extractor.answer(question=questions, context=contexts)
    return [answer.text for answer in answers], None

  return answer


def _strings_function(saved_model):
  import tensorflow as tf
  import tensorflow_text  # noqa: F401 -- registers its ops

  model = tf.saved_model.load(saved_model)

  def answer(questions, contexts):
    answers = model.signatures["serving_default"](
      question=tf.constant(questions), context=tf.constant(contexts)
    )["answer"]
    return [text.decode() for text in answers.numpy()], None

  return answer


def prepare_sides(
  model, extractor, questions, max_windows_per_step, folder, peers
):
  """Exports a model for all sides.

  Args:
    model: the model directory.
    extractor: its `SpanExtractor`.
    questions: list of str, see `HuggingFaceAnswerer`.
    max_windows_per_step: windows per step of the encoder.
    folder: an existing folder for the exports.
    peers: names of the sides other than strings.

  Returns:
    `SideSettings`.
  """
  from benchmarks.huggingface_peer import write_huggingface_model
  from bert_span.answers.decoding.options import StepOptions
  from bert_span.serving.signatures import ServedModel, write_saved_model
  from bert_span.tflite.export import TFLiteOptions, tflite_content

  saved_model = os.path.join(folder, "saved_model")
  vocabulary = extractor.preprocessor.tokenizer.vocabulary
  steps = StepOptions(max_windows_per_step)
  write_saved_model(ServedModel(extractor, steps), vocabulary, saved_model)
  tflite = os.path.join(folder, "model.tflite")
  options = TFLiteOptions(quantization="none", dynamic_length=True)
  with open(tflite, "wb") as file:
    file.write(tflite_content(extractor, options))
  huggingface = os.path.join(folder, "huggingface")
  os.mkdir(huggingface)
  if not _PACKAGES.keys().isdisjoint(peers):
    with_onnx = not {ONNXRUNTIME, OPENVINO}.isdisjoint(peers)
    write_huggingface_model(extractor, huggingface, with_onnx)
  answerer = {
    "max_seq_length": extractor.window_options.max_seq_length,
    "doc_stride": extractor.window_options.doc_stride,
    "questions": questions,
    "max_windows_per_step": max_windows_per_step,
    "n_best_size": extractor.decoder_options.n_best_size,
    "max_answer_length": extractor.decoder_options.max_answer_length,
  }
  return SideSettings(model, saved_model, tflite, huggingface, answerer)
