"""Writes flags.md from the options of the programs.

  python docs/write_flags.py

An option that several programs share is listed once, with the options beside
which it is defined.
"""

import importlib
import inspect
import pathlib
import sys

_ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(_ROOT))

from bert_span.cli.flags import with_flags  # noqa: E402
from bert_span.options.fields import (  # noqa: E402
  FOREIGN,
  REQUIRED,
  WORD,
  flag_name,
  option_fields,
)

_HEAD = """# Flags

Every flag of every program, written by `docs/write_flags.py` from the fields
of the option dataclasses. A job takes the same options as arguments of its
dataclass. A flag has the name of its field unless another is in parentheses.
`--flagfile=FILE` reads flags from a file; flags after it override it.
"""
_TABLE = "| flag | default | |\n|---|---|---|\n"


def flags_page():
  """Returns the text of flags.md."""
  parts, shared = [_HEAD, "## Programs\n"], {}
  for name, options_type in _programs():
    document = sys.modules[options_type.__module__].__doc__
    groups = _groups(options_type)
    own = groups.pop(options_type, [])
    names = [f"[{x.__name__}](#{x.__name__.lower()})" for x in groups]
    also = f"\nAlso those of {', '.join(names)}.\n" if names else ""
    rows = "".join(_row(field, options_type) for field in own)
    parts.append(
      f"### {name}\n\n{document.splitlines()[0]}\n\n{_TABLE}{rows}{also}"
    )
    for group, fields in groups.items():
      known = shared.setdefault(group, {})
      known |= {
        field.name: _row(field, options_type)
        for field in fields
        if field.name not in known
      }
  parts.append("## Shared flags\n")
  for group in sorted(shared, key=lambda group: group.__name__):
    line = group.__doc__.splitlines()[0]
    rows = "".join(shared[group].values())
    parts.append(f"### {group.__name__}\n\n{line}\n\n{_TABLE}{rows}")
  return "\n".join(parts)


def _programs():
  """Yields (name, options class) of the programs, by name."""
  for folder in ("bert_span", "export"):
    for path in sorted((_ROOT / folder).glob("*.py")):
      if "\nrun = program(" in path.read_text("utf-8"):
        module = importlib.import_module(f"{folder}.{path.stem}")
        yield path.stem, module.run.options_type


def _groups(options_type):
  """Dict of the classes that define options to their fields."""
  groups = {}
  for field in option_fields(options_type):
    if field.metadata["flag"] not in (False, FOREIGN):
      owner = next(
        base
        for base in options_type.__mro__
        if field.name in inspect.get_annotations(base)
      )
      groups.setdefault(owner, []).append(field)
  return groups


def _row(field, options_type):
  """A line of a table: flag, default, help."""
  rules, name = field.metadata, flag_name(field)
  flag = f"`--{name}`"
  if rules["flag"] == WORD:
    flag = f"a word (`{field.name}`)"
  elif name != field.name:
    flag += f" (`{field.name}`)"
  text = with_flags(rules["help"], options_type)
  if rules["choices"]:
    text += f" One of {', '.join(rules['choices'])}."
  cells = flag, _default(field), text.replace("|", "\\|").replace("*", "\\*")
  return f"| {' | '.join(cells)} |\n"


def _default(field):
  default = field.metadata["flag_default"]
  if default is None:
    default = field.default
  if default is REQUIRED:
    return "required"
  if default is None or default == ():
    return ""
  return str(default).lower() if isinstance(default, bool) else f"{default}"


if __name__ == "__main__":
  (_ROOT / "docs" / "flags.md").write_text(flags_page(), encoding="utf-8")
