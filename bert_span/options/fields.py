"""Option dataclasses: all that is known of an option, in one place.

  @dataclasses.dataclass(frozen=True)
  class DecoderOptions(CheckedOptions):
    n_best_size: int = option(20, "Answers in an n-best list.", minimum=1)

cli/flags.py makes the flag --n_best_size of this field, docs/flags.md
describes it, and a caller in Python is held to the same rules. Where a message
names an option by a plain word it is in backquotes: `model`.
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
# Saved with the options of a run. Another number stands for other code, with
# which equal options give other results: raise it whenever code becomes so.
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
  It knows which options were given, on the command line or in Python: all
  others follow the model where they can. (dataclasses.replace gives all.)
  """

  def __new__(cls, *values, **named):
    options = super().__new__(cls)
    fields = [f for f in dataclasses.fields(cls) if f.init and not f.kw_only]
    # Frozen, as the dataclasses are.
    names = {*named, *(f.name for f in fields[: len(values)])}
    object.__setattr__(options, "_given", names)
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
    """Returns a dict of the given options of a dataclass, or of all."""
    fields = option_fields(options_type or self)
    names = [field.name for field in fields if self.is_given(field.name)]
    return {name: getattr(self, name) for name in names}

  @classmethod
  def of(cls, options, **others):
    """Returns the part of a program's options that this dataclass has."""
    fields = [f for f in dataclasses.fields(cls) if hasattr(options, f.name)]
    values = {field.name: getattr(options, field.name) for field in fields}
    return cls(**{**values, **others})

  def _check_relations(self, field):
    name = field.name
    if not (self.is_given(name) and self._is_on(name)):
      return
    needs = field.metadata["needs"]
    if not all(map(self._is_on, needs)):
      others = " and ".join(f"`{other}`" for other in needs)
      raise ValueError(f"`{name}` needs {others}.")
    for other in field.metadata["conflicts"]:
      if self.is_given(other) and self._is_on(other):
        raise ValueError(f"Give either `{name}` or `{other}`.")

  def _is_on(self, name):
    """Whether an option has a value that is more than a switch left off."""
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
    writes: of an output that is a folder: regular expressions of the names in
      it, or a dict of them by the option that asks for them. Of one that is a
      file: the endings of files beside it.
    needs, conflicts: names of options that must, or must not, be given too.
    flag: name of its flag; None is the field's own, WORD is a word of the
      command line that is no flag, FOREIGN all flags that are not known, and
      False is nothing.
    flag_default: what --help shows as the default, if it is not `default`.
    alias: another name of the flag.
    repeated: a tuple is given by repeating the flag, and not by commas.
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
  kind, is_optional = option_type(field)
  rules = field.metadata
  if value is None and is_optional:
    return
  if rules["choices"]:
    is_allowed = value in rules["choices"]
    rule = f"one of {', '.join(rules['choices'])}"
  elif kind is bool:
    is_allowed, rule = isinstance(value, bool), "True or False"
  elif kind in (int, float):
    number = numbers.Integral if kind is int else numbers.Real
    bounds = [row for row in _BOUNDS if rules[row[0]] is not None]
    is_allowed = (
      isinstance(value, number)
      and not isinstance(value, bool)
      and -math.inf < value < math.inf
      and all(is_within(value, rules[name]) for name, _, is_within in bounds)
    )
    words = " and ".join(f"{text} {rules[name]:,}" for name, text, _ in bounds)
    rule = f"a {'whole' if kind is int else 'finite'} number {words}".strip()
  elif typing.get_origin(kind) is tuple:
    is_allowed = isinstance(value, (tuple, list)) and all(
      not isinstance(part, str) or part.strip() for part in value
    )
    rule = "one or several values, none of them empty"
  else:
    return
  if not is_allowed:
    rule = f"None or {rule}" if is_optional else rule
    raise ValueError(f"{field.name} must be {rule}. Received: {value!r}")


def option_type(field):
  """Returns the type of a field without None, and whether None is allowed."""
  if not isinstance(field.type, types.UnionType):
    return field.type, False
  (kind,) = (t for t in typing.get_args(field.type) if t is not types.NoneType)
  return kind, True


def flag_name(field):
  """Returns the name of an option's flag."""
  return field.metadata["flag"] or field.name


def flagfile_text(options):
  """Returns a flagfile that repeats a run; defaults of flags are comments.

  What was not given may follow from the model: --do_lower_case, for one.
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
  """Raises ValueError unless a run of `path` continues with its options.

  Both are dicts with the `RUN_FORMAT` as "format".
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
