"""Exports a trained model as a verified version that a server may load."""

import os

from bert_span.answers.answer_graph import device_steps
from bert_span.data.window_batches import example_batches
from bert_span.extractors.precision import resolve_dtype, with_encoder_dtype
from bert_span.serving import verification, version_folder
from bert_span.serving.model_card import write_model_card
from bert_span.serving.signatures import ServedModel, write_saved_model
from bert_span.serving.warmup import check_warmup, write_warmup_requests
from bert_span.squad.options import SHORT
from bert_span.squad.sample_examples import sample_examples
from bert_span.storage.log import log_line, progress

# The largest difference between the graph's scores and the extractor's. Both
# compute the same; kernels choose the order of additions.
_TOLERANCE = {"float32": 1e-4, "bfloat16": 0.05, "float16": 0.05}


def export_saved_model(
  extractor,
  base,
  version=None,
  steps=None,
  dtype="float32",
  with_warmup=None,
  source=None,
  proof=SHORT,
):
  """Writes, verifies and publishes an `Extractor` as a version to serve.

  `base` is the local folder of all versions. `steps` are `StepOptions`, None
  for this machine's; dtype is the encoder's, see `resolve_dtype`; with_warmup
  None writes warm-up requests if their package is installed; `source` is the
  directory of the model, for the model card; `proof` is that of
  `sample_examples`. Returns the path of the version and its `Verification`. A
  ValueError publishes nothing.
  """
  dtype = resolve_dtype(dtype)
  extractor.check_trained()
  steps = device_steps(steps)
  with_warmup = check_warmup(with_warmup)
  vocabulary = extractor.preprocessor.tokenizer.vocabulary
  if dtype != "float32":
    extractor = with_encoder_dtype(extractor, dtype)
  examples = sample_examples(proof)
  name = os.path.basename(os.path.realpath(base))
  with version_folder.new_version(base, version) as target:
    folder = target.directory
    log_line("Writing the SavedModel ...")
    write_saved_model(ServedModel(extractor, steps), vocabulary, folder)
    log_line(f"Answering {len(examples)} questions with the model ...")
    predictions = progress(
      extractor.predictions(examples, steps.max_windows_per_step), len(examples)
    )
    expected = list(map(extractor.columns.expected_row, predictions))
    log_line("Answering them with the SavedModel in a fresh process ...")
    verified = verification.verify_saved_model(
      folder,
      # The extractor's batches: half precision depends on their padding.
      example_batches(examples),
      expected,
      _TOLERANCE[dtype],
    )
    if with_warmup:
      pairs = [(x.question, x.context) for x in sample_examples(SHORT)]
      longest = max(pairs, key=lambda pair: len(pair[1]))
      batches = [pairs[:1], pairs[:8], [longest]]
      length = extractor.window_options.max_seq_length
      write_warmup_requests(folder, name, batches, length)
    write_model_card(folder, name, extractor, steps, dtype, verified, source)
  return target.path, verified
