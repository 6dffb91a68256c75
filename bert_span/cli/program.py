"""How every program is run, and how it refuses what it cannot do."""

import importlib.util
import os
import sys

from absl import app, flags

from bert_span.keras_backend import BackendError, ensure_tensorflow_backend


def run_program(main, foreign_flags=False, log_level="2"):
  """Runs a program so that a user's mistake is one line, not a traceback.

  TensorFlow's own notes on processors and plugins are left out, unless
  TF_CPP_MIN_LOG_LEVEL asks for them. Its matrix products are oneDNN's, unless
  TF_ENABLE_ONEDNN_OPTS=0: by itself TensorFlow takes them on x86 processors
  with 8-bit products only, and others train a quarter slower without.

  Args:
    main: function of argv.
    foreign_flags: leave flags that are not the program's in argv, for main to
      hand on.
    log_level: what of TensorFlow's log is left out: "2", notes and warnings;
      "3", also errors that it goes on after, such as a GPU that cannot be used.
  """

  def guarded(argv):
    try:
      ensure_tensorflow_backend()
      return main(argv)
    except Exception as error:
      if not _is_mistake_of_a_user(error):
        raise
      name = argv[0].rsplit("/", 1)[-1].removesuffix(".py")
      print(f"{name}: {error}", file=sys.stderr)
      return 1

  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", log_level)
  os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
  parser = _own_flags if foreign_flags else app.parse_flags_with_usage
  app.run(guarded, flags_parser=parser)


def _own_flags(argv):
  """Parses the program's flags; gives what is left of the command line."""
  try:
    return flags.FLAGS(argv, known_only=True)
  except flags.Error as error:
    print(f"FATAL Flags parsing error: {error}", file=sys.stderr)
    sys.exit(1)


def _is_mistake_of_a_user(error):
  """Whether an error tells all there is to tell by its message."""
  if isinstance(error, (ValueError, OSError, flags.Error, BackendError)):
    return True
  if "tensorflow" not in sys.modules:
    return False
  # What tf.io.gfile raises for files that are not there or not allowed.
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


def refuse_arguments(argv):
  """Refuses words on the command line that are no flags.

  Args:
    argv: what main was called with.

  Raises:
    ValueError: there are some; a forgotten "--" would be ignored otherwise.
  """
  if len(argv) > 1:
    raise ValueError(
      f"unknown arguments {' '.join(argv[1:])}; flags begin with --, and a "
      "value stands behind = or a blank."
    )


def check(condition, message):
  """Refuses flags that do not fit together.

  Args:
    condition: whether all is well.
    message: what is wrong and what to do, naming the flags.

  Raises:
    flags.IllegalFlagValueError: the condition is false.
  """
  if not condition:
    raise flags.IllegalFlagValueError(message)


def check_matplotlib(otherwise=""):
  """Refuses to plot where matplotlib is missing.

  Args:
    otherwise: what else can be done, the end of the message.
  """
  check(
    importlib.util.find_spec("matplotlib"),
    "the plots need matplotlib, which is not installed. Install it: pip "
    f"install matplotlib, or bert_span with its extra [report]{otherwise}.",
  )
