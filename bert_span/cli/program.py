"""How every program is run, and how it refuses what it cannot do."""

import contextlib
import importlib
import os
import signal
import sys

from absl import app, flags, logging

from bert_span.cli.flags import define_flags, read_flags, with_flags
from bert_span.cli.tensorflow_import import import_tensorflow
from bert_span.options.fields import FOREIGN, WORD, option_fields
from bert_span.training.callbacks import Preempted

# --help lists flags as those of the program, not of this module.
flags.disclaim_key_flags()

# The errors of tf.errors that files, storage, memory or other machines cause.
# Their messages say what a user needs; any other error is a bug.
_USER_ERRORS = (
  *("AbortedError", "AlreadyExistsError", "DataLossError"),
  *("DeadlineExceededError", "FailedPreconditionError", "NotFoundError"),
  *("PermissionDeniedError", "ResourceExhaustedError", "UnauthenticatedError"),
  *("UnavailableError", "UnimplementedError"),
)


class Refusal(ValueError):
  """A mistake of a user, in the words of the command line."""


def program(
  options_type,
  job,
  exits_on_sigterm=False,
  needs_tensorflow=lambda options: True,
):
  """Returns the function that runs a program: its flags, then its job.

  Args:
    options_type: dataclass of the options, a `FileOptions`; --help shows the
      docstring of its module.
    job: "module:function", a function of these options; if it returns False,
      the program ends with status 1.
    exits_on_sigterm: see `exit_on_sigterm`.
    needs_tensorflow: a function of the options, whether the job needs it.
  """

  def main(argv):
    options = None
    try:
      options = read_flags(options_type, argv[1:])
      if needs_tensorflow(options):
        import_tensorflow()
      module, name = job.split(":")
      function = getattr(importlib.import_module(module), name)
      return int(function(options) is False)
    except Exception as error:
      if not _is_user_error(error):
        raise
      text = _explanation(error, options)
      raise Refusal(with_flags(text, options_type)) from error

  if exits_on_sigterm:
    main = exit_on_sigterm()(main)
  rules = [f.metadata["flag"] for f in option_fields(options_type)]

  def run():
    # absl shows that of __main__, which for an installed command is another.
    document = sys.modules[options_type.__module__].__doc__
    sys.modules["__main__"].__doc__ = document
    names = define_flags(options_type)
    try:
      run_program(main, arguments=WORD in rules, foreign_flags=FOREIGN in rules)
    finally:
      for name in names:
        delattr(flags.FLAGS, name)

  run.main = main
  run.options_type = options_type
  return run


def run_program(main, arguments=False, foreign_flags=False):
  """Runs a main function of argv; a mistake is one line and exit status 1.

  Args:
    main: a function of argv that returns an exit status or None.
    arguments: whether words that are no flags are allowed.
    foreign_flags: whether flags that are not defined are allowed.
  """

  def main_or_message(argv):
    try:
      if len(argv) > 1 and not (arguments or foreign_flags):
        words = " ".join(argv[1:])
        raise ValueError(f"unknown arguments {words}; a flag begins with --.")
      if not flags.FLAGS["verbosity"].present:
        logging.set_verbosity(logging.WARNING)  # Hides notes on single files.
      return main(argv)
    except Exception as error:
      if not _is_user_error(error):
        raise
      name = argv[0].rsplit("/", 1)[-1].removesuffix(".py")
      print(f"{name}: {_explanation(error)}", file=sys.stderr)
      return 1

  def parse_flags(argv):
    try:
      words = [argv[0], *_with_flagfiles(argv[1:])]
      return flags.FLAGS(words, known_only=foreign_flags)
    except (flags.Error, UnicodeError) as error:
      if isinstance(error, UnicodeError):
        error = f"the file of --flagfile is not UTF-8 ({error}). Convert it."
      remedy = "Pass --helpshort or --helpfull to see help on flags."
      print(f"FATAL Flags parsing error: {error}\n{remedy}", file=sys.stderr)
      sys.exit(1)

  if hasattr(sys.stdout, "reconfigure"):  # A notebook's output is without it.
    # Lone surrogates and old terminals must not end a program.
    sys.stdout.reconfigure(errors="backslashreplace")
  # Hides what TensorFlow recovers from, such as the kinds of numbers for which
  # oneDNN has no kernel.
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
  # Without it, processors that lack 8-bit products train a quarter slower.
  os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
  try:
    try:
      app.run(main_or_message, flags_parser=parse_flags)
    finally:
      sys.stdout.flush()
  except OSError as error:
    # Else Python flushes it again when it exits: two lines, and status 120.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):  # `| head` has stopped reading.
      print(f"Standard output: {error}", file=sys.stderr)
      sys.exit(1)
  except KeyboardInterrupt:
    sys.excepthook = lambda *_: None  # No traceback; Python ends by SIGINT.
    raise
  except Preempted as ended:
    # The machine is about to go, and TensorFlow takes seconds to unload.
    sys.stderr.flush()
    os._exit(ended.code)


def _with_flagfiles(words):
  """Yields words, and in the place of --flagfile the lines of the file.

  absl does the same, but keeps the byte order mark that some editors write.
  """
  for line in flags.FLAGS.read_flags_from_files(words, force_gnu=False):
    bare = line.removeprefix("\ufeff")
    if bare != line and bare.lstrip("-").startswith("flagfile"):
      yield from _with_flagfiles([bare])
    elif bare == line or not bare.startswith(("#", "//")):
      yield bare


def _is_user_error(error):
  """Whether the message of an error says all that the user needs."""
  if isinstance(error, (ValueError, OSError, flags.Error)):
    return not isinstance(error, BrokenPipeError)
  if "tensorflow" not in sys.modules:
    return False
  errors = sys.modules["tensorflow"].errors
  return isinstance(error, tuple(getattr(errors, n) for n in _USER_ERRORS))


def _explanation(error, options=None):
  """Returns the message of an error, with the option that names its file."""
  if isinstance(error, (ValueError, flags.Error)):
    return str(error)
  text = str(error)
  if hasattr(error, "message"):  # TensorFlow's, without the place in its graph.
    text = error.message.split("\n")[0]
  for name, path in options.named_files() if options else ():
    if path and (text.startswith(path) or f"'{path}'" in text):
      is_missing = "NotFound" in type(error).__name__
      remedy = " Give an existing path." if is_missing else ""
      return f"{name}: {text}.{remedy}"
  return text


@contextlib.contextmanager
def exit_on_sigterm():
  """Makes SIGTERM an exit by SystemExit, which removes unfinished files."""
  received = []

  def leave(number, _):
    received.append(number)
    sys.exit(128 + number)

  previous = signal.signal(signal.SIGTERM, leave)
  try:
    yield
  except Exception:
    if not received:
      raise
  finally:
    signal.signal(signal.SIGTERM, previous)
  # Importing compiled code turns a SystemExit into an ImportError, and Python
  # ignores one that is raised within a destructor.
  if received:
    sys.exit(128 + received[0])
