"""Runs the original run_squad and records what it computes, as golden files.

  python3.7 record.py --bert=CLONE --configurations=configurations.json \
    --data SQUAD_FOLDER --vocab_file=vocab.txt --output_dir=GOLDENS

README.md says what is needed and what is written.
"""

import argparse
import functools
import json
import os

from golden_writer import GoldenWriter
from original_code import (
  describe_original,
  import_original,
  questions_of,
  read_examples,
)
from record_fine_tuning import record_fine_tuning
from record_model import record_model
from record_optimizer import record_optimizer
from record_predictions import record_predictions
from record_scores import record_scores
from record_tokens import record_tokens
from record_windows import make_features, record_windows

_PARTS = ("windows", "tokens", "model", "optimizer", "scores", "fine_tuning")


def main():
  """Records the parts that are asked for."""
  arguments = _parse_arguments()
  run_squad = import_original(arguments.bert)
  writer = GoldenWriter(arguments.output_dir)
  tokenizer = run_squad.tokenization.FullTokenizer(
    arguments.vocab_file, do_lower_case=True
  )
  with open(arguments.configurations, encoding="utf-8") as file:
    plan = json.load(file)
  writer.write_json("configurations.json", plan, indent=1)
  writer.write_json("source.json", describe_original())
  find = functools.partial(_find, arguments.data)
  recorded = {}
  for configuration in plan["configurations"]:
    if arguments.only and configuration["name"] not in arguments.only:
      continue
    path = find(configuration["file"])
    configuration["qas_ids"] = [q["id"] for _, q in questions_of(path)]
    examples, warnings = read_examples(run_squad, configuration, path)
    features = make_features(run_squad, configuration, examples, tokenizer)
    recorded[configuration["name"]] = examples, features
    if "windows" not in arguments.parts:
      continue
    record_windows(writer, configuration, examples, warnings, features)
    if not configuration["is_training"]:
      record_predictions(run_squad, writer, configuration, examples, features)
  if "tokens" in arguments.parts:
    paths = [find(name) for name in plan["token_files"]]
    record_tokens(run_squad, writer, arguments.vocab_file, paths)
  if "model" in arguments.parts:
    record_model(run_squad, writer, plan["model"], recorded)
  if "optimizer" in arguments.parts:
    record_optimizer(run_squad, writer)
  if "scores" in arguments.parts:
    record_scores(writer, plan["scores"], find, arguments.evaluators)
  if "fine_tuning" in arguments.parts:
    settings = {"bert_config": plan["model"]["bert_config"]}
    settings.update(plan["fine_tuning"])
    record_fine_tuning(run_squad, writer, settings, recorded)


def _parse_arguments():
  parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
  required = {
    "bert": "clone of google-research/bert",
    "configurations": "JSON file that says what to record, see README.md",
    "vocab_file": "uncased WordPiece vocabulary",
    "output_dir": "folder of the golden files",
  }
  for name, description in required.items():
    parser.add_argument(f"--{name}", required=True, help=description)
  parser.add_argument(
    "--data",
    nargs="+",
    required=True,
    help="folders of the SQuAD files that the configurations name",
  )
  parser.add_argument(
    "--evaluators",
    help="folder with evaluate-v1.1.py and evaluate-v2.0.py, for scores",
  )
  parser.add_argument("--only", nargs="*", help="names of configurations")
  parser.add_argument("--parts", nargs="*", choices=_PARTS, default=_PARTS)
  return parser.parse_args()


def _find(folders, name):
  paths = [os.path.join(folder, name) for folder in folders]
  for path in paths:
    if os.path.exists(path):
      return path
  raise SystemExit(f"There is none of {', '.join(paths)}. Correct --data.")


if __name__ == "__main__":
  main()
