"""absl flags of option dataclasses, see bert_span/options/fields.py."""

import dataclasses
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

_HOLDERS = {}


class OptionFlags:
  """The flags of an option dataclass; an attribute is the holder of a flag.

  Two dataclasses with an option of the same flag share the flag. `names` are
  the options that have a flag, None for all; `defaults` replace theirs.
  """

  def __init__(self, options_type, names=None, **defaults):
    if "__dataclass_fields__" not in vars(options_type):
      options_type = dataclasses.dataclass(frozen=True)(options_type)
    self._type = options_type
    self._fields = {
      field.name: field
      for field in option_fields(options_type)
      if field.metadata["flag"] is not False
      and (names is None or field.name in names)
    }
    self._holders = {
      name: _define(field, defaults.get(name, field.default))
      for name, field in self._fields.items()
    }
    vars(self).update(self._holders)

  def __iter__(self):
    return iter(self._holders.values())

  def values(self, saved=None):
    """Returns a dict; flags that are not given are `saved` or the defaults."""
    values = {
      name: _converted(self._fields[name], holder.value)
      for name, holder in self._holders.items()
    }
    for name in values.keys() & (saved or {}).keys():
      if not self._holders[name].present:
        values[name] = saved[name]
    return values

  def options(self, saved=None, **others):
    """Returns the dataclass of `values`; `others` replace and add options."""
    return self._type(**{**self.values(saved), **others})


def _define(field, default):
  """Defines the flag of a field, or finds it; returns its FlagHolder."""
  rules, (kind, _) = field.metadata, option_type(field)
  name, text = rules["flag"] or field.name, rules["help"]
  if name in _HOLDERS:
    return _HOLDERS[name]
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
  _HOLDERS[name] = holder
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
