"""Small random models, and what is exported from them."""

import atexit
import contextlib
import dataclasses
import functools
import io
import json
import pathlib
import shutil
import subprocess
import tempfile

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span.answers.decoding.options import StepOptions
from bert_span.client.predict_api import rows_of_columns
from bert_span.client.served_answer import prediction_of_row
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import build_encoder, encode, layer_calls
from bert_span.modeling.inference_encoder import InferenceEncoder
from bert_span.modeling.keras_internals import lora_products
from bert_span.presets.span_config import CONFIG_FILE
from bert_span.serving import fresh_process, verification
from bert_span.serving.signatures import ServedModel, write_saved_model
from bert_span.squad.example import SquadExample
from bert_span.squad.options import FULL
from bert_span.squad.sample_examples import sample_examples
from bert_span.text.byte_pair_tokenizer import BYTES
from bert_span.text.options import WindowOptions
from bert_span.text.sentencepiece_model import (
  CONTROL,
  PIECE_FAMILIES,
  UNKNOWN,
  ModelProto,
  sentence_pieces,
)
from bert_span.text.vocabulary import (
  AddedToken,
  BytePairs,
  ExtendedVocabulary,
  ModernBertPairs,
)
from bert_span.tflite import file as tflite_file
from bert_span.tflite.export import tflite_content
from bert_span.tflite.options import TFLiteOptions
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor

IDS = np.array([[1, 2, 3, 4, 0, 0], [5, 6, 7, 8, 9, 10]], "int32")
INPUTS = {
  "token_ids": IDS,
  "segment_ids": np.array([[0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]], "int32"),
  "padding_mask": (IDS > 0).astype("int32"),
}

# As the released MobileBERT, but small.
MOBILEBERT = {
  "activation": "relu",
  "embedding_dim": 8,
  "trigram_input": True,
  "use_bottleneck": True,
  "intra_bottleneck_size": 12,
  "key_query_shared_bottleneck": True,
  "num_feedforward_networks": 2,
  "normalization_type": "no_norm",
  "outer_norm_epsilon": 1e-5,
}
# Four calls of two groups' layers, three in each call.
ALBERT = {
  "num_layers": 4,
  "num_groups": 2,
  "num_inner_repetitions": 3,
  "embedding_dim": 6,
}
# A global and a local layer, and a window that is shorter than texts.
MODERNBERT = {"num_layers": 2, "sliding_window_size": 8}


def tiny_config(**changes):
  sizes = {"vocabulary_size": 11, "num_layers": 1, "num_heads": 2}
  sizes |= {"hidden_dim": 8, "intermediate_dim": 16, "num_segments": 2}
  sizes |= {"max_sequence_length": 6}
  architecture = changes.get("architecture", "bert")
  if architecture == "deberta-v2":
    sizes["position_buckets"] = 4
  return ARCHITECTURES[architecture].config(**{**sizes, **changes})


def tiny_encoder(dtype=None, **changes):
  return build_encoder(tiny_config(**changes), dtype)


def varied_encoder(dtype=None, **changes):
  """An encoder for 20 tokens in which no weight is 0 or 1, biases included."""
  keras.utils.set_random_seed(0)
  sizes = {"vocabulary_size": 50, "num_segments": 3, "num_layers": 2}
  sizes |= {"num_heads": 4, "hidden_dim": 32, "max_sequence_length": 20}
  backbone = tiny_encoder(dtype, **sizes | changes)
  rng = np.random.default_rng(0)
  for weight in backbone.weights:
    weight.assign(weight + rng.normal(0, 0.1, weight.shape))
  return backbone


def assert_computed_for_inference(backbone):
  """Compares a `varied_encoder` with its encoder for inference."""
  rng = np.random.default_rng(1)
  mask = np.arange(20) < np.array([[20], [13], [1]])
  # Padding has ids, too, so that nothing but the mask hides it.
  inputs = {
    "token_ids": rng.integers(0, 50, mask.shape, np.int32),
    "segment_ids": rng.integers(0, 3, mask.shape, np.int32),
    "padding_mask": mask.astype(np.int32),
  }
  expected, given = encode(backbone, inputs), InferenceEncoder(backbone)(inputs)
  assert (given.dtype, given.shape) == (expected.dtype, expected.shape)
  given, expected = (
    tf.cast(x, tf.float32).numpy()[mask] for x in (given, expected)
  )
  assert np.abs(expected).max() > 0.5  # there is something to compare
  # How far half a precision may be from itself in another order of sums: two
  # steps of numbers up to 4.
  atol = {"bfloat16": 2**-5, "float16": 2**-8}.get(backbone.compute_dtype, 1e-5)
  np.testing.assert_allclose(given, expected, atol=atol, rtol=0)


def assert_adapters_are_added_for_inference(backbone):
  """The same of a `varied_encoder` with LoRA."""
  backbone.enable_lora(2)
  adapters = [w for w in backbone.weights if "lora" in w.path]
  assert adapters
  for weight in adapters:
    weight.assign(keras.random.normal(weight.shape, stddev=0.3, seed=1))
  assert_computed_for_inference(backbone)


VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
  *("the", "mill", "was", "built", "by", "anna", "in", "1895", "near", "river"),
  *("who", "when", "cafe", "日", "🙂", "##s", ".", "?", ","),
]
CONTEXT = "The mill was built by Anna in 1895, near the river."
# Bytes, and the results of two merges.
BYTE_PAIRS = BytePairs(
  ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *BYTES, "in", "Ġin"],
  ["i n", "Ġ in"],
)
# Bytes, the result of a merge, and a token that is found before words are.
MODERNBERT_PAIRS = ExtendedVocabulary(
  ModernBertPairs(
    ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", *BYTES, "in", "  "],
    ["i n"],
  ),
  (AddedToken("  ", normalized=True),),
)
_LETTERS = "abcdefghijklmnopqrstuvwxyzTAWE1895.,?日"


def tiny_pieces(family):
  """`SentencePieces` of letters and some words."""
  model = ModelProto()
  names = ("<unk>", "<s>", "</s>")
  if family == "deberta-v2":
    names = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
  elif family == "albert":
    names = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
  for name in names:
    model.pieces.add(piece=name, type=CONTROL)
  unknown = names.index(PIECE_FAMILIES[family].unknown)
  model.pieces[unknown].type = UNKNOWN
  model.trainer_spec.unk_id = unknown
  for token in ("\u2581", *_LETTERS, "\u2581the", "\u2581in", "\u2581mill"):
    model.pieces.add(piece=token, score=-5.0)
  return sentence_pieces(model.SerializeToString(), family, "tiny_pieces")


@functools.cache
def trained_pieces(family, texts=(), **options):
  """`SentencePieces` that the package sentencepiece trains with `options`."""
  sentencepiece = pytest.importorskip("sentencepiece")
  content, size = io.BytesIO(), 3000 if texts else 40
  special = {"unk_id": 0, "bos_id": 1, "eos_id": 2}
  if family == "deberta-v2":
    special = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
    names = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
    special |= {f"{name}_piece": piece for name, piece in names.items()}
  elif family == "albert":
    special = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1}
    special |= {"control_symbols": ["[CLS]", "[SEP]", "[MASK]"]}
    special |= {"user_defined_symbols": [*'()"-.–£€']}
    size += 8
  sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter([CONTEXT, QUESTION, "It's in Café 日本.", *texts]),
    model_writer=content,
    vocab_size=size,
    hard_vocab_limit=not texts,
    minloglevel=2,
    **special,
    **options,
  )
  return sentence_pieces(content.getvalue(), family, "trained_pieces")


_WINDOW_OPTIONS = WindowOptions(32, 8, 8)
QUESTION = "Who built the mill?"


def tiny_extractor(
  version_2=False,
  window_options=_WINDOW_OPTIONS,
  fixed_length=False,
  do_lower_case=True,
  seed=7,
  kind=SpanExtractor,
  vocabulary=VOCABULARY,
  **encoder,
):
  """One layer, logits that differ clearly; with version_2 "no answer" too."""
  keras.utils.set_random_seed(seed)
  backbone = tiny_encoder(
    **{"intermediate_dim": 32, **encoder},
    vocabulary_size=len(getattr(vocabulary, "tokens", vocabulary)),
    hidden_dim=16,
    max_sequence_length=window_options.max_seq_length,
  )
  extractor = kind(
    backbone,
    kind.preprocessor_class(
      vocabulary, do_lower_case, window_options, pad_to_max=fixed_length
    ),
    kind.decoder_class.options_type(version_2_with_negative=version_2),
  )
  rng = np.random.default_rng(seed)
  for weight in backbone.weights:
    if "embedding" in weight.path and len(weight.shape) == 2:
      weight.assign(rng.normal(size=weight.shape))
  kernel = extractor.head.kernel
  kernel.assign(3 * rng.normal(size=kernel.shape))
  return extractor


def shared_extractor(version_2=False, kind=SpanExtractor):
  """A `tiny_extractor` that tests share and do not change."""
  return _made_once(version_2, kind)


_SHARED_WEIGHTS = []


@functools.cache
def _made_once(version_2, kind):
  """One for equal arguments, whichever of them a test names."""
  extractor = tiny_extractor(version_2, kind=kind)
  _SHARED_WEIGHTS.append((extractor, extractor.get_weights()))
  return extractor


def assert_shared_are_unchanged():
  """Checks that no test has trained a `shared_extractor` or read into it."""
  for extractor, weights in _SHARED_WEIGHTS:
    for weight, expected in zip(extractor.weights, weights, strict=True):
      np.testing.assert_array_equal(weight, expected, weight.path)


@functools.cache
def shared_model(version_2=False, kind=SpanExtractor):
  """The directory of a `shared_extractor`, which tests do not change."""
  directory = new_folder() / "model"
  shared_extractor(version_2, kind).save_to_preset(directory)
  return directory


def extractor_of(architecture, **options):
  """A new `tiny_extractor` of an architecture, by its name."""
  if architecture == "roberta":
    options = {
      "window_options": WindowOptions(96, 40, 32),
      "vocabulary": BYTE_PAIRS,
      **options,
    }
  elif architecture == "modernbert":
    options = {
      "window_options": WindowOptions(96, 40, 32),
      "vocabulary": MODERNBERT_PAIRS,
      **MODERNBERT,
      **options,
    }
  elif architecture in PIECE_FAMILIES:
    options = {
      "window_options": WindowOptions(96, 40, 32),
      "vocabulary": tiny_pieces(architecture),
      **options,
    }
    if architecture == "deberta-v2":
      options = {"position_buckets": 64, **options}
    elif architecture == "albert":
      # A layer that is called twice.
      options = {"num_layers": 2, "embedding_dim": 16, **options}
  elif architecture == "electra":
    options["embedding_dim"] = 8
  elif architecture == "mobilebert":
    options = {**MOBILEBERT, **options}
  return tiny_extractor(architecture=architecture, **options)


def with_lora(architecture, **options):
  """An extractor with LoRA in some layers and in the table of tokens."""
  extractor = extractor_of(architecture, **options)
  backbone, rng = extractor.backbone, np.random.default_rng(3)
  backbone.enable_lora(2)
  backbone.token_embedding.enable_lora(3, lora_alpha=6)
  layer, *_ = layer_calls(backbone)
  layer._self_attention_layer._output_dense.enable_lora(2)
  for _, _, *factors in lora_products(extractor):
    for factor in factors:
      factor.assign(0.3 * rng.normal(size=factor.shape))
  return extractor


@contextlib.contextmanager
def eagerly():
  """Runs models op by op: sooner than a graph is made, for few questions."""
  tf.config.run_functions_eagerly(True)
  try:
    yield
  finally:
    tf.config.run_functions_eagerly(False)


def new_folder():
  """A folder that exists until the process ends."""
  folder = pathlib.Path(tempfile.mkdtemp())
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  return folder


@functools.cache
def served_model(kind):
  """A ServedModel, three windows at once, and its SpanExtractor."""
  extractor = tiny_extractor(version_2=True, kind=kind)
  return ServedModel(extractor, StepOptions(3)), extractor


@functools.cache
def exported_model(kind):
  """The directory of the SavedModel of `served_model`, and the extractor."""
  served, extractor = served_model(kind)
  directory = str(new_folder() / "1")
  vocabulary = extractor.preprocessor.tokenizer.vocabulary
  write_saved_model(served, vocabulary, directory)
  return directory, extractor


def few_samples():
  """Ten of the questions on which exports are compared."""
  examples = sample_examples(FULL)
  return [*examples[:4], *examples[-6:]]


def ask_here(command, input, **options):
  """A subprocess.run of fresh_process.py that asks in this process."""
  reply = fresh_process.answer_batches(**json.loads(input))
  stdout = json.dumps(reply, default=bytes.decode)
  return subprocess.CompletedProcess(command, 0, stdout)


def ask(server, questions, contexts):
  """The columns of a batch, strings or bytes, as arrays."""
  columns = server.functions["serving_default"](
    tf.constant(questions, tf.string, [len(questions)]),
    tf.constant(contexts, tf.string, [len(contexts)]),
  )
  return {name: values.numpy() for name, values in columns.items()}


def check_columns(columns, extractor, questions, contexts, tolerance=1e-4):
  """Compares columns with predictions, lists included; returns these."""
  examples = list(map(SquadExample, questions, questions, contexts))
  predictions = list(extractor.predictions(examples))
  values = {name: array.tolist() for name, array in columns.items()}
  rows = rows_of_columns(values)
  for row, prediction, context in zip(rows, predictions, contexts, strict=True):
    expected = extractor.columns.expected_row(prediction)
    assert verification._compare_rows(expected, row, tolerance)[0] == []
    served = prediction_of_row(row, context)  # texts are at their characters
    for span in (served.answer, *served.n_best):
      in_bytes = context.encode()[span.byte_start : span.byte_end]
      assert in_bytes.decode() == span.text
    for values in row.values():
      if isinstance(values, list):
        assert not any(values[len(served.n_best) :])  # padding
  return predictions


@functools.cache
def exported_tflite(
  kind=SpanExtractor, quantization="none", dynamic_length=False, **decoder
):
  """The path of a TFLite file, and the SpanExtractor it was made of.

  Questions may be unanswerable. `decoder` has other decoding options.
  """
  extractor = shared_extractor(version_2=True, kind=kind)
  if decoder:
    options = dataclasses.replace(extractor.decoder_options, **decoder)
    extractor = SpanExtractor(
      extractor.backbone, extractor.preprocessor, options, extractor.head
    )
  path = new_folder() / "tiny.tflite"
  options = TFLiteOptions(quantization, dynamic_length)
  path.write_bytes(tflite_content(extractor, options))
  return str(path), extractor


@functools.cache
def opened_tflite(**file):
  """The extractor of an `exported_tflite`, whose graphs are traced once."""
  return TFLiteSpanExtractor(exported_tflite(**file)[0])


def parsed(path):
  """The model in a TFLite file."""
  return tflite_file.parse(pathlib.Path(path).read_bytes())


def with_files_of(path, content=None, **changes):
  """A model, or that of the file, with its files and a changed span_config."""
  config = tflite_file.read_packed_config(path)
  if content is None:
    size = config["tflite"]["model_bytes"]
    content = pathlib.Path(path).read_bytes()[:size]
  config["tflite"].update(tflite_file.fingerprint(content))
  files = tflite_file.read_files(path)
  files[CONFIG_FILE] = json.dumps({**config, **changes}).encode("utf-8")
  return tflite_file.with_files(content, files)


# Fields of span_config.json, and values that no runner takes.
_WRONG_VALUES = {
  "format": [2, "1"],
  "head": ["other", 5, ["span"]],
  "do_lower_case": ["yes", "true", 1, None, [True]],
  "window.max_seq_length": [8, 33, 10**9, "32", None],
  "window.doc_stride": [None, 0, -1, 1.5, "8", 2**31],
  "window.max_query_length": [-1, None, 10**9, [8]],
  "decoder.n_best_size": [0, 2.5, 10_001, "20", None],
  "decoder.max_answer_length": [0, None, "30", 2**31],
  "decoder.version_2_with_negative": ["yes", 0, None],
  "decoder.null_score_diff_threshold": ["0", None, [0.0]],
  "decoder.span_score": ["other", 1, None],
  "decoder.temperature": [0, -1.0, 1e-310, 1001, "1", [2.0]],
  "decoder.log_odds_shift": [501, -800, "1", None, [1.0], {}],
  "tflite.max_length": [0, 10**9, "32", None],
  "tflite.model_bytes": [0, -1, 10**10, "all", None],
  "tflite.model_sha256": [5, None],
  "tflite.vocabulary_sha256": [5, ["a"], None],
  "tflite.dynamic_length": ["no", 0, None],
}


def with_wrong_values(path):
  """Yields (field, bytes) of copies of a file, each with one wrong value."""
  for field, values in _WRONG_VALUES.items():
    *part, name = field.split(".")
    for value in values:
      changes = {name: value}
      if part:
        changes = {part[0]: tflite_file.read_packed_config(path)[part[0]]}
        changes[part[0]][name] = value
      yield name, with_files_of(path, **changes)


def with_nan_weights(path):
  """The bytes of a TFLite file with NaN in the matrices of an encoder layer."""
  model = parsed(path)
  for buffer in model.buffers:
    # float32 [32, 16]
    if buffer.data is not None and len(buffer.data) == 4 * 32 * 16:
      buffer.data = np.full(32 * 16, np.nan, np.float32).view(np.uint8)
  return with_files_of(path, tflite_file.pack(model))
