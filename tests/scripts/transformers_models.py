"""What transformers computes with small random models and with ours.

  python transformers_models.py INPUTS.npz OURS THEIRS
  python transformers_models.py INPUTS.npz PUBLISHED

Writes models of all architectures as THEIRS/NAME-DTYPE, and for each model
OURS/* and THEIRS/* its start_logits and end_logits as outputs.npz in it. For
OURS/* also the ids of the pairs in OURS/../pairs.json, as pairs.json in it, and
the logits of its windows.npz, where there is one, as windows_outputs.npz. For
PUBLISHED/* what the class of its config.json computes as outputs.npz: logits,
or the vectors of tokens where it has no such head. A process of its own:
PyTorch's compiler and TensorFlow, loaded into one, end it in some of their
versions.
"""

import json
import pathlib
import sys

import numpy as np
import torch
import transformers

_SIZES = {
  "vocab_size": 60,
  "hidden_size": 16,
  "num_hidden_layers": 2,
  "num_attention_heads": 2,
  "intermediate_size": 24,
  "max_position_embeddings": 34,
}
# Its other settings are those of the released model.
_MOBILEBERT = {**_SIZES, "embedding_size": 8, "intra_bottleneck_size": 12}
_MODERNBERT_IDS = {
  f"{name}_token_id": i
  for i, name in enumerate(("cls", "sep", "pad", "bos", "eos"))
}
_ROBERTA = {
  **_SIZES,
  "type_vocab_size": 1,
  "layer_norm_eps": 1e-5,
  "pad_token_id": 1,
}
_CONFIGS = {
  "bert": transformers.BertConfig(**_SIZES),
  "bert_relu": transformers.BertConfig(**_SIZES, hidden_act="relu"),
  "bert_new": transformers.BertConfig(
    **{**_SIZES, "num_attention_heads": 4}, hidden_act="gelu_new"
  ),
  "distilbert": transformers.DistilBertConfig(
    vocab_size=60,
    dim=16,
    n_layers=2,
    n_heads=2,
    hidden_dim=24,
    max_position_embeddings=34,
  ),
  "electra": transformers.ElectraConfig(**_SIZES, embedding_size=8),
  "electra_base": transformers.ElectraConfig(**_SIZES, embedding_size=16),
  "albert": transformers.AlbertConfig(**_SIZES, embedding_size=8),
  "albert_groups": transformers.AlbertConfig(
    **_SIZES,
    num_hidden_groups=2,
    inner_group_num=2,
    embedding_size=16,
    hidden_act="gelu",
  ),
  "roberta": transformers.RobertaConfig(**_ROBERTA),
  "xlm-roberta": transformers.XLMRobertaConfig(**_ROBERTA),
  "camembert": transformers.CamembertConfig(**_ROBERTA),
  "mobilebert": transformers.MobileBertConfig(**_MOBILEBERT),
  "mobilebert_norm": transformers.MobileBertConfig(
    **_MOBILEBERT, normalization_type="layer_norm"
  ),
  "mobilebert_wide": transformers.MobileBertConfig(
    **_MOBILEBERT,
    use_bottleneck=False,
    num_feedforward_networks=1,
    normalization_type="layer_norm",
    hidden_act="gelu",
  ),
  "mobilebert_tiny": transformers.MobileBertConfig(
    **_MOBILEBERT,
    use_bottleneck_attention=True,
    key_query_shared_bottleneck=False,
    num_feedforward_networks=2,
    trigram_input=False,
    hidden_act="relu6",
  ),
  "deberta-v2": transformers.DebertaV2Config(
    **_SIZES,
    relative_attention=True,
    position_biased_input=False,
    position_buckets=8,
    norm_rel_ebd="layer_norm",
    share_att_key=True,
    pos_att_type="p2c|c2p",
  ),
  # The special tokens that `tiny_extractor` has for it.
  "modernbert": transformers.ModernBertConfig(
    **_SIZES, local_attention=8, **_MODERNBERT_IDS
  ),
  "modernbert_deep": transformers.ModernBertConfig(
    **{**_SIZES, "num_hidden_layers": 5},
    local_attention=4,
    global_attn_every_n_layers=2,
    **_MODERNBERT_IDS,
  ),
  # The buckets and positions of the published models.
  "deberta_long": transformers.DebertaV2Config(
    **{**_SIZES, "max_position_embeddings": 512},
    relative_attention=True,
    position_biased_input=False,
    position_buckets=256,
    norm_rel_ebd="layer_norm",
    share_att_key=True,
    pos_att_type="p2c|c2p",
  ),
}
_DTYPES = "float32", "float16", "bfloat16"
_AUTO = transformers.AutoModelForQuestionAnswering


def main(inputs_path, ours, theirs=None):
  """Makes the models and writes the outputs."""
  if theirs is None:
    for directory in pathlib.Path(ours).iterdir():
      _write_published(directory, inputs_path)
    return
  _make_models(theirs)
  for folder in (ours, theirs):
    for directory in pathlib.Path(folder).iterdir():
      _write_outputs(directory, inputs_path, directory / "outputs.npz")
  for directory in pathlib.Path(ours).iterdir():
    _write_pairs(directory)
    windows = directory / "windows.npz"
    if windows.exists():
      _write_outputs(directory, windows, directory / "windows_outputs.npz")


def _make_models(directory):
  for name, config in _CONFIGS.items():
    for dtype in _DTYPES if "_" not in name else _DTYPES[:1]:
      torch.manual_seed(0)
      model = _AUTO.from_config(config)
      # Without LayerNorm, numbers grow from layer to layer.
      noise = 0.2 if config.model_type == "mobilebert" else 0.3
      for parameter in model.parameters():
        parameter.data += noise * torch.randn_like(parameter)
      size = "20KB" if name == "bert" else "1GB"  # in several files
      model.to(getattr(torch, dtype)).save_pretrained(
        f"{directory}/{name}-{dtype}", max_shard_size=size
      )


def _outputs(model, inputs_path):
  with np.load(inputs_path) as stored:
    inputs = {name: torch.tensor(stored[name]).long() for name in stored}
  if not getattr(model.config, "type_vocab_size", 0) > 1:
    del inputs["token_type_ids"]
  with torch.no_grad():
    return model.eval()(**inputs)


def _write_published(directory, inputs_path):
  values = json.loads((directory / "config.json").read_text())
  name, *_ = values.get("architectures", ["AutoModel"])
  model, report = getattr(transformers, name).from_pretrained(
    directory, dtype=torch.float32, output_loading_info=True
  )
  # Of heads, and of poolers, not all are there.
  encoder = ("embeddings", ".layer.", ".layers.", "final_norm", "qa_outputs")
  encoder += ("albert_layers", "mapping_in")
  missing = report["missing_keys"]
  assert not [n for n in missing if any(x in n for x in encoder)], missing
  if name.endswith("ForQuestionAnswering"):
    outputs = _outputs(model, inputs_path)
    stacked = torch.stack([outputs.start_logits, outputs.end_logits], -1)
  else:
    stacked = _outputs(model.base_model, inputs_path).last_hidden_state
  np.savez(directory / "outputs.npz", outputs=stacked.numpy())


def _write_outputs(directory, inputs_path, path):
  """Computes in float32; fails where weights are missing."""
  model, report = _AUTO.from_pretrained(
    directory, dtype=torch.float32, output_loading_info=True
  )
  assert not report["missing_keys"], report
  outputs = _outputs(model, inputs_path)
  np.savez(
    path,
    start_logits=outputs.start_logits.numpy(),
    end_logits=outputs.end_logits.numpy(),
  )


def _write_pairs(directory):
  tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
  pairs = json.loads((directory.parent.parent / "pairs.json").read_text())
  ids = [tokenizer(*pair)["input_ids"] for pair in pairs]
  (directory / "pairs.json").write_text(json.dumps(ids))


if __name__ == "__main__":
  main(*sys.argv[1:])
