"""Options that name files: nothing that a program writes is also an input."""

import dataclasses
import glob
import os
import pathlib
import re
from collections.abc import Mapping

from bert_span.options.fields import (
  REQUIRED,
  CheckedOptions,
  is_empty,
  option,
  option_fields,
)
from bert_span.storage.files import real_path


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileOptions(CheckedOptions):
  """Base of options of programs, whose outputs are none of their inputs.

  Symbolic links are followed, and hard links of a file are the same file.
  Paths of pathlib become texts.
  """

  def __post_init__(self):
    for field in option_fields(self):
      value = getattr(self, field.name)
      if isinstance(value, os.PathLike):
        object.__setattr__(self, field.name, os.fspath(value))
      elif isinstance(value, (tuple, list)):
        values = (
          x if not isinstance(x, os.PathLike) else str(x) for x in value
        )
        object.__setattr__(self, field.name, tuple(values))
    super().__post_init__()
    inputs = [*self._inputs()]
    files, folders = {}, {}
    for title, path in self._outputs([path for _, path in inputs]):
      files |= dict.fromkeys(_identities(path), title)
      if path.endswith("/"):
        folders[pathlib.Path(real_path(path))] = title
    for name, path in inputs:
      identities = _identities(path)
      titles = [files.get(identity) for identity in identities]
      for real in identities[:1]:
        titles += map(folders.get, pathlib.Path(real).parents)
      for title in filter(None, titles):
        raise ValueError(
          f"{title} is also the input {name}={path}. Give another path."
        )

  def named_files(self):
    """Yields (option in backquotes, path) of the inputs and the outputs."""
    for rule in ("is_input", "is_output"):
      for field in option_fields(self):
        for path in self._texts(field, rule):
          yield f"`{field.name}`", path

  def _inputs(self):
    """Yields (option, path) of the inputs, with the files of patterns."""
    for field in option_fields(self):
      for text in self._texts(field, "is_input"):
        yield from ((field.name, path) for path in [text, *glob.glob(text)])

  def _outputs(self, inputs):
    """Yields (title, path) of what is written; folders end with a slash."""
    for field in option_fields(self):
      writes = field.metadata["writes"]
      is_folder = isinstance(writes, Mapping)
      for path in self._texts(field, "is_output"):
        title = f"{field.name}={path}"
        if is_folder:
          for name in self._names_in(path, writes, inputs):
            yield f"{name} of {field.name}", os.path.join(path, name)
          continue
        yield title, path.rstrip("/")
        yield from ((f"{title}{x}", f"{path}{x}") for x in writes or ())

  def _names_in(self, folder, writes, inputs):
    """Names in a folder of outputs that an input may have."""
    names = {*map(os.path.basename, inputs)} - {""}
    if os.path.isdir(real_path(folder)):
      names.update(os.listdir(real_path(folder)))
    for asking, patterns in writes.items():
      if asking is None or getattr(self, asking):
        for name in sorted(names | {f"{name}/" for name in names}):
          if any(re.fullmatch(pattern, name) for pattern in patterns):
            yield name

  def _texts(self, field, rule):
    """The texts in the value of an option, as a whole and between commas."""
    value = getattr(self, field.name)
    if not field.metadata[rule] or is_empty(value):
      return {}
    values = value if isinstance(value, (tuple, list)) else [value]
    texts = map(os.fspath, values)
    return dict.fromkeys(
      part for text in texts for part in (text, *text.split(",")) if part
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputFolder(CheckedOptions):
  """The folder of the programs that write several files."""

  output_dir: str = option(
    REQUIRED, "Folder to which the output files are written.", is_output=True
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
