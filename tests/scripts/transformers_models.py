"""What transformers computes with models in a folder.

  python transformers_models.py INPUTS.npz FOLDER

Each model FOLDER/* gets what the class of its config.json computes as
outputs.npz: the logits of starts and ends [windows, seq_length, 2], or the
vectors of tokens where it has no such head. A directory with a config.json
alone gets random weights first, in its dtype. For windows.npz in a directory
windows_outputs.npz is written, too, and the pairs of texts in pairs.json are
replaced by their ids. A process of its own: PyTorch's compiler and TensorFlow,
loaded into one, end it in some of their versions.
"""

import json
import pathlib
import sys

import numpy as np
import torch
import transformers


def main(inputs_path, folder):
  """Writes the outputs."""
  for directory in filter(pathlib.Path.is_dir, pathlib.Path(folder).iterdir()):
    if [path.name for path in directory.iterdir()] == ["config.json"]:
      _make_model(directory)
    model = _load(directory)
    _write_outputs(model, inputs_path, directory / "outputs.npz")
    windows = directory / "windows.npz"
    if windows.exists():
      _write_outputs(model, windows, directory / "windows_outputs.npz")
    pairs = directory / "pairs.json"
    if pairs.exists():
      _write_ids(directory, pairs)


def _make_model(directory):
  values = json.loads((directory / "config.json").read_text())
  dtype = getattr(torch, values.pop("dtype", "float32"))
  config = transformers.AutoConfig.for_model(**values)
  torch.manual_seed(0)
  model = transformers.AutoModelForQuestionAnswering.from_config(
    config, dtype=torch.float32
  )
  # Without LayerNorm, numbers grow from layer to layer.
  noise = 0.2 if config.model_type == "mobilebert" else 0.3
  for parameter in model.parameters():
    parameter.data += noise * torch.randn_like(parameter)
  # In several files.
  size = "20KB" if config.model_type == "bert" else "1GB"
  model.to(dtype).save_pretrained(directory, max_shard_size=size)


def _load(directory):
  """Loads a model in float32; fails where weights are missing."""
  values = json.loads((directory / "config.json").read_text())
  name, *_ = values.get("architectures", ["AutoModel"])
  model, report = getattr(transformers, name).from_pretrained(
    directory, dtype=torch.float32, output_loading_info=True
  )
  missing = report["missing_keys"]
  if not name.endswith("ForQuestionAnswering"):
    # Of heads, and of poolers, not all are there.
    encoder = ("embeddings", ".layer.", ".layers.", "final_norm")
    encoder += ("albert_layers", "mapping_in")
    missing = [n for n in missing if any(x in n for x in encoder)]
  assert not missing, missing
  return model.eval()


def _write_outputs(model, inputs_path, path):
  with np.load(inputs_path) as stored:
    inputs = {name: torch.tensor(stored[name]).long() for name in stored}
  if not getattr(model.config, "type_vocab_size", 0) > 1:
    del inputs["token_type_ids"]
  with torch.no_grad():
    if type(model).__name__.endswith("ForQuestionAnswering"):
      outputs = model(**inputs)
      outputs = torch.stack([outputs.start_logits, outputs.end_logits], -1)
    else:
      outputs = model.base_model(**inputs).last_hidden_state
  np.savez(path, outputs=outputs.numpy())


def _write_ids(directory, path):
  tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
  pairs = json.loads(path.read_text())
  ids = [tokenizer(*pair)["input_ids"] for pair in pairs]
  path.write_text(json.dumps(ids))


if __name__ == "__main__":
  main(*sys.argv[1:])
