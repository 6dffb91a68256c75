"""BERTs of TensorFlow 2, as Model Garden and TF Hub write them.

The fast tests write files of the same layout. For the slow ones Model Garden
writes them, in the environment of the interpreter that
BERT_SPAN_MODEL_GARDEN_PYTHON names, which needs tf-models-official 2.20.
"""

import json
import os
import re
import subprocess
import sys

import kagglehub
import numpy as np
import pytest
import tensorflow as tf
import yaml
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.encoder import encode, encoder_config
from bert_span.presets.architectures import bert
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.encoder_weights import (
  load_tf1_checkpoint,
  original_weights,
)
from bert_span.presets.load_pretrained import load_original, load_pretrained
from tests.support.models import tiny_config
from tests.support.training import assert_same

_CONFIG = tiny_config(num_layers=2, num_heads=4)
_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"]
# The original's names -> paths of objects, names of variables.
_OUTSIDE = {
  "embeddings/word_embeddings": (
    "layer_with_weights-0/embeddings",
    "word_embeddings/embeddings",
  ),
  "embeddings/position_embeddings": (
    "layer_with_weights-1/embeddings",
    "position_embedding/embeddings",
  ),
  "embeddings/token_type_embeddings": (
    "layer_with_weights-2/embeddings",
    "type_embeddings/embeddings",
  ),
  "embeddings/LayerNorm": ("layer_with_weights-3", "embeddings/layer_norm"),
  "pooler/dense": ("layer_with_weights-6", "pooler_transform"),
}
_INSIDE = {
  "attention/self/query": (
    "_attention_layer/_query_dense",
    "self_attention/query",
  ),
  "attention/self/key": ("_attention_layer/_key_dense", "self_attention/key"),
  "attention/self/value": (
    "_attention_layer/_value_dense",
    "self_attention/value",
  ),
  "attention/output/dense": (
    "_attention_layer/_output_dense",
    "self_attention/attention_output",
  ),
  "attention/output/LayerNorm": (
    "_attention_layer_norm",
    "self_attention_layer_norm",
  ),
  "intermediate/dense": ("_intermediate_dense", "intermediate"),
  "output/dense": ("_output_dense", "output"),
  "output/LayerNorm": ("_output_layer_norm", "output_layer_norm"),
}
# Changes of the names of variables: those of 2020 and of 2019.
_NAMES_OF_2020 = [("self_attention/attention_output", "self_attention_output")]
_NAMES_OF_2019 = [
  *_NAMES_OF_2020,
  ("type_embeddings/embeddings", "embedding_postprocessor/type_embeddings"),
  (
    "position_embedding/embeddings",
    "embedding_postprocessor/position_embeddings",
  ),
  ("embeddings/layer_norm", "embedding_postprocessor/layer_norm"),
  ("transformer/", "encoder/"),
  ("^", "bert_model/"),
]


def layout(original):
  """The path of objects and the name of a variable of the original."""
  outside = original.startswith(("embeddings/", "pooler/"))
  if outside:
    path, name, table = "", "", _OUTSIDE
  else:
    number, original = re.match(r"encoder/layer_(\d+)/(.+)", original).groups()
    path = f"layer_with_weights-{int(number) + 4}/"
    name, table = f"transformer/layer_{number}/", _INSIDE
  if original in table:
    return table[original]
  layer, _, last = original.rpartition("/")
  return tuple(
    f"{start}{part}/{last}"
    for start, part in zip((path, name), table[layer], strict=True)
  )


@pytest.fixture(scope="module")
def tensors():
  """Random tensors with the original's names and shapes."""
  random = np.random.default_rng(0)
  return {
    name: random.normal(size=shape).astype("float32")
    for name, shape in original_weights(_CONFIG).values()
  }


@pytest.fixture(scope="module")
def reference(tensors, tmp_path_factory):
  """A prefix of the original's checkpoint, and the weights that are in it."""
  prefix = str(tmp_path_factory.mktemp("original") / "model.ckpt")
  tf.raw_ops.SaveV2(
    prefix=prefix,
    tensor_names=[f"bert/{name}" for name in tensors],
    shape_and_slices=[""] * len(tensors),
    tensors=list(tensors.values()),
  )
  return prefix, load_tf1_checkpoint(_CONFIG, prefix).backbone.weights


def place(root, path, value):
  """Sets root.a.b for the path "a/b"."""
  *parents, last = path.split("/")
  for parent in parents:
    if not hasattr(root, parent):
      setattr(root, parent, tf.Module())
    root = getattr(root, parent)
  setattr(root, last, value)


def encoder_of(tensors, changes=(), flat=False):
  """The objects of an encoder.

  Args:
    tensors: of the original.
    changes: pairs of patterns in the names of variables, and replacements.
    flat: whether all heads are in one axis.
  """
  root, heads, size = tf.Module(), _CONFIG.num_heads, 2
  for original, value in tensors.items():
    path, name = layout(original)
    for old, new in changes:
      name = re.sub(old, new, name)
    if "attention/self" in original and not flat:
      value = value.reshape(*value.shape[:-1], heads, size)
    elif original.endswith("attention/output/dense/kernel") and not flat:
      value = value.reshape(heads, size, -1)
    place(root, path, tf.Variable(value, name=name))
  return root


def span_labeler(tensors, kernel, bias):
  """The objects of Model Garden's BertSpanLabeler."""
  root = tf.Module()
  place(root, "layer_with_weights-0", encoder_of(tensors))
  for name, value in (("kernel", kernel), ("bias", bias)):
    name = f"predictions/transform/logits/{name}"
    variable = tf.Variable(value, name=name)
    path = f"span_labeling/layer_with_weights-0/{name.rpartition('/')[2]}"
    place(root, path, variable)
  return root


def write_checkpoint(prefix, **roots):
  """Writes an object-based checkpoint, and returns its prefix."""
  return tf.train.Checkpoint(**roots).write(str(prefix))


def write_folder(folder, name="bert_config.json"):
  """Writes a configuration and a vocabulary."""
  keys = bert.FILES.keys.items()
  values = {key: getattr(_CONFIG, field) for field, key in keys}
  (folder / name).write_text(json.dumps({**values, "hidden_act": "gelu"}))
  (folder / "vocab.txt").write_text("\n".join(_PIECES))
  return folder


def params(kind="bert", **changes):
  """The values of a params.yaml."""
  encoder = {
    "vocab_size": _CONFIG.vocabulary_size,
    "hidden_size": _CONFIG.hidden_dim,
    "num_layers": _CONFIG.num_layers,
    "num_attention_heads": _CONFIG.num_heads,
    "intermediate_size": _CONFIG.intermediate_dim,
    "max_position_embeddings": _CONFIG.max_sequence_length,
    "type_vocab_size": _CONFIG.num_segments,
    "hidden_activation": "gelu",
    "dropout_rate": 0.1,
    "attention_dropout_rate": 0.2,
    "embedding_size": None,
    "norm_first": False,
  }
  encoder = {"type": kind, kind: {**encoder, **changes}}
  return {"task": {"model": {"encoder": encoder}}, "trainer": {"steps": 3}}


@pytest.mark.parametrize(
  ("root", "changes", "flat"),
  [
    ("encoder", [], False),
    ("model", [("^", "bert_encoder_v2/")], False),
    ("encoder", _NAMES_OF_2020, False),
    ("model", _NAMES_OF_2019, True),
  ],
  ids=["today", "with a prefix", "2020", "2019"],
)
def test_a_checkpoint_gives_every_weight(
  tmp_path, tensors, reference, root, changes, flat
):
  encoder = encoder_of(tensors, changes, flat)
  prefix = write_checkpoint(tmp_path / "bert_model.ckpt", **{root: encoder})
  folder = write_folder(tmp_path)
  config_file = str(folder / "bert_config.json")
  for loaded in (load_original(config_file, prefix), load_pretrained(folder)):
    assert_same(loaded.backbone.weights, reference[1])
    assert (loaded.head_weights, loaded.lower_case) == ({}, None)
  assert loaded.vocabulary() == _PIECES
  assert encoder_config(loaded.backbone) == _CONFIG


def test_the_span_head_is_read_and_the_moments_of_an_optimizer_are_not(
  tmp_path, tensors, reference
):
  kernel = np.arange(16, dtype="float32").reshape(8, 2)
  bias = np.array([1.0, 2.0], "float32")
  model = span_labeler(tensors, kernel, bias)
  optimizer = tf.Module()
  optimizer.moment = tf.Variable(
    tf.ones([11, 8]), name="Adam/m/word_embeddings/embeddings"
  )
  slots = tf.compat.v1.train.AdamOptimizer()
  (variable,) = (
    v for v in model.variables if "layer_1/output/kernel" in v.name
  )
  slots.apply_gradients([(tf.ones_like(variable), variable)])
  variable.assign(tensors["encoder/layer_1/output/dense/kernel"])
  write_checkpoint(
    tmp_path / "ckpt-2",
    model=model,
    optimizer=optimizer,
    slots=slots,
  )
  (tmp_path / "params.yaml").write_text(yaml.dump(params()))
  loaded = load_pretrained(tmp_path)
  assert_same(loaded.backbone.weights, reference[1])
  head = loaded.head_weights["span_head"]
  np.testing.assert_array_equal(head["kernel"], kernel)
  np.testing.assert_array_equal(head["bias"], bias)
  config = encoder_config(loaded.backbone)
  assert (config.activation, config.attention_dropout) == ("gelu_new", 0.2)
  with pytest.raises(ValueError, match=r"no vocabulary.*vocab_file"):
    loaded.vocabulary()


def test_a_head_of_another_task_is_refused(tmp_path, tensors):
  kernel, bias = np.zeros([8, 3], "float32"), np.zeros(3, "float32")
  model = span_labeler(tensors, kernel, bias)
  write_checkpoint(write_folder(tmp_path) / "ckpt-1", model=model)
  with pytest.raises(ValueError, match=r"span_labeling.*\[8, 3\]"):
    load_pretrained(tmp_path)


def test_of_several_checkpoints_the_latest_is_read(
  tmp_path, tensors, reference
):
  zeros = {name: np.zeros_like(value) for name, value in tensors.items()}
  write_folder(tmp_path)
  for step, values in ((1, zeros), (2, tensors)):
    write_checkpoint(tmp_path / f"ckpt-{step}", encoder=encoder_of(values))
  with pytest.raises(ValueError, match=rf"{tmp_path}.* ckpt-1, ckpt-2"):
    load_pretrained(tmp_path)
  config_file = str(tmp_path / "bert_config.json")
  loaded = load_original(config_file, str(tmp_path / "ckpt-2"))
  assert_same(loaded.backbone.weights, reference[1])
  (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-2"\n')
  assert_same(load_pretrained(tmp_path).backbone.weights, reference[1])


@pytest.mark.parametrize("config", ["config.json", "bert_config.json"])
def test_a_folder_of_the_original_is_a_preset(tmp_path, reference, config):
  folder = write_folder(tmp_path, config)
  classes = {"model_type": "bert", "architectures": ["BertForMaskedLM"]}
  values = json.loads((folder / config).read_text())
  (folder / config).write_text(json.dumps({**values, **classes}))
  (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
  for ending in (".index", ".data-00000-of-00001"):
    os.symlink(reference[0] + ending, folder / f"model.ckpt{ending}")
  loaded = EncoderSource(preset=str(folder)).load()
  assert_same(loaded.backbone.weights, reference[1])
  assert (loaded.lower_case, loaded.vocabulary()) == (False, _PIECES)
  assert encoder_config(loaded.backbone) == _CONFIG


def write_saved_model(folder, root, activation=None, lower_case=True):
  """Saves objects with what TF Hub's models have beside them."""
  source = write_folder(folder.parent)
  root.vocab_file = tf.saved_model.Asset(str(source / "vocab.txt"))
  root.do_lower_case = tf.Variable(lower_case, trainable=False)
  activation = activation or (lambda x: tf.nn.gelu(x, approximate=True))

  @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
  def call(x):
    return tf.tanh(activation(x))

  root.call = call
  tf.saved_model.save(root, str(folder))
  return folder


@pytest.mark.parametrize(
  ("activation", "name"),
  [
    (None, "gelu_new"),
    (tf.nn.gelu, "gelu"),
    (tf.nn.relu, "relu"),
    (tf.nn.relu6, "relu6"),
  ],
  ids=["gelu_new", "gelu", "relu", "relu6"],
)
def test_a_saved_model_says_everything_itself(
  tmp_path, tensors, reference, activation, name
):
  folder = tmp_path / "model"
  lower_case = name != "relu"
  write_saved_model(folder, encoder_of(tensors), activation, lower_case)
  loaded = EncoderSource(preset=str(folder)).load()
  assert_same(loaded.backbone.weights, reference[1])
  assert loaded.vocabulary() == _PIECES
  assert loaded.vocabulary_path == str(folder / "assets" / "vocab.txt")
  assert (loaded.lower_case, loaded.head_weights) == (lower_case, {})
  config = encoder_config(loaded.backbone)
  assert config.activation == name
  assert (config.num_heads, config.num_layers) == (4, 2)


def test_a_saved_model_is_an_init_checkpoint_and_checks_the_case(
  tmp_path, tensors, reference
):
  folder = write_saved_model(tmp_path / "model", encoder_of(tensors))
  source = EncoderSource(
    bert_config_file=str(tmp_path / "bert_config.json"),
    init_checkpoint=str(folder),
    vocab_file=str(folder / "assets" / "vocab.txt"),
    do_lower_case=False,
  )
  loaded = source.load()
  assert_same(loaded.backbone.weights, reference[1])
  with pytest.raises(ValueError, match="do_lower_case=False"):
    source.lower_case(loaded)


def change_graph(folder, change):
  """Changes the protocol buffer of a SavedModel."""
  path = folder / "saved_model.pb"
  saved = SavedModel.FromString(path.read_bytes())
  change(saved.meta_graphs[0])
  path.write_bytes(saved.SerializeToString())


def test_nothing_in_a_saved_model_is_run(tmp_path, tensors, reference):
  folder = write_saved_model(tmp_path / "model", encoder_of(tensors))

  def add_operation(graph):
    for function in graph.graph_def.library.function:
      function.node_def.add(name="x", op="NoSuchOperation")

  change_graph(folder, add_operation)
  with pytest.raises(Exception, match="NoSuchOperation"):
    tf.saved_model.load(str(folder))
  assert_same(load_pretrained(folder).backbone.weights, reference[1])


def test_a_saved_model_comes_from_a_hub(
  tmp_path, model_hub, tensors, reference
):
  folder = write_saved_model(tmp_path / "model", encoder_of(tensors))
  model_hub.push("us/tiny", folder)
  loaded = load_pretrained("hf://us/tiny")
  assert_same(loaded.backbone.weights, reference[1])
  assert (loaded.vocabulary(), loaded.lower_case) == (_PIECES, True)
  (folder / "saved_model.pb").unlink()
  model_hub.push("us/tiny", folder)
  with pytest.raises(ValueError, match=r"hf://us/tiny .*saved_model\.pb"):
    load_pretrained("hf://us/tiny")


def test_a_saved_model_comes_from_kaggle(
  tmp_path, monkeypatch, tensors, reference
):
  folder = write_saved_model(tmp_path / "model", encoder_of(tensors))

  def download(handle, path):
    if not (folder / path).exists():
      raise ValueError(f"{path} is not present in the model files")
    return str(folder / path)

  monkeypatch.setattr(kagglehub, "model_download", download)
  name = "kaggle://us/bert/tensorFlow2/tiny"
  loaded = load_pretrained(name)
  assert_same(loaded.backbone.weights, reference[1])
  assert loaded.vocabulary() == _PIECES
  (folder / "saved_model.pb").unlink()
  with pytest.raises(ValueError, match=rf"{name}.*saved_model\.pb"):
    load_pretrained(name)


def test_a_saved_model_of_2019_needs_a_configuration_for_its_heads(
  tmp_path, tensors, reference
):
  root = encoder_of(tensors, _NAMES_OF_2019, flat=True)
  folder = write_saved_model(tmp_path / "model", root)
  with pytest.raises(ValueError, match=r"num_heads.*bert_config_file"):
    load_pretrained(folder)
  loaded = load_original(str(tmp_path / "bert_config.json"), str(folder))
  assert_same(loaded.backbone.weights, reference[1])


def with_projection(root):
  variable = tf.Variable(tf.ones([4, 8]), name="embedding_projection/kernel")
  place(root, "layer_with_weights-7/kernel", variable)
  return root


def with_shared_layer(root):
  name = "transformer/self_attention/query/kernel"
  place(root, "layer_with_weights-7/kernel", tf.Variable([1.0], name=name))
  return root


@pytest.mark.parametrize(
  ("change", "message"),
  [
    (with_projection, "embedding_projection/kernel"),
    (with_shared_layer, "transformer/self_attention/query/kernel"),
    (lambda root: tf.Module(), "preprocessor"),
  ],
  ids=["ELECTRA", "ALBERT", "preprocessor"],
)
def test_what_is_no_bert_is_refused_by_name(tmp_path, tensors, change, message):
  folder = tmp_path / "model"
  write_saved_model(folder, change(encoder_of(tensors)))
  with pytest.raises(ValueError, match=rf"{folder}.*{message}"):
    load_pretrained(folder)


def test_two_encoders_are_refused(tmp_path, tensors):
  roots = {name: encoder_of(tensors) for name in ("teacher", "student")}
  write_checkpoint(write_folder(tmp_path) / "ckpt-1", **roots)
  with pytest.raises(ValueError, match=r"two encoders.*teacher"):
    load_pretrained(tmp_path)


def test_another_number_of_heads_is_refused(tmp_path, tensors):
  write_checkpoint(tmp_path / "ckpt-1", encoder=encoder_of(tensors))
  path = tmp_path / "params.yaml"
  path.write_text(yaml.dump(params(num_attention_heads=2)))
  with pytest.raises(ValueError, match=r"4 attention heads.*2"):
    load_pretrained(tmp_path)


@pytest.mark.parametrize(
  ("values", "message"),
  [
    (params("mobilebert"), "type.*mobilebert"),
    (params(norm_first=True), "norm_first.*True"),
    (params(embedding_size=4), "embedding_size.*4"),
    (params(output_range=1), "output_range.*1"),
    (params(hidden_activation="swish"), "hidden_activation.*swish"),
    (params(vocab_size=None), "vocab_size.*None"),
    ({"task": {}}, "task.model.encoder"),
    ([1], "task.model.encoder"),
  ],
  ids=lambda value: value if isinstance(value, str) else "",
)
def test_parameters_of_another_encoder_are_refused(tmp_path, values, message):
  path = tmp_path / "params.yaml"
  path.write_text(yaml.dump(values))
  with pytest.raises(ValueError, match=rf"{path}: .*{message}"):
    load_original(str(path))


_LISTS = "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(60))


@pytest.mark.parametrize(
  "text",
  [
    *("task: [", "a: !!python/object:os.x", "\t"),
    f"a0: &a0 [1]\n{_LISTS}"
    "task: {model: {encoder: {type: bert, bert: {vocab_size: *a60}}}}",
  ],
  ids=["open", "object", "tab", "many lists"],
)
def test_what_is_no_plain_yaml_is_refused(tmp_path, text):
  path = tmp_path / "params.yaml"
  path.write_text(text)
  with pytest.raises(ValueError, match=str(path)):
    load_original(str(path))


def test_a_saved_model_with_norms_before_layers_is_refused(tmp_path, tensors):
  folder = write_saved_model(tmp_path / "model", encoder_of(tensors))
  (folder / "keras_metadata.pb").write_text('{"norm_first": true}')
  with pytest.raises(ValueError, match="norm_first"):
    load_pretrained(folder)


def test_a_saved_model_with_another_activation_is_refused(tmp_path, tensors):
  folder = tmp_path / "model"
  write_saved_model(folder, encoder_of(tensors), tf.nn.silu)
  with pytest.raises(ValueError, match="activation"):
    load_pretrained(folder)


def test_a_saved_model_of_tensorflow_1_is_refused(tmp_path, reference):
  folder = write_saved_model(tmp_path / "model", tf.Module())
  for ending in (".index", ".data-00000-of-00001"):
    path = folder / "variables" / f"variables{ending}"
    path.unlink()
    os.symlink(reference[0] + ending, path)
  with pytest.raises(ValueError, match="TensorFlow 1"):
    load_pretrained(folder)


def test_damaged_saved_models_are_refused(tmp_path, tensors):
  folder = write_saved_model(tmp_path / "model", encoder_of(tensors))
  weights = folder / "variables" / "variables.data-00000-of-00001"
  graph, content = folder / "saved_model.pb", weights.read_bytes()

  def rename_asset(graph):
    graph.asset_file_def[0].filename = "../../secret.txt"

  def lose_asset(graph):
    del graph.asset_file_def[:]

  saved = graph.read_bytes()
  for change in (rename_asset, lose_asset):
    change_graph(folder, change)
    with pytest.raises(ValueError, match=f"{folder}.*vocab_file"):
      load_pretrained(folder)
    graph.write_bytes(saved)
  for damaged in (b"", b"\0" * 20, saved[:100]):
    graph.write_bytes(damaged)
    with pytest.raises(ValueError, match=str(graph)):
      load_pretrained(folder)
  graph.write_bytes(saved)
  weights.write_bytes(content[: len(content) // 2])
  with pytest.raises(ValueError, match=str(folder)):
    load_pretrained(folder)
  weights.unlink()
  with pytest.raises(ValueError, match=str(folder)):
    load_pretrained(folder)


# Folders of tests/scripts/model_garden_files.py whose models are read.
_CHECKPOINTS = ["converted", "encoder", "model", "question_answering", "squad"]
_SAVED_MODELS = [
  *("hub", "hub_cased", "hub_v2", "hub_mlm", "hub_relu", "hub_erf"),
  *("hub_lists", "served"),
]


@pytest.fixture(scope="module")
def written(repository, tmp_path_factory):
  """The folder of files that Model Garden wrote, and what it computes."""
  python = os.environ.get("BERT_SPAN_MODEL_GARDEN_PYTHON", sys.executable)
  find = "import importlib.util as u; u.find_spec('official.nlp').name"
  if subprocess.run([python, "-c", find], capture_output=True).returncode:
    pytest.skip("needs tf-models-official in BERT_SPAN_MODEL_GARDEN_PYTHON")
  folder = tmp_path_factory.mktemp("model_garden")
  script = repository / "tests/scripts/model_garden_files.py"
  # Its Keras is tf_keras, and it must not see this checkout.
  environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
  subprocess.run([python, script, folder], check=True, env=environment)
  return folder, dict(np.load(folder / "expected.npz"))


@pytest.mark.large
@pytest.mark.parametrize("name", ["tf1", *_CHECKPOINTS, *_SAVED_MODELS])
def test_logits_are_those_of_model_garden(written, name):
  folder, expected = written
  loaded = load_pretrained(folder / name)
  inputs = {
    "token_ids": expected["input_word_ids"],
    "segment_ids": expected["input_type_ids"],
    "padding_mask": expected["input_mask"],
  }
  sequence = encode(loaded.backbone, inputs)
  if f"{name}/sequence" in expected:
    outputs = {"sequence": sequence}
    assert loaded.head_weights == {}
  else:
    head = loaded.head_weights["span_head"]
    logits = sequence @ head["kernel"] + head["bias"]
    outputs = {"start": logits[..., 0], "end": logits[..., 1]}
  for part, output in outputs.items():
    np.testing.assert_allclose(
      output, expected[f"{name}/{part}"], rtol=0, atol=1e-5
    )
  if name != "served":
    assert loaded.vocabulary()[-1] == "##a"
  case = {"hub_cased": False} if name in _SAVED_MODELS else {}
  known = name.startswith("hub")
  assert loaded.lower_case is (case.get(name, True) if known else None)


@pytest.mark.large
def test_a_model_of_its_question_answering_answers(written):
  extractor = SpanExtractor.from_preset(
    str(written[0] / "question_answering"),
    max_seq_length=10,
    max_query_length=3,
    doc_stride=1,
  )
  context = "c D e f g h"
  answer = extractor.answer("a b", context)
  assert answer.text == context[answer.char_start : answer.char_end] != ""


@pytest.mark.large
@pytest.mark.parametrize(
  ("name", "message"),
  [
    ("projected", "embedding_projection"),
    ("norm_first", "norm_first"),
    ("albert", "transformer/intermediate"),
    ("preprocess", "preprocessor"),
    ("hub_swish", "activation"),
  ],
)
def test_other_models_of_model_garden_are_refused(written, name, message):
  with pytest.raises(ValueError, match=rf"{written[0] / name}.*{message}"):
    load_pretrained(written[0] / name)


@pytest.mark.large
@pytest.mark.parametrize("name", ["converted", "model"])
def test_the_fast_tests_have_the_layout_of_model_garden(written, name):
  keys = json.loads((written[0] / "keys.json").read_text())[name]
  found = {
    (key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"), variable)
    for key, variable in keys
    if key.count("/") > 2
  }
  root = "encoder" if name == "converted" else name
  expected = {
    layout(original) for original, _ in original_weights(_CONFIG).values()
  }
  assert found == {(f"{root}/{path}", variable) for path, variable in expected}
