"""Which files each program writes, and that none of them is also an input."""

import glob
import os
import pathlib
import re

from absl import flags

from bert_span.storage.files import real_path

# Names in --output_dir, as regular expressions. A name that ends in / is a
# folder that is replaced with what is in it.
_TRAINING = (
  *("run.lock", "run.flags", "training_options.json", "evaluations.json"),
  *("checkpoint", r"model\.ckpt-\d+(\..+)?", "model/"),
)
_SHARD = r"-\d{5}-of-\d{5}"
# Flags of files to write; all other flags may name inputs.
_FILE_FLAGS = ("output_file", "output", "test_vectors")
# Endings of the files that are written beside such a file.
_BESIDE = {
  "create_pretraining_data": (".json",),
  "export_tflite": (".json", ".txt"),
}


def _written(program):
  """The names in --output_dir by the flag that asks for them; None: always."""
  from bert_span.answers.options import PREDICTION_FILES as FILES

  return {
    "run_squad": {
      "do_train": (*_TRAINING, "soft_labels.safetensors"),
      "do_predict": (*FILES, "logits.npz"),
      "do_eval": ("eval_results.json",),
    },
    "run_pretraining": {
      "do_train": (*_TRAINING, "data_places.jsonl", "tf1/", "huggingface/"),
      "do_eval": ("eval_results.json",),
    },
    "decode": {None: FILES},
    "calibrate": {
      None: ("calibration.json", "reliability.png", "risk_coverage.png")
    },
    "beam_create_records": {
      None: ("job.json", rf"masked{_SHARD}\.tfrecord(\.json)?")
    },
    "beam_predict": {
      None: ("job.json", rf"(answers|dead_letters){_SHARD}\.(jsonl|parquet)")
    },
  }.get(program, {})


def check_output_files(program, words):
  """Checks that no file that a program writes is also an input.

  Inputs are words and the values of flags. Symbolic links are followed, and
  hard links of a file are the same file.
  """
  inputs = [("", word) for word in words]
  for name in sorted({*flags.FLAGS} - {*_FILE_FLAGS, "output_dir"}):
    for text in _texts(name) if flags.FLAGS[name].present else ():
      inputs += [(f"--{name}=", path) for path in [text, *glob.glob(text)]]
  outputs = [*_output_files(program)]
  outputs += _files_in_output_dir(program, [path for _, path in inputs])
  files, folders = {}, {}
  for title, path in outputs:
    files |= dict.fromkeys(_identities(path), title)
    if path.endswith("/"):
      folders[pathlib.Path(real_path(path))] = title
  for flag, path in inputs:
    identities = _identities(path)
    titles = [files.get(identity) for identity in identities]
    for real in identities[:1]:
      titles += map(folders.get, pathlib.Path(real).parents)
    for title in filter(None, titles):
      raise ValueError(
        f"{title} is also the input {flag}{path}. Give another path."
      )


def _output_files(program):
  """Yields (title, path) of the files that flags name, defaults too."""
  for name in {*flags.FLAGS} & {*_FILE_FLAGS}:
    for path in _texts(name):
      if os.path.isdir(path):
        continue  # Versions of a SavedModel are added to it.
      for ending in ("", *_BESIDE.get(program, ())):
        yield f"--{name}={path}{ending}", f"{path}{ending}"


def _files_in_output_dir(program, inputs):
  """Yields (title, path) of what an input may be among a program's files."""
  directory = "output_dir" in flags.FLAGS and flags.FLAGS["output_dir"].value
  if program == "calibrate" and not directory:
    directory = os.path.join(flags.FLAGS["model"].value or "", "calibration")
  names = {*map(os.path.basename, inputs)} - {""}
  if directory and os.path.isdir(real_path(directory)):
    names.update(os.listdir(real_path(directory)))
  for asking, patterns in _written(program).items() if directory else ():
    if asking and not flags.FLAGS[asking].value:
      continue
    for name in sorted(names | {f"{name}/" for name in names}):
      if any(re.fullmatch(pattern, name) for pattern in patterns):
        yield f"{name} of --output_dir", os.path.join(directory, name)
  if program == "convert" and directory:
    yield f"--output_dir={directory}", directory.rstrip("/")


def _texts(name):
  """The texts in the value of a flag, as a whole and between commas."""
  value = flags.FLAGS[name].value
  values = value if isinstance(value, list) else [value]
  texts = [text for text in values if isinstance(text, str)]
  return dict.fromkeys(
    part for x in texts for part in (x, *x.split(",")) if part
  )


def _identities(path):
  """What two paths of one file have in common, whether it exists or not."""
  try:
    real = real_path(path)
    status = os.stat(real)
  except OSError:
    return [real]
  except ValueError:  # Zero bytes: a text and no path.
    return []
  return [real, (status.st_dev, status.st_ino)]
