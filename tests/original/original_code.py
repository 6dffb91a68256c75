"""The original run_squad, imported from a clone of google-research/bert."""

import json
import os
import platform
import subprocess
import sys
import tempfile

COMMIT = "eedf5716ce1268e56f0a50264a88cafad334ac61"
TENSORFLOW = "1.15"


def import_original(clone):
  """The unmodified run_squad of a clone; SystemExit for any other code."""
  git = ["git", "-C", clone]
  commit = subprocess.check_output([*git, "rev-parse", "HEAD"]).decode().strip()
  if commit != COMMIT:
    sys.exit(f"--bert={clone} is at {commit}; check out {COMMIT}.")
  changed = subprocess.check_output(
    [*git, "status", "--porcelain", "--untracked-files=no"]
  ).decode()
  if changed:
    sys.exit(f"--bert={clone} has changed files:\n{changed}")
  sys.path.insert(0, clone)
  import tensorflow as tf

  if not tf.__version__.startswith(TENSORFLOW):
    sys.exit(f"TensorFlow {TENSORFLOW} is needed, found {tf.__version__}.")
  tf.logging.set_verbosity(tf.logging.ERROR)
  import run_squad

  run_squad.FLAGS(
    ["run_squad", "--vocab_file=-", "--bert_config_file=-", "--output_dir=-"]
  )
  return run_squad


def describe_original():
  """What is imported: repository, commit, versions."""
  import tensorflow as tf

  return (
    f"google-research/bert run_squad (commit {COMMIT[:12]}), TensorFlow "
    f"{tf.__version__}, Python {platform.python_version()}"
  )


def read_examples(run_squad, configuration, path):
  """The original's examples of a SQuAD file, and its warnings."""
  run_squad.FLAGS.version_2_with_negative = configuration["version_2"]
  warnings = []
  warn = run_squad.tf.logging.warning
  run_squad.tf.logging.warning = lambda text, *args: warnings.append(
    text % args
  )
  try:
    if not configuration["is_training"]:
      return run_squad.read_squad_examples(path, is_training=False), warnings
    with tempfile.TemporaryDirectory() as folder:
      first = os.path.join(folder, "first_answers.json")
      with open(first, "w", encoding="utf-8") as file:
        json.dump(_with_first_answers(path), file)
      return run_squad.read_squad_examples(first, is_training=True), warnings
  finally:
    run_squad.tf.logging.warning = warn


def _with_first_answers(path):
  """A SQuAD file with one answer a question: the original takes no more."""
  with open(path, encoding="utf-8") as file:
    squad = json.load(file)
  for _, question in questions_in(squad):
    question["answers"] = question["answers"][:1]
  return squad


def questions_of(path):
  """Pairs (context, question) of a SQuAD file."""
  with open(path, encoding="utf-8") as file:
    return list(questions_in(json.load(file)))


def questions_in(squad):
  for article in squad["data"]:
    for paragraph in article["paragraphs"]:
      for question in paragraph["qas"]:
        yield paragraph["context"], question
