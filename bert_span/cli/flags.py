"""absl flags of option dataclasses, see bert_span/options/fields.py."""

import re
import sys
import typing

from absl import flags

from bert_span.options.fields import (
  FOREIGN,
  REQUIRED,
  WORD,
  check_option,
  flag_name,
  is_empty,
  option_fields,
  option_type,
)

# --help lists them as flags of the program, not of this module.
flags.disclaim_key_flags()


def define_flags(options_type):
  """Defines the flags of an option dataclass as those of the program.

  Returns the names of the flags.
  """
  names = []
  for field in _fields_with_flags(options_type):
    _define(field, with_flags(field.metadata["help"], options_type))
    names.append(flag_name(field))
    if alias := field.metadata["alias"]:
      flags.DEFINE_alias(alias, flag_name(field))
      names.append(alias)
  for name in names:
    flags.FLAGS.register_key_flag_for_module(sys.argv[0], flags.FLAGS[name])
  return names


def read_flags(options_type, words=()):
  """Returns the options that the command line gives.

  Args:
    options_type: an option dataclass whose flags are defined.
    words: the words of the command line that are no flags.

  Raises:
    ValueError: a value or a word is missing, superfluous or not allowed.
  """
  fields = _fields_with_flags(options_type)
  values = {}
  for field in fields:
    flag = flags.FLAGS[flag_name(field)]
    alias = field.metadata["alias"]
    if flag.present or (alias and flags.FLAGS[alias].present):
      values[field.name] = _converted(field, flag.value)
  rest = list(words)
  for field in option_fields(options_type):
    if field.metadata["flag"] == WORD and rest:
      values[field.name] = rest.pop(0)
    if field.default is REQUIRED:  # The check of the options names it.
      values.setdefault(field.name)
  for field in option_fields(options_type):
    if field.metadata["flag"] == FOREIGN:
      values[field.name], rest = tuple(rest), ()
  if rest:
    raise ValueError(
      f"unknown arguments {' '.join(rest)}; a flag begins with --."
    )
  return options_type(**values)


def with_flags(text, options_type):
  """Returns a message or a help text with the flags of the options it names.

  A name is replaced where it cannot be another word: in backquotes, before an
  equals sign, at the beginning, or if it has an underscore. A boolean is named
  as a person types it: do_lower_case=False becomes --nodo_lower_case.
  """
  fields = {field.name: field for field in _fields_with_flags(options_type)}

  def flag_of(match):
    field, value = fields[match["quoted"] or match["name"]], match["value"]
    if value and option_type(field)[0] is bool:
      return f"--{'no' if value.lower() == '=false' else ''}{flag_name(field)}"
    return f"--{flag_name(field)}{value or ''}"

  words = "|".join(sorted(fields, key=len, reverse=True))
  joined = "|".join(name for name in fields if "_" in name) or "(?!)"
  # Not within a path or a longer name, nor after "FILE: ", where it is a key.
  return re.sub(
    rf"(?:`(?P<quoted>{words})`|"
    rf"(?<![\w\-./\"'`])(?<!: )(?P<name>(?:{joined})(?![\w/`(]|\.\w)|"
    rf"(?:{words})(?==)|\A(?:{words})(?= must)))"
    r"(?P<value>=(?i:true|false)\b)?",
    flag_of,
    text,
  )


def _fields_with_flags(options_type):
  return [
    field
    for field in option_fields(options_type)
    if field.metadata["flag"] not in (False, WORD, FOREIGN)
  ]


def _define(field, text):
  """Defines the flag of an option with a text as its help."""
  rules, (value_type, _) = field.metadata, option_type(field)
  name, default = flag_name(field), rules["flag_default"]
  if default is None and field.default is not REQUIRED:
    default = field.default
  if rules["choices"]:
    flags.DEFINE_enum(name, default, rules["choices"], text)
  elif typing.get_origin(value_type) is tuple:
    texts = list(map(str, default or ()))
    define = (
      flags.DEFINE_multi_string if rules["repeated"] else flags.DEFINE_list
    )
    define(name, texts, text)
  elif value_type in (int, float) and not _may_be_none(field):
    is_integer = value_type is int
    define = flags.DEFINE_integer if is_integer else flags.DEFINE_float
    define(name, default, text, rules["minimum"], rules["maximum"])
  else:
    define = flags.DEFINE_bool if value_type is bool else flags.DEFINE_string
    define(name, str(default) if _may_be_none(field) else default, text)
  flags.register_validator(name, lambda value: _checked(field, value))


def _may_be_none(field):
  """Whether the flag of a number may be the word none."""
  value_type, is_optional = option_type(field)
  is_number = value_type in (int, float)
  return is_number and is_optional and field.default is not None


def _converted(field, value):
  """Returns the value of a flag as that of the option."""
  value_type, _ = option_type(field)
  if value is None:
    return None
  if typing.get_origin(value_type) is tuple:
    return tuple(map(typing.get_args(value_type)[0], value))
  if _may_be_none(field):
    return None if str(value).lower() == "none" else _number(value_type, value)
  return value


def _number(value_type, text):
  try:
    return value_type(text)
  except ValueError as error:
    raise ValueError(f"must be none or a number. Received: {text!r}") from error


def _checked(field, value):
  """Checks the bounds of an option, which absl only partly knows."""
  if not is_empty(value):  # The flag is given, or has a default.
    try:
      check_option(field, _converted(field, value))
    except ValueError as error:
      raise flags.ValidationError(str(error)) from error
  return True
