"""absl flags of option dataclasses, see bert_span/options/fields.py."""

import collections
import typing

from absl import flags

from bert_span.options.fields import (
  REQUIRED,
  check_option,
  option_fields,
  option_type,
)

# --help lists them as flags of the program, not of this module.
flags.disclaim_key_flags()


def define_flags(options_type, *names, **defaults):
  """Defines flags of an option dataclass, for all or for the named options.

  `defaults` replace those of the dataclass. Two dataclasses may have an option
  with the same flag: the first defines it. Returns a named tuple of FlagHolders
  by the names of the options.
  """
  fields = _fields_with_flags(options_type)
  holders = {
    name: _define(fields[name], defaults.get(name, fields[name].default))
    for name in names or fields
  }
  return collections.namedtuple("Holders", holders)(**holders)


def read_flags(options_type, saved=None, **others):
  """Returns an option dataclass of the values on the command line.

  `saved`, a dict of options, replaces defaults of flags. `others` are options
  that replace flags, or have none.
  """
  values = {}
  for name, field in _fields_with_flags(options_type).items():
    flag = flags.FLAGS[_flag_name(field)]
    values[name] = _converted(field, flag.value)
    if not flag.present and name in (saved or {}):
      values[name] = saved[name]
  return options_type(**{**values, **others})


def flags_of(options_type):
  """Returns the absl Flags of an option dataclass, which are defined."""
  fields = _fields_with_flags(options_type).values()
  return [flags.FLAGS[_flag_name(field)] for field in fields]


def _fields_with_flags(options_type):
  fields = option_fields(options_type)
  return {f.name: f for f in fields if f.metadata["flag"] is not False}


def _flag_name(field):
  return field.metadata["flag"] or field.name


def _define(field, default):
  """Defines the flag of a field, or finds it; returns its FlagHolder."""
  rules, (kind, _) = field.metadata, option_type(field)
  name, text = _flag_name(field), rules["help"]
  if name in flags.FLAGS:
    return flags.FlagHolder(flags.FLAGS, flags.FLAGS[name])
  default = None if default is REQUIRED else default
  if rules["choices"]:
    holder = flags.DEFINE_enum(name, default, rules["choices"], text)
  elif typing.get_origin(kind) is tuple:
    default = default and list(map(str, default))
    holder = flags.DEFINE_list(name, default, text)
  elif kind in (int, float):
    define = flags.DEFINE_integer if kind is int else flags.DEFINE_float
    holder = define(name, default, text, rules["minimum"], rules["maximum"])
  else:
    define = flags.DEFINE_bool if kind is bool else flags.DEFINE_string
    holder = define(name, default, text)
  flags.register_validator(name, lambda value: _checked(field, value))
  return holder


def _converted(field, value):
  """Returns the value of a flag; the strings of a list as a tuple."""
  kind, _ = option_type(field)
  if value is None or typing.get_origin(kind) is not tuple:
    return value
  return tuple(map(typing.get_args(kind)[0], value)) or field.default


def _checked(field, value):
  """Checks the bounds of an option, which absl only partly knows."""
  if value is not None:  # The flag is given, or has a default.
    try:
      check_option(field, _converted(field, value))
    except ValueError as error:
      raise flags.ValidationError(str(error)) from error
  return True
