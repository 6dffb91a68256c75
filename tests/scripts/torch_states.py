"""Writes what torch.save makes of tensors of many kinds.

  python torch_states.py FOLDER

FOLDER gets new.bin, old.bin and protocol_4.bin, in the forms since PyTorch 1.6
and before it, and expected.safetensors with the same tensors. A process of its
own, as PyTorch and TensorFlow in one end it in some of their versions.
"""

import collections
import pathlib
import sys

import torch
from safetensors.torch import save_file


def main(folder):
  """Writes the files."""
  torch.manual_seed(0)
  base = torch.randn(50, 40)
  linear = torch.nn.Linear(4, 3)
  state = collections.OrderedDict(
    transposed=base.t(),
    stepped=base[3:9:2, 5:30:3],
    shared=base,
    half=torch.randn(5).half(),
    brain=torch.randn(5, 2).bfloat16(),
    positions=torch.arange(9).expand(1, -1),
    expanded=torch.tensor([1.0, 2.0]).expand(3, 2),
    flags=torch.tensor([True, False]),
    parameter=linear.weight,
    scalar=torch.tensor(3.5),
    empty=torch.zeros(0, 3),
  )
  state._metadata = linear.state_dict()._metadata
  torch.save(state, folder / "new.bin")
  torch.save(state, folder / "old.bin", _use_new_zipfile_serialization=False)
  torch.save(state, folder / "protocol_4.bin", pickle_protocol=4)
  tensors = {n: x.detach().clone().contiguous() for n, x in state.items()}
  save_file(tensors, folder / "expected.safetensors")


if __name__ == "__main__":
  main(pathlib.Path(sys.argv[1]))
