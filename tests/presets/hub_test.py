"""Models come by their names from a hub, with what is read of them."""

import json
import sys
import types

import huggingface_hub
import kagglehub
import keras_hub
import numpy as np
import pytest
from huggingface_hub import constants

from bert_span import SpanExtractor
from bert_span.presets import hub
from bert_span.presets.directory_tokenizer import TOKENIZER_FILES
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.presets.load_pretrained import load_pretrained
from tests.support.hub import use_endpoint, write_pickled_model
from tests.support.models import (
  CONTEXT,
  QUESTION,
  shared_extractor,
  shared_model,
)
from tests.support.training import assert_same

_NAME = "hf://us/tiny"
_ASKED_ONCE = ["GET /api/models/us/tiny"]
_SIZES = {"max_seq_length": 30, "doc_stride": 8, "max_query_length": 10}
_OTHERS = dict.fromkeys(
  (
    *(
      "tf_model.h5",
      "flax_model.msgpack",
      "rust_model.ot",
      "training_args.bin",
    ),
    *("onnx/model.onnx", "onnx/config.json", "1_Pooling/config.json"),
    *("checkpoint-5/model.safetensors", "model.fp16.safetensors", "run.py"),
  ),
  b"not read",
)
_BIN = dict.fromkeys(("pytorch_model.bin", "optimizer.bin"), b"not read")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
  """The files of a small model of transformers."""
  directory = tmp_path_factory.mktemp("theirs") / "model"
  save_huggingface(shared_extractor(), directory)
  return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture
def sleeps(monkeypatch):
  """What the client would sleep between attempts."""
  waited = []
  for module in (
    "huggingface_hub.utils._http",
    "huggingface_hub.file_download",
  ):
    monkeypatch.setattr(f"{module}.time.sleep", waited.append)
  return waited


@pytest.mark.usefixtures("eager")
def test_a_model_of_transformers_is_read_by_its_name(model_hub, theirs):
  model_hub.push("us/tiny", {**theirs, **_OTHERS, **_BIN})
  extractor = SpanExtractor.from_preset(_NAME, **_SIZES)
  assert model_hub.taken() == sorted(theirs)
  assert_same(extractor.backbone.weights, shared_extractor().backbone.weights)
  assert extractor.answer(QUESTION, CONTEXT) is not None


def test_a_second_use_asks_once_and_a_new_commit_is_seen(model_hub, theirs):
  commit = model_hub.push("us/tiny", theirs)
  first = hub.fetch(_NAME)
  assert first.endswith(commit)
  model_hub.requests.clear()
  assert hub.fetch(_NAME) == first
  assert model_hub.requests == _ASKED_ONCE
  assert hub.fetched(_NAME) == first
  assert model_hub.requests == _ASKED_ONCE
  config = json.loads(theirs["config.json"]) | {"initializer_range": 0.5}
  changed = {**theirs, "config.json": json.dumps(config).encode()}
  model_hub.push("us/tiny", changed)
  model_hub.requests.clear()
  assert hub.fetch(_NAME) != first
  # What did not change is not sent again.
  assert model_hub.taken() == ["config.json"]


def test_from_preset_looks_a_name_up_once(model_hub):
  model_hub.push("us/tiny", shared_model())
  for _ in range(2):
    model_hub.requests.clear()
    SpanExtractor.from_preset(_NAME)
  assert model_hub.requests == _ASKED_ONCE


def test_pickled_weights_are_fetched_where_there_are_no_safetensors(
  model_hub, tmp_path
):
  directory = tmp_path / "model"
  write_pickled_model(directory)
  files = {path.name: path.read_bytes() for path in directory.iterdir()}
  model_hub.push("us/tiny", {**files, **_OTHERS, "optimizer.bin": b"x"})
  loaded = load_pretrained(_NAME)
  assert "pytorch_model.bin" in files
  assert model_hub.taken() == sorted(files)
  assert loaded.head_weights["span_head"]["kernel"].shape == (16, 2)
  hub.fetch(_NAME)
  assert model_hub.requests == _ASKED_ONCE


@pytest.mark.parametrize(
  ("index", "shard"),
  [
    ("model.safetensors.index.json", "model-0000{}-of-00002.safetensors"),
    ("pytorch_model.bin.index.json", "pytorch_model-0000{}-of-00002.bin"),
  ],
)
def test_shards_are_fetched_with_their_index(model_hub, theirs, index, shard):
  files = {n: x for n, x in theirs.items() if n != "model.safetensors"}
  for name in (index, shard.format(1), shard.format(2)):
    files[name] = name.encode()
  model_hub.push("us/tiny", {**files, **_OTHERS})
  hub.fetch(_NAME)
  assert model_hub.taken() == sorted(files)


@pytest.mark.parametrize("revision", ["v2", "refs/pr/7", None])
def test_revisions_follow_the_name(model_hub, theirs, revision):
  main = model_hub.push("us/tiny", theirs)
  other = {**theirs, "README.md": b"# Other"}
  commit = model_hub.push("us/tiny", other, revision or "main")
  if not revision:
    revision = main
    commit = main
  assert hub.fetch(f"{_NAME}@{revision}").endswith(commit)


def test_a_saved_model_comes_back_with_its_options(model_hub, tmp_path):
  extractor = SpanExtractor.from_preset(
    str(shared_model()), max_seq_length=30, temperature=1.5, log_odds_shift=0.5
  )
  extractor.save_to_preset(tmp_path / "model")
  keras_hub.upload_preset(_NAME, str(tmp_path / "model"))
  read = SpanExtractor.from_preset(_NAME)
  assert read.window_options == extractor.window_options
  assert read.decoder_options == extractor.decoder_options
  assert read.decoder_options.temperature == 1.5
  assert read.head_is_trained
  np.testing.assert_array_equal(read.head.kernel, extractor.head.kernel)
  # Its checksums are compared.
  files = model_hub.files("us/tiny")
  files["config.json"] += b" "
  model_hub.push("us/tiny", files)
  with pytest.raises(ValueError, match=r"config\.json.*SHA-256"):
    SpanExtractor.from_preset(_NAME)


def test_a_folder_that_was_uploaded_comes_back(model_hub):
  huggingface_hub.create_repo("us/tiny")
  huggingface_hub.upload_folder(repo_id="us/tiny", folder_path=shared_model())
  loaded = load_pretrained(_NAME)
  assert loaded.head_weights.keys() == {"span_head"}


def test_a_preset_of_keras_hub_is_read_by_its_name(model_hub, tmp_path):
  shared_extractor().backbone.save_to_preset(str(tmp_path / "preset"))
  model_hub.push("us/tiny", tmp_path / "preset")
  loaded = load_pretrained(_NAME)
  assert_same(loaded.backbone.weights, shared_extractor().backbone.weights)


@pytest.mark.parametrize(
  ("name", "files", "message"),
  [
    ("hf://us/none", None, r"hf://us/none .*hf auth login"),
    ("hf://us/tiny@v3", {}, r"hf://us/tiny@v3 .*revision"),
    ("hf://not a name", {}, r"hf://not a name .*owner/name"),
    ("hf://a/b/c", {}, r"hf://a/b/c .*owner/name"),
    ("hf://", {}, r"hf:// .*owner/name"),
    (_NAME, {"README.md": b"x"}, r"hf://us/tiny .*config\.json"),
    (_NAME, {"config.json": b'{"model_type": "gpt2"}'}, r"hf://us/tiny.*gpt2"),
    (_NAME, {"config.json": b"{"}, r"hf://us/tiny.*JSON"),
  ],
)
def test_what_cannot_be_read_is_one_line(model_hub, name, files, message):
  weights = {"model.safetensors": b"x", "model.weights.h5": b"x"}
  model_hub.push("us/tiny", weights | (files or {}))
  with pytest.raises(ValueError, match=message) as raised:
    hub.fetch(name)
  assert "\n" not in str(raised.value)
  assert not {*model_hub.taken()} & weights.keys()


def test_a_model_without_weights_that_are_read_is_refused(model_hub, theirs):
  del (files := dict(theirs))["model.safetensors"]
  model_hub.push("us/tiny", {**files, **_OTHERS})
  with pytest.raises(ValueError, match=r"hf://us/tiny.*pytorch_model\.bin"):
    hub.fetch(_NAME)
  files["config.json"] = b'{"registered_name": "keras_hub>BertBackbone"}'
  model_hub.push("us/tiny", {**files, **_OTHERS})
  with pytest.raises(ValueError, match=r"hf://us/tiny.*weights\.h5"):
    hub.fetch(_NAME)


def test_a_gated_model_needs_a_login(model_hub, theirs, monkeypatch):
  model_hub.push("us/tiny", theirs)
  model_hub.gated.add("us/tiny")
  model_hub.tokens.add("hf_right")
  with pytest.raises(ValueError, match=r"hf://us/tiny .*gated.*HF_TOKEN"):
    hub.fetch(_NAME)
  with pytest.raises(ValueError, match=r"hf://us/tiny .*gated"):
    hub.fetch(_NAME, token="hf_wrong")
  monkeypatch.setenv("HF_TOKEN", "hf_right")
  assert hub.fetch(_NAME)


def test_without_a_network_nothing_is_tried_again(
  model_hub, theirs, monkeypatch, sleeps, tmp_path
):
  commit = model_hub.push("us/tiny", theirs)
  first = hub.fetch(_NAME)
  model_hub.push("us/half", theirs)
  model_hub.budget = sum(
    len(x) for n, x in theirs.items() if "safetensors" not in n
  )
  with pytest.raises(ValueError, match="hf://us/half"):
    hub.fetch("hf://us/half")
  sleeps.clear()
  use_endpoint(monkeypatch, "http://127.0.0.1:9", tmp_path / "cache")
  assert hub.fetch(_NAME) == first
  assert hub.fetch(f"{_NAME}@{commit}") == first
  for name in ("hf://us/other", f"hf://us/tiny@{'0' * 40}", "hf://us/half"):
    with pytest.raises(ValueError, match=rf"{name} .*network.*HF_ENDPOINT"):
      hub.fetch(name)
  assert not sleeps


def test_while_the_hub_is_down_the_cache_serves(model_hub, theirs, sleeps):
  model_hub.push("us/tiny", theirs)
  first = hub.fetch(_NAME)
  model_hub.is_down = True
  assert hub.fetch(_NAME) == first
  with pytest.raises(ValueError, match=r"hf://us/other .*503"):
    hub.fetch("hf://us/other")
  assert not sleeps


def test_the_hub_is_asked_with_a_timeout(model_hub, theirs, monkeypatch):
  timeouts, ask = [], huggingface_hub.HfApi.repo_info

  def repo_info(self, *args, timeout=None, **kwargs):
    timeouts.append(timeout)
    return ask(self, *args, timeout=timeout, **kwargs)

  monkeypatch.setattr(huggingface_hub.HfApi, "repo_info", repo_info)
  model_hub.push("us/tiny", theirs)
  hub.fetch(_NAME)
  assert timeouts == [constants.HF_HUB_ETAG_TIMEOUT]


def test_offline_the_cache_serves(model_hub, theirs, monkeypatch):
  model_hub.push("us/tiny", theirs)
  monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
  with pytest.raises(ValueError, match=r"hf://us/tiny .*HF_HUB_OFFLINE"):
    hub.fetch(_NAME)
  monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
  first = hub.fetch(_NAME)
  model_hub.requests.clear()
  monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
  assert hub.fetch(_NAME) == first
  monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
  assert hub.fetch(_NAME, local_files_only=True) == first
  assert not model_hub.requests


def test_a_download_that_breaks_off_is_finished_by_the_next(
  model_hub, theirs, sleeps, monkeypatch
):
  monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 500)
  model_hub.push("us/tiny", theirs)
  described = sum(len(x) for n, x in theirs.items() if "safetensors" not in n)
  model_hub.budget = described + 1000
  with pytest.raises(ValueError, match="hf://us/tiny"):
    hub.fetch(_NAME)
  # The client goes on where it was before it gives up.
  assert len(sleeps) == 5
  assert model_hub.taken().count("model.safetensors bytes=1000-") == 5
  model_hub.budget = None
  directory = hub.fetch(_NAME)
  assert model_hub.taken() == ["model.safetensors"]
  loaded = load_pretrained(directory)
  assert_same(loaded.backbone.weights, shared_extractor().backbone.weights)


@pytest.mark.parametrize("scheme", ["kaggle", "modelscope"])
def test_models_of_other_hubs_come_by_keras_hub_with_their_head(
  monkeypatch, scheme
):
  asked = []

  def download(handle, path=None):
    asked.append(handle)
    if path is None:
      return str(shared_model())
    if not (shared_model() / path).exists():
      raise ValueError(f"{path} is not present in the model files")
    return str(shared_model() / path)

  monkeypatch.setattr(kagglehub, "model_download", download)
  module = types.ModuleType("modelscope.hub.snapshot_download")
  module.snapshot_download = download
  for name in ("modelscope", "modelscope.hub", module.__name__):
    monkeypatch.setitem(sys.modules, name, module)
  name = f"{scheme}://us/tiny/keras/base"
  extractor = SpanExtractor.from_preset(name)
  assert {*asked} == {"us/tiny/keras/base"}
  assert extractor.head_is_trained
  assert extractor.window_options == shared_extractor().window_options


def test_every_file_of_a_saved_model_comes_by_keras_hub():
  saved = shared_model()
  files = [path for path in saved.rglob("*") if path.is_file()]
  names = {path.relative_to(saved).as_posix() for path in files}
  assert names > {"task.json", "assets/tokenizer/vocabulary.txt"}
  assert names | {*TOKENIZER_FILES} <= {*hub._KERAS_FILES}


def test_errors_of_keras_hub_name_the_handle(monkeypatch):
  def fail(*_):
    raise RuntimeError("no route\nsecond line")

  monkeypatch.setattr(kagglehub, "model_download", fail)
  name = "kaggle://us/tiny/keras/base"
  with pytest.raises(ValueError, match=rf"{name}.*no route") as raised:
    SpanExtractor.from_preset(name)
  assert "\n" not in str(raised.value)
  with pytest.raises(ValueError, match=r"bert_tiny_en_uncased.*no route"):
    load_pretrained("bert_tiny_en_uncased")


def test_a_name_without_its_scheme_gets_the_hint():
  with pytest.raises(ValueError, match=r"'us/tiny'.*hf://us/tiny"):
    SpanExtractor.from_preset("us/tiny")
