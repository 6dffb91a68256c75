r"""Time of one question by part and type of op, with TensorFlow's profiler.

  python -m benchmarks.answering_profile [--model=minilm_squad] \
    [--data_file=DEV.json] [--questions=50]

Smallest setting:
  python -m benchmarks.answering_profile --model=minilm_squad --questions=1 \
    --rounds=1

Asks the exported SavedModel one question after the other, from strings. Prints
the milliseconds of a question on the clock and those of its windows by the
signature `logits`, in turns; and by the profiler, for each part of the graph,
its types of op that have at least 1 % of the part's time: how often one runs
for a question, and its own milliseconds. Parts are `text` (tokens, places of
windows), `windows` (their tables, what the decoder reads of them), `encoder`
(with the head), `answers` (the rest of the decoder) and `other` (the served
outputs).
"""

import itertools
import statistics
import tempfile

from absl import flags

from benchmarks.inputs import count_flag, data_file_flag, read_pairs
from benchmarks.machine import describe_machine
from benchmarks.op_times import OpTimes, read_trace
from benchmarks.repetitions import seconds_in_turns
from bert_span.cli import program

_MODEL = flags.DEFINE_string(
  "model", "minilm_squad", "Model directory, or name of a model."
)
_DATA_FILE = data_file_flag()
_QUESTIONS = count_flag("questions", 50, "Questions, one of each passage.")
_ROUNDS = count_flag("rounds", 5, "Times that all are asked, without profiler.")
_INPUTS = ("token_ids", "padding_mask", "segment_ids")
_PARTS = ("text", "windows", "encoder", "answers", "other")


def main(argv):
  """Asks with and without the profiler and prints the tables."""
  import tensorflow as tf

  from bert_span.extractors.span_extractor import SpanExtractor
  from bert_span.serving.signatures import ServedModel, write_saved_model

  print(describe_machine("tensorflow", "tensorflow-text"))
  by_passage = {text: asked for asked, text in read_pairs(_DATA_FILE.value)}
  questions = [
    {"question": tf.constant([asked]), "context": tf.constant([text])}
    for text, asked in itertools.islice(by_passage.items(), _QUESTIONS.value)
  ]
  extractor = SpanExtractor.from_preset(_MODEL.value)
  windows = [extractor.preprocessor(question) for question in questions]
  with tempfile.TemporaryDirectory() as scratch:
    vocabulary = extractor.preprocessor.tokenizer.vocabulary
    write_saved_model(ServedModel(extractor), vocabulary, f"{scratch}/model")
    served = tf.saved_model.load(f"{scratch}/model").signatures

    def ask():
      for question in questions:
        served["serving_default"](**question)

    def encode():
      for inputs in windows:
        ids, mask, segments = (inputs[name] for name in _INPUTS)
        served["logits"](input_ids=ids, input_mask=mask, segment_ids=segments)

    sides = {"a question": ask, "its windows by `logits`": encode}
    seconds_in_turns(sides, 1)  # prepares the graphs
    for name, seconds in seconds_in_turns(sides, _ROUNDS.value).items():
      each = 1e3 * statistics.median(seconds) / len(questions)
      print(f"{name}: {each:.1f} ms")
    tf.profiler.experimental.start(scratch)
    ask()
    tf.profiler.experimental.stop()
    times = OpTimes(
      read_trace(scratch), lambda name, kind: (part_of(name), kind)
    )
  for part in _PARTS:
    times.print_table(len(questions), "part", "op", part=(part,))


def part_of(name):
  """The part of the graph; the encoder is a function of the loop."""
  scopes = name.split("/")
  if "windows" in scopes:
    in_loop = scopes[scopes.index("windows") :]
    return "encoder" if "StatefulPartitionedCall" in in_loop else "windows"
  return next((part for part in _PARTS if part in scopes), "other")


if __name__ == "__main__":
  program.run_program(main)
