"""absl flags of option dataclasses, see bert_span/storage/options.py."""

from absl import flags

from bert_span.storage.options import (
  REQUIRED,
  check_option,
  option_fields,
  option_type,
)

# --help lists them as flags of the program, not of this module.
flags.disclaim_key_flags()

_HOLDERS = {}


class OptionFlags:
  """The flags of an option dataclass.

  Two dataclasses with an option of the same flag share the flag.

  Args:
    options_type: the dataclass.
    names: the options that have a flag; None for all.
    **defaults: defaults of flags that differ from those of the options.
  """

  def __init__(self, options_type, names=None, **defaults):
    self._type = options_type
    self._holders = {
      field.name: _define(field, defaults.get(field.name, field.default))
      for field in option_fields(options_type)
      if field.metadata["flag"] is not False
      and (names is None or field.name in names)
    }

  def __getattr__(self, name):
    """The absl FlagHolder of an option."""
    try:
      return self.__dict__["_holders"][name]
    except KeyError:
      raise AttributeError(name) from None

  def __iter__(self):
    return iter(self._holders.values())

  def values(self, saved=None):
    """Returns a dict of the options' values.

    Args:
      saved: dict of the values of flags that are not on the command line, such
        as those in a model's span_config.json; others take their defaults.
    """
    values = {name: holder.value for name, holder in self._holders.items()}
    for name, holder in self._holders.items():
      if name in (saved or {}) and not holder.present:
        values[name] = saved[name]
    return values

  def options(self, saved=None, **others):
    """Returns the dataclass of `values`; `others` replace and add options."""
    return self._type(**{**self.values(saved), **others})


def _define(field, default):
  """Defines the flag of a field and returns its FlagHolder."""
  name = field.metadata["flag"] or field.name
  if name not in _HOLDERS:
    default = None if default is REQUIRED else default
    _HOLDERS[name] = _define_new(field, name, default)
    flags.register_validator(name, lambda value: _checked(field, value))
  return _HOLDERS[name]


def _define_new(field, name, default):
  rules = field.metadata
  kind, _ = option_type(field)
  if rules["choices"]:
    return flags.DEFINE_enum(name, default, rules["choices"], rules["help"])
  if kind is bool:
    return flags.DEFINE_bool(name, default, rules["help"])
  if kind is str:
    return flags.DEFINE_string(name, default, rules["help"])
  define = flags.DEFINE_integer if kind is int else flags.DEFINE_float
  least, most = (
    rules[bound] if rules[bound] is not None else rules[limit]
    for bound, limit in (("minimum", "above"), ("maximum", "below"))
  )
  return define(
    name, default, rules["help"], lower_bound=least, upper_bound=most
  )


def _checked(field, value):
  """Checks what absl's bounds do not: excluded bounds, infinity and NaN."""
  if value is None:
    return True  # The flag is not given.
  try:
    check_option(field, value)
  except ValueError as error:
    raise flags.ValidationError(str(error)) from error
  return True
