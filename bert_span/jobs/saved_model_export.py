"""From a trained model to a checked version that a server may load."""

import dataclasses
import importlib.metadata
import importlib.resources
import os
import sys

import bert_span
from bert_span.answers.window_steps import device_steps
from bert_span.data.window_batches import example_batches
from bert_span.extractor import SpanExtractor
from bert_span.serving import model_card, verification, version_folder, warmup
from bert_span.serving.encoder_dtype import cast_encoder
from bert_span.serving.signature_guide import output_guide
from bert_span.serving.signatures import ServedModel
from bert_span.squad.example import SquadExample
from bert_span.squad.reader import read_squad

_SAMPLE_FILE = "sample/dev.json"
_PACKAGES = ("tensorflow", "tensorflow-text", "keras", "keras-hub")

# How far scores of the graph may be from those of the Python path. Both run
# the same arithmetic; in which order sums are taken is up to the kernels.
_TOLERANCE = {"float32": 1e-4, "bfloat16": 0.05, "float16": 0.05}


def export_model(
  model,
  base,
  version=None,
  steps=None,
  dtype="float32",
  with_warmup=None,
  window_options=None,
  decoder_options=None,
  fixed_length=False,
):
  """Exports a model directory and prints what was written.

  Args:
    model: what `SpanExtractor.from_preset` takes.
    base, version, steps, dtype, with_warmup: see `export_saved_model`.
    window_options: `WindowOptions`; None for the model's.
    decoder_options: those of the model's head; None for the model's.
    fixed_length: see `SpanExtractor`.

  Raises:
    ValueError: see `export_saved_model`; or there is no such model.
  """
  # Before the model is loaded, so that a missing package is reported first.
  version_folder.check_version(base, version)
  with_warmup = warmup.are_written(with_warmup)
  extractor = SpanExtractor.from_preset(
    model, window_options, decoder_options, fixed_length
  )
  path, verified = export_saved_model(
    extractor, base, version, steps, dtype, with_warmup, source=model
  )
  print(f"Ops of the graph: {', '.join(verified.ops)}")
  print(
    "Of tensorflow-text, so the server must have them: "
    f"{', '.join(verified.text_ops)}"
  )
  print(
    f"{verified.num_questions} answers in a fresh process equal the model's; "
    f"scores differ by at most {verified.largest_difference:.1e}."
  )
  print(f"Written: {path}", file=sys.stderr)


def export_saved_model(
  extractor,
  base,
  version=None,
  steps=None,
  dtype="float32",
  with_warmup=None,
  source=None,
):
  """Writes, checks and publishes a version of a served model.

  Args:
    extractor: the `SpanExtractor` to serve, with all its options.
    base: local folder of all versions of the model.
    version: int; None takes the next one.
    steps: `StepOptions`; None takes those of this machine.
    dtype: of the encoder, see `encoder_dtype.DTYPES`; it is cast first, and
      the graph must agree with the model in that precision.
    with_warmup: write warm-up requests, see `warmup.are_written`.
    source: directory the model was loaded from; the card tells what stands
      there about its training. None where there is none.

  Returns:
    Path of the version, and its `Verification`.

  Raises:
    ValueError: the version exists, an answer differs, the graph has an op
      that TensorFlow Serving does not have, or warm-up requests are insisted
      on and cannot be written. Nothing is published then.
  """
  steps = device_steps(steps)
  with_warmup = warmup.are_written(with_warmup)
  extractor = _with_dtype(extractor, dtype)
  head = extractor.head
  examples = sample_examples()
  name = os.path.basename(os.path.realpath(base))
  with version_folder.new_version(base, version) as target:
    directory = target.directory
    version_folder.write_saved_model(
      ServedModel(extractor, steps),
      extractor.preprocessor.tokenizer.vocabulary,
      directory,
    )
    predictions = extractor.predict(examples, steps.max_windows_per_step)
    verified = verification.verify(
      directory,
      # The extractor's own batches: in half precision a window's logits
      # depend on how far those beside it are padded.
      example_batches(examples),
      list(map(head.served.expected_row, predictions)),
      _TOLERANCE[dtype],
    )
    if with_warmup:
      warmup.write_warmup_requests(
        directory,
        name,
        _warmup_batches(examples),
        extractor.window_options.max_seq_length,
      )
    card = {
      "name": name,
      "signatures": model_card.signatures_of(directory, output_guide(head)),
      "options": _all_options(extractor, steps, dtype),
      "encoder": _encoder_sizes(extractor.model.backbone),
      "training": model_card.training_run(source) if source else {},
      "versions": _package_versions(),
      "verification": _verification_figures(verified),
      "text_ops": list(verified.text_ops),
      "ops": list(verified.ops),
    }
    model_card.write_model_card(directory, card)
  return target.path, verified


def sample_examples():
  """Questions to compare the graph and the Python path on.

  Returns:
    List of `SquadExample`: those of the embedded sample, one on a passage of
    many windows, and some on passages without a word or with several bytes a
    character.
  """
  path = importlib.resources.files("bert_span") / _SAMPLE_FILE
  examples = read_squad(str(path)).examples
  contexts = list(dict.fromkeys(example.context for example in examples))
  question = examples[0].question
  return [
    *examples,
    SquadExample("all passages in one", question, "\n\n".join(contexts)),
    SquadExample("empty passage", question, ""),
    SquadExample("blank passage", question, " \n\t "),
    SquadExample("accents and emoji", question, "É 日本 🙂 " + contexts[0]),
  ]


def _with_dtype(extractor, dtype):
  """The extractor, or a copy of it with its encoder in another precision."""
  model = cast_encoder(extractor.model, dtype)
  if model is extractor.model:
    return extractor
  tokenizer = extractor.preprocessor.tokenizer
  return SpanExtractor(
    model,
    tokenizer.vocabulary,
    tokenizer.do_lower_case,
    extractor.window_options,
    extractor.decoder_options,
    extractor.preprocessor.sliding_windows.pad_to_max,
    extractor.head,
  )


def _warmup_batches(examples):
  """Batches of pairs (question, context): one, eight, and a long passage."""
  pairs = [(example.question, example.context) for example in examples]
  longest = max(pairs, key=lambda pair: len(pair[1]))
  return [pairs[:1], pairs[:8], [longest]]


def _all_options(extractor, steps, dtype):
  preprocessor = extractor.preprocessor
  return {
    "head": extractor.head.name,
    **dataclasses.asdict(extractor.window_options),
    **dataclasses.asdict(extractor.decoder_options),
    **dataclasses.asdict(steps),
    "do_lower_case": preprocessor.tokenizer.do_lower_case,
    "fixed_length": preprocessor.sliding_windows.pad_to_max,
    "dtype": dtype,
  }


def _encoder_sizes(backbone):
  return {
    "layers": backbone.num_layers,
    "heads": backbone.num_heads,
    "hidden": backbone.hidden_dim,
    "vocabulary": backbone.vocabulary_size,
    "parameters": backbone.count_params(),
  }


def _package_versions():
  return {
    "bert_span": bert_span.__version__,
    **{name: importlib.metadata.version(name) for name in _PACKAGES},
  }


def _verification_figures(verified):
  return {
    "questions compared with the model": verified.num_questions,
    "answers that differed": 0,
    "largest difference of a score": verified.largest_difference,
  }
