"""Our predictions for the logits that the original's were recorded with."""

import dataclasses
import hashlib

import numpy as np

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.certificate.golden_logits import window_logits
from bert_span.data.window_batches import window_batches
from bert_span.heads.span import SPAN_HEAD
from bert_span.text.preprocessor import SpanPreprocessor

KINDS = ("random", "ties", "peaky")
_PREDICTIONS = "predictions"
_SHORT = (
  "predictions_nbest5_maxlen8",
  {"n_best_size": 5, "max_answer_length": 8},
)
_THRESHOLDS = tuple(
  (f"predictions_thr{threshold}", {"null_score_diff_threshold": threshold})
  for threshold in (-3.0, 2.5)
)


@dataclasses.dataclass(frozen=True)
class DecodingRun:
  """Some logits and options.

  Attributes:
    configuration: `Configuration`.
    kind: of `KINDS`.
    suffix: in the name of the original's predictions.
    options: dict of the DecoderOptions that are not the defaults.
  """

  configuration: object
  kind: str
  suffix: str = _PREDICTIONS
  options: dict = dataclasses.field(default_factory=dict)

  @property
  def prefix(self):
    """What the names of its files begin with."""
    return f"pred_{self.configuration.name}_{self.kind}"

  @property
  def is_default(self):
    """Whether n-best lists and null odds were saved for these options."""
    return self.suffix == _PREDICTIONS

  @property
  def n_best_size(self):
    """Entries of an n-best list."""
    return self.decoder_options.n_best_size

  @property
  def decoder_options(self):
    """`DecoderOptions`."""
    return DecoderOptions(
      version_2_with_negative=self.configuration.version_2, **self.options
    )


def decoding_runs(configuration):
  """All runs of a configuration that the original's outputs hold.

  Args:
    configuration: `Configuration`.

  Returns:
    List of `DecodingRun`.
  """
  variants = [_SHORT, *(_THRESHOLDS if configuration.version_2 else ())]
  return [
    *(DecodingRun(configuration, kind) for kind in KINDS),
    *(DecodingRun(configuration, "peaky", *variant) for variant in variants),
  ]


def crashed_questions(goldens, run):
  """Dict from the ids on which the original ends to its exceptions.

  Args:
    goldens: `GoldenFiles`.
    run: `DecodingRun`.
  """
  short = (
    "" if run.is_default else f"_{run.suffix.removeprefix('predictions_')}"
  )
  name = f"{run.prefix}{short}_crashed.json"
  return goldens.read(name) if goldens.has(name) else {}


class RecordedWindows:
  """The windows of a configuration, kept for several runs.

  Args:
    goldens: `GoldenFiles`.
    configuration: `Configuration`.

  Attributes:
    contexts: dict of passages by question id.
  """

  def __init__(self, goldens, configuration):
    self._configuration = configuration
    examples = configuration.examples(goldens)
    self.contexts = {e.qas_id: e.context for e in examples}
    preprocessor = SpanPreprocessor(
      goldens.vocabulary, options=configuration.options, pad_to_max=True
    )
    self._batches = list(window_batches(examples, preprocessor))

  def logits(self, kind):
    """Yields the `WindowLogits` of each batch.

    Args:
      kind: of `KINDS`.
    """
    length = self._configuration.options.max_seq_length
    for examples, windows in self._batches:
      pairs = [
        window_logits(
          kind, examples[example].qas_id, int(index), length, int(first), int(n)
        )
        for example, index, first, n in zip(
          windows["example_index"],
          windows["doc_span_index"],
          windows["first_context_position"],
          windows["input_mask"].sum(axis=1),
          strict=True,
        )
      ]
      pairs = np.array(pairs, np.float32).reshape(-1, 2, length)
      starts, ends = pairs[:, 0], pairs[:, 1]  # [windows, seq_length]
      yield WindowLogits(
        examples, windows, {"start_logits": starts, "end_logits": ends}
      )

  def logits_hashes(self, kind):
    """SHA-1 of the start and of the end logits, by window.

    Args:
      kind: of `KINDS`.

    Returns:
      Dict from (qas_id, doc_span_index) to two strings.
    """
    return {
      (logits.examples[example].qas_id, int(index)): (_sha1(start), _sha1(end))
      for logits in self.logits(kind)
      for example, index, start, end in zip(
        logits.windows["example_index"],
        logits.windows["doc_span_index"],
        logits.logits["start_logits"],
        logits.logits["end_logits"],
        strict=True,
      )
    }

  def predictions(self, run):
    """Our predictions, by question id.

    Args:
      run: `DecodingRun` of this configuration.
    """
    decode = WindowDecoder(SPAN_HEAD, run.decoder_options)
    return {
      prediction.qas_id: prediction
      for logits in self.logits(run.kind)
      for prediction in decode(logits)
    }


def _sha1(values):
  return hashlib.sha1(values.astype("<f4").tobytes()).hexdigest()
