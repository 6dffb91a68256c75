"""What transformers computes with small random ModernBERTs.

  python transformers_modernbert.py FOLDER

For each FOLDER/N with sizes.json, arguments of `ModernBertBackbone`, and
inputs.npz, writes the encoder, and the vectors of tokens as outputs.npy. A
process of its own: PyTorch's compiler and TensorFlow, loaded into one, end it
in some of their versions.
"""

import json
import pathlib
import sys

import numpy as np
import torch
import transformers

_KEYS = {
  "vocabulary_size": "vocab_size",
  "num_layers": "num_hidden_layers",
  "num_heads": "num_attention_heads",
  "hidden_dim": "hidden_size",
  "intermediate_dim": "intermediate_size",
  "sliding_window_size": "local_attention",
  "global_attn_every_n_layers": "global_attn_every_n_layers",
  "layer_norm_epsilon": "norm_eps",
  "activation": "hidden_activation",
}
_BASES = {
  "full_attention": ("global_rope_max_wavelength", 160000.0),
  "sliding_attention": ("local_rope_max_wavelength", 10000.0),
}


def main(folder):
  """Writes the models and their outputs."""
  for directory in pathlib.Path(folder).iterdir():
    sizes = json.loads((directory / "sizes.json").read_text())
    config = transformers.ModernBertConfig(
      **{_KEYS[name]: sizes[name] for name in _KEYS.keys() & sizes.keys()},
      rope_parameters={
        kind: {"rope_type": "default", "rope_theta": sizes.get(name, base)}
        for kind, (name, base) in _BASES.items()
      },
      **dict.fromkeys(("pad_token_id", "cls_token_id", "sep_token_id"), 0),
      **dict.fromkeys(("bos_token_id", "eos_token_id"), 0),
    )
    torch.manual_seed(0)
    model = transformers.ModernBertModel(config).eval()
    for parameter in model.parameters():
      parameter.data += 0.3 * torch.randn_like(parameter)
    model.save_pretrained(directory)
    with np.load(directory / "inputs.npz") as stored:
      ids, mask = (
        torch.tensor(stored[name]).long()
        for name in ("token_ids", "padding_mask")
      )
    with torch.no_grad():
      outputs = model(ids, attention_mask=mask)
    np.save(directory / "outputs.npy", outputs.last_hidden_state.numpy())


if __name__ == "__main__":
  main(sys.argv[1])
