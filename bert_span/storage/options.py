"""Option dataclasses: the default, help and bounds of each option in one place.

  @dataclasses.dataclass(frozen=True)
  class DecoderOptions:
    n_best_size: int = option(20, "Answers in an n-best list.", minimum=1)

    def __post_init__(self):
      check_options(self)

cli/option_flags.py makes the flag --n_best_size of this field, with the same
default, help and bounds.
"""

import dataclasses
import math
import numbers
import types
import typing

REQUIRED = dataclasses.MISSING
# The greatest whole number of an option without a maximum: TensorFlow's sizes
# and positions are int32.
INT32_MAX = 2**31 - 1


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
  """Returns a field of an option dataclass.

  Args:
    default: its default, or REQUIRED.
    help: one sentence, with the unit.
    minimum, maximum: least and greatest allowed number.
    above, below: numbers between which an allowed number lies.
    choices: the allowed strings.
    flag: name of its flag; None is the field's own name, False is no flag.
  """
  if maximum is None and isinstance(minimum, int):
    maximum = INT32_MAX
  metadata = {
    "help": help,
    "minimum": minimum,
    "maximum": maximum,
    "above": above,
    "below": below,
    "choices": choices,
    "flag": flag,
  }
  return dataclasses.field(default=default, metadata=metadata)


def option_fields(options_type):
  """Lists the fields of a dataclass that were made by `option`."""
  return [f for f in dataclasses.fields(options_type) if "help" in f.metadata]


def check_options(options):
  """Checks all options of a dataclass.

  Raises:
    ValueError: a value breaks a rule of its field.
  """
  for field in option_fields(options):
    check_option(field, getattr(options, field.name))


def options_from_json(options_type, values, source):
  """Makes options of the values in a JSON object.

  Raises:
    ValueError: a name is unknown, or a value breaks the rule of its field. The
      message begins with `source`.
  """
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
  if value is None and is_optional:
    return
  rules = field.metadata
  if rules["choices"]:
    is_allowed = value in rules["choices"]
    rule = f"one of {', '.join(rules['choices'])}"
  elif kind is bool:
    is_allowed = isinstance(value, bool)
    rule = "True or False"
  elif kind in (int, float):
    is_allowed = _is_number(value, kind) and _is_within(value, rules)
    rule = _number_rule(kind, rules)
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


def _is_number(value, kind):
  allowed = numbers.Integral if kind is int else numbers.Real
  return isinstance(value, allowed) and not isinstance(value, bool)


def _is_within(value, rules):
  """Whether a number is finite and within its bounds; NaN is not."""
  least, most = rules["minimum"], rules["maximum"]
  above, below = rules["above"], rules["below"]
  return (
    -math.inf < value < math.inf
    and (least is None or value >= least)
    and (most is None or value <= most)
    and (above is None or value > above)
    and (below is None or value < below)
  )


def _number_rule(kind, rules):
  bounds = [
    f"{words} {rules[name]:,}"
    for name, words in (
      ("minimum", "of at least"),
      ("maximum", "of at most"),
      ("above", "above"),
      ("below", "below"),
    )
    if rules[name] is not None
  ]
  number = "a whole number" if kind is int else "a finite number"
  return " ".join([number, " and ".join(bounds)]).strip()
