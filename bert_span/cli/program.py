"""How every program is run, and how it refuses what it cannot do."""

import functools
import importlib.util
import os
import sys

from absl import app, flags

from bert_span.keras_backend import BackendError, ensure_tensorflow_backend


def entry_point(main, **options):
  """Returns `run_program` of a main function, without arguments."""
  return functools.partial(run_program, main, **options)


def run_program(main, arguments=False, foreign_flags=False, log_level="2"):
  """Runs a program so that a user's mistake is one line, not a traceback.

  Sets TF_CPP_MIN_LOG_LEVEL, and TF_ENABLE_ONEDNN_OPTS=1, unless they are set:
  TensorFlow uses oneDNN only on x86 processors with 8-bit products, and others
  train a quarter slower without it.

  Args:
    main: function of argv.
    arguments: whether the program takes words that are not flags.
    foreign_flags: whether to leave flags that are not the program's in argv.
    log_level: what TensorFlow does not log: "2" is notes and warnings, "3" also
      errors that it recovers from, such as a GPU that cannot be used.
  """

  def guarded(argv):
    try:
      check(
        arguments or foreign_flags or len(argv) == 1,
        f"unknown arguments {' '.join(argv[1:])}; a flag begins with --, and "
        "its value follows = or a blank.",
      )
      ensure_tensorflow_backend()
      return main(argv)
    except Exception as error:
      if not _is_user_error(error):
        raise
      name = argv[0].rsplit("/", 1)[-1].removesuffix(".py")
      print(f"{name}: {error}", file=sys.stderr)
      return 1

  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", log_level)
  os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
  parser = _parse_own_flags if foreign_flags else app.parse_flags_with_usage
  app.run(guarded, flags_parser=parser)


def _parse_own_flags(argv):
  """Parses the program's flags; returns the rest of the command line."""
  try:
    return flags.FLAGS(argv, known_only=True)
  except flags.Error as error:
    print(f"FATAL Flags parsing error: {error}", file=sys.stderr)
    sys.exit(1)


def _is_user_error(error):
  """Whether the message of an error says all that the user needs."""
  if isinstance(error, (ValueError, OSError, flags.Error, BackendError)):
    return True
  if "tensorflow" not in sys.modules:
    return False
  # tf.io.gfile raises them for files that are missing or not allowed.
  errors = sys.modules["tensorflow"].errors
  return isinstance(
    error,
    (
      errors.NotFoundError,
      errors.PermissionDeniedError,
      errors.UnauthenticatedError,
      errors.UnimplementedError,
    ),
  )


def check(condition, message):
  """Raises IllegalFlagValueError with a message unless a condition holds."""
  if not condition:
    raise flags.IllegalFlagValueError(message)


def require(*holders):
  """Checks that each of some flags has a value."""
  for holder in holders:
    help_text = flags.FLAGS[holder.name].help
    check(holder.value, f"--{holder.name} is required: {help_text}")


def require_one(first, second):
  """Checks that exactly one of two flags has a value."""
  check(
    bool(first.value) != bool(second.value),
    f"Give either --{first.name} or --{second.name}.",
  )


def forbid(holders, reason):
  """Checks that none of some flags is on the command line."""
  for holder in holders:
    check(not holder.present, f"--{holder.name} {reason}. Leave the flag out.")


def check_report_extra(*packages, otherwise=""):
  """Checks that packages of the extra "report" are installed.

  Args:
    *packages: names to import.
    otherwise: another remedy, the end of the message.
  """
  missing = [name for name in packages if not importlib.util.find_spec(name)]
  check(
    not missing,
    f"{' and '.join(missing)} not installed. Install with pip install "
    f"{' '.join(missing)}, or bert_span with its extra [report]{otherwise}.",
  )
