"""What transformers computes with an exported directory.

  python transformers_outputs.py DIRECTORY INPUTS.npz OUTPUTS.npz

A process of its own: PyTorch's compiler and TensorFlow, loaded into one, end it
in some of their versions.
"""

import sys

import numpy as np
import torch
import transformers


def main(directory, inputs_path, outputs_path):
  """Writes logits and hidden states; fails where weights are missing."""
  with np.load(inputs_path) as stored:
    inputs = {name: torch.tensor(stored[name]).long() for name in stored}
  models = {
    "logits": transformers.BertForMaskedLM,
    "last_hidden_state": transformers.BertModel,
  }
  outputs = {}
  for name, kind in models.items():
    model, report = kind.from_pretrained(directory, output_loading_info=True)
    assert not report["missing_keys"], report
    with torch.no_grad():
      outputs[name] = model.eval()(**inputs)[name].numpy()
  np.savez(outputs_path, **outputs)


if __name__ == "__main__":
  main(*sys.argv[1:])
