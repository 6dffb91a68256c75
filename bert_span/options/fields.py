"""Option dataclasses: the default, help and bounds of each option in one place.

  @dataclasses.dataclass(frozen=True)
  class DecoderOptions(CheckedOptions):
    n_best_size: int = option(20, "Answers in an n-best list.", minimum=1)

cli/option_flags.py makes the flag --n_best_size of this field, with the same
default, help and bounds.
"""

import dataclasses
import math
import numbers
import operator
import types
import typing

REQUIRED = dataclasses.MISSING
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
  """Base of option dataclasses, which checks their values."""

  def __post_init__(self):
    for field in option_fields(self):
      check_option(field, getattr(self, field.name))


def option(
  default,
  help,
  minimum=None,
  maximum=None,
  above=None,
  below=None,
  choices=None,
  flag=None,
):
  """Returns a field of an option dataclass; the default may be REQUIRED.

  `flag` is the name of its flag: None is the field's own, False is no flag.
  """
  metadata = dict(locals())
  if maximum is None and isinstance(minimum, int):
    metadata["maximum"] = INT32_MAX
  return dataclasses.field(default=default, metadata=metadata)


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


def check_same_options(path, saved, options):
  """Raises ValueError unless a run of `path` continues with its options.

  Both are dicts with the `RUN_FORMAT` as "format".
  """
  if saved.get("format") != options["format"]:
    raise ValueError(
      f"The run of {path} was started by another version of bert_span: its "
      f"format is {saved.get('format')!r}, not {options['format']}. Give "
      "another --output_dir to start a new run."
    )
  changes = differences(saved, options)
  if changes:
    raise ValueError(
      f"The run of {path} was started with other options: "
      f"{'; '.join(changes)}. Give the same options to continue it, or another "
      "--output_dir to start a new run."
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
