"""Option dataclasses: all that is known of an option, in one place.

  @dataclasses.dataclass(frozen=True)
  class DecoderOptions(CheckedOptions):
    n_best_size: int = option(20, "Answers in an n-best list.", minimum=1)

cli/flags.py makes the flag --n_best_size of this field, docs/flags.md
describes it, and options that are made in Python are checked by the same rules.
In messages an option whose name is a plain word is in backquotes: `model`.
"""

import dataclasses
import math
import numbers
import operator
import types
import typing

REQUIRED = dataclasses.MISSING
WORD, FOREIGN = "WORD", "FOREIGN"  # instead of the name of a flag
# The greatest whole number of an option without a maximum: TensorFlow's sizes
# and positions are int32.
INT32_MAX = 2**31 - 1
# Saved with the options of a run. Raise it when a change of the code changes
# the results of equal options: a run that was started before cannot continue.
RUN_FORMAT = 1
_BOUNDS = (
  ("minimum", "of at least", operator.ge),
  ("maximum", "of at most", operator.le),
  ("above", "above", operator.gt),
  ("below", "below", operator.lt),
)


class CheckedOptions:
  """Base of option dataclasses, which checks values and their relations.

  The options of a program are a dataclass that inherits from several of these.
  It knows which options were given, on the command line or in Python; the
  others follow what a model has saved. After dataclasses.replace all count as
  given.
  """

  def __new__(cls, *values, **named):
    options = super().__new__(cls)
    fields = [f for f in dataclasses.fields(cls) if f.init and not f.kw_only]
    names = {*named, *(f.name for f in fields[: len(values)])}
    object.__setattr__(options, "_given", names)  # The dataclass is frozen.
    return options

  def __post_init__(self):
    fields, missing = option_fields(self), []
    for field in fields:
      value = getattr(self, field.name)
      if field.default is not REQUIRED or not is_empty(value):
        check_option(field, value)
      else:
        help_text = field.metadata["help"]
        missing.append(f"`{field.name}` is required: {help_text}")
    if missing:
      raise ValueError(" ".join(missing))
    for field in fields:
      self._check_relations(field)

  def is_given(self, name):
    """Returns whether a value was given to an option, and is not empty."""
    return name in self._given and not is_empty(getattr(self, name))

  def replaced(self, **values):
    """Returns a copy with other values. What was not given may follow them."""
    given = {name: getattr(self, name) for name in self._given}
    return type(self)(**{**given, **values})

  def given(self, options_type=None):
    """Returns a dict of the given options, or of those of one dataclass."""
    fields = option_fields(options_type or self)
    names = [field.name for field in fields if self.is_given(field.name)]
    return {name: getattr(self, name) for name in names}

  def mention(self, name):
    """Returns how a message names an option: `name`, or `name`=False."""
    return f"`{name}`=False" if getattr(self, name) is False else f"`{name}`"

  @classmethod
  def of(cls, options, **changes):
    """Returns this dataclass with the values of a program's options.

    Args:
      options: options that have all fields of this dataclass, or some.
      **changes: values that replace those of `options`.
    """
    fields = [f for f in dataclasses.fields(cls) if hasattr(options, f.name)]
    values = {field.name: getattr(options, field.name) for field in fields}
    return cls(**{**values, **changes})

  def _check_relations(self, field):
    name = field.name
    if not (self.is_given(name) and self._is_on(name)):
      return
    needs = field.metadata["needs"]
    if not all(map(self._is_on, needs)):
      needed = " and ".join(f"`{other}`" for other in needs)
      raise ValueError(f"{self.mention(name)} needs {needed}.")
    for other in field.metadata["conflicts"]:
      if self.is_given(other) and self._is_on(other):
        either = self.mention(name)
        raise ValueError(f"Give either {either} or {self.mention(other)}.")

  def _is_on(self, name):
    """Whether an option has a value, and is not False as by default."""
    value = getattr(self, name)
    is_off = value is False and getattr(type(self), name, None) is False
    return not (is_off or is_empty(value))


def option(
  default,
  help,
  minimum=None,
  maximum=None,
  above=None,
  below=None,
  choices=None,
  is_input=False,
  is_output=False,
  writes=None,
  needs=(),
  conflicts=(),
  flag=None,
  flag_default=None,
  alias=None,
  repeated=False,
):
  """Returns a field of an option dataclass.

  Args:
    default: REQUIRED for an option that must have a value.
    help: a sentence with the unit.
    minimum, maximum, above, below: bounds of a number.
    choices: the values that a text may have.
    is_input, is_output: the value names files to read, or what is written.
    writes: for a folder that is an output: a dict of the options that ask for
      files (None: always) to regular expressions of the names of these files.
      For a file that is an output: endings of the files written beside it.
    needs, conflicts: names of options that must, or must not, be given too.
    flag: name of the flag; None is the name of the field. WORD: the option is a
      word of the command line without dashes. FOREIGN: it holds all flags that
      are not defined. False: the command line does not have it.
    flag_default: what --help shows as the default, if it is not `default`.
    alias: another name of the flag.
    repeated: whether the flag is repeated for several values; else commas
      separate them.
  """
  metadata = dict(locals())
  if maximum is None and isinstance(minimum, int):
    metadata["maximum"] = INT32_MAX
  return dataclasses.field(default=default, metadata=metadata)


def changed(options_type, name, **rules):
  """Returns a copy of an option of another dataclass with other rules."""
  (field,) = (f for f in option_fields(options_type) if f.name == name)
  return option(**{**field.metadata, **rules})


def is_empty(value):
  """Returns whether a value is None, or an empty text or tuple."""
  return value is None or (isinstance(value, (str, tuple, list)) and not value)


def option_fields(options_type):
  """Lists the fields of a dataclass that were made by `option`."""
  return [f for f in dataclasses.fields(options_type) if "help" in f.metadata]


def options_from_json(options_type, values, source):
  """Makes options of the values in a JSON object; `source` is for messages."""
  unknown = values.keys() - {f.name for f in dataclasses.fields(options_type)}
  if unknown:
    raise ValueError(
      f"{source}: there is no option {', '.join(sorted(unknown))}. Remove it, "
      "or update bert_span."
    )
  try:
    return options_type(**values)
  except (TypeError, ValueError) as error:
    raise ValueError(f"{source}: {error}. Correct it.") from error


def check_option(field, value):
  """Raises ValueError if a value breaks a rule of its field."""
  value_type, is_optional = option_type(field)
  rules = field.metadata
  if value is None and is_optional:
    return
  if rules["choices"]:
    is_allowed = value in rules["choices"]
    rule = f"one of {', '.join(rules['choices'])}"
  elif value_type is bool:
    is_allowed, rule = isinstance(value, bool), "True or False"
  elif value_type in (int, float):
    number = numbers.Integral if value_type is int else numbers.Real
    bounds = [row for row in _BOUNDS if rules[row[0]] is not None]
    is_allowed = (
      isinstance(value, number)
      and not isinstance(value, bool)
      and -math.inf < value < math.inf
      and all(is_within(value, rules[name]) for name, _, is_within in bounds)
    )
    words = " and ".join(f"{text} {rules[name]:,}" for name, text, _ in bounds)
    adjective = "whole" if value_type is int else "finite"
    rule = f"a {adjective} number {words}".strip()
  elif typing.get_origin(value_type) is tuple:
    is_allowed = isinstance(value, (tuple, list)) and all(
      not isinstance(part, str) or part.strip() for part in value
    )
    rule = "one or several values, none of them empty"
  elif rules["is_output"] and not is_optional:
    is_allowed, rule = not is_empty(value), "the name of a file"
  else:
    return
  if not is_allowed:
    rule = f"None or {rule}" if is_optional else rule
    raise ValueError(f"{field.name} must be {rule}. Received: {value!r}")


def option_type(field):
  """Returns the type of a field without None, and whether None is allowed."""
  if not isinstance(field.type, types.UnionType):
    return field.type, False
  (value_type,) = (
    x for x in typing.get_args(field.type) if x is not types.NoneType
  )
  return value_type, True


def flag_name(field):
  """Returns the name of an option's flag."""
  return field.metadata["flag"] or field.name


def flagfile_text(options):
  """Returns a flagfile that repeats a run.

  Options that were not given are comments with their defaults, since some, such
  as do_lower_case, follow the model.
  """
  given, defaults = [], []
  for field in option_fields(options):
    value, rules = getattr(options, field.name), field.metadata
    is_given = field.name in options._given
    if not is_given and rules["flag_default"] is not None:
      value = rules["flag_default"]
    if value is None and field.default is not None:
      value = "none"
    if rules["flag"] not in (False, WORD, FOREIGN) and not is_empty(value):
      lines = given if is_given else defaults
      lines += _flag_lines(flag_name(field), value, rules["repeated"])
  lines = [*sorted(given), *(f"# {line}" for line in sorted(defaults))]
  return "".join(f"{line}\n" for line in lines)


def _flag_lines(name, value, repeated):
  if isinstance(value, bool):
    return [f"--{'' if value else 'no'}{name}"]
  if repeated:
    return [f"--{name}={part}" for part in value]
  if isinstance(value, (tuple, list)):
    value = ",".join(map(str, value))
  return [f"--{name}={value}"]


def check_same_options(path, saved, options):
  """Raises ValueError unless a run continues with the options of its start.

  Args:
    path: file or folder of the run, for messages.
    saved, options: dicts of the options at the start and now, each with
      `RUN_FORMAT` as "format".
  """
  if saved.get("format") != options["format"]:
    raise ValueError(
      f"The run of {path} was started by another version of bert_span: its "
      f"format is {saved.get('format')!r}, not {options['format']}. Give "
      "another output_dir to start a new run."
    )
  changes = differences(saved, options)
  if changes:
    raise ValueError(
      f"The run of {path} was started with other options: "
      f"{'; '.join(changes)}. Give the same options to continue it, or another "
      "output_dir to start a new run."
    )


def differences(before, now, prefix=""):
  """Lists differences such as "optimizer.epsilon was 1e-06, is now 1e-08"."""
  changes = []
  for key in sorted({*before, *now}):
    old, new = before.get(key, "absent"), now.get(key, "absent")
    if isinstance(old, dict) and isinstance(new, dict):
      changes += differences(old, new, f"{prefix}{key}.")
    elif old != new:
      changes.append(f"{prefix}{key} was {old!r}, is now {new!r}")
  return changes
