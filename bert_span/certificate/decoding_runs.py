"""Our predictions from the logits that the original's were recorded with.

These logits are a function of the window's name, so they are not stored. The
outputs hold hashes of them.
"""

import dataclasses
import zlib

import numpy as np

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.certificate.golden_files import Configuration
from bert_span.data.window_batches import window_batches
from bert_span.heads.span import SPAN_HEAD

KINDS = ("random", "ties", "peaky")
_SHORT = ("nbest5_maxlen8", {"n_best_size": 5, "max_answer_length": 8})
_THRESHOLDS = tuple(
  (f"thr{threshold}", {"null_score_diff_threshold": threshold})
  for threshold in (-3.0, 2.5)
)


@dataclasses.dataclass(frozen=True)
class DecodingRun:
  """Logits of one of the `KINDS`, decoded with some options.

  N-best lists and null odds were saved only for the default options, whose
  variant is "".
  """

  configuration: Configuration
  kind: str
  variant: str = ""  # In the names of its files.
  options: dict = dataclasses.field(default_factory=dict)  # of DecoderOptions

  @property
  def prefix(self):
    """The beginning of its files' names."""
    return f"pred_{self.configuration.name}_{self.kind}"

  @property
  def title(self):
    """Its name in the report."""
    parts = (self.configuration.name, self.kind, self.variant)
    return ", ".join(filter(None, parts))

  @property
  def decoder_options(self):
    """`DecoderOptions`."""
    return DecoderOptions(
      version_2_with_negative=self.configuration.version_2, **self.options
    )

  def golden_answers(self, goldens):
    """Dict from question id to the original's answer."""
    variant = f"_{self.variant}" if self.variant else ""
    return goldens.read(f"{self.prefix}_predictions{variant}.json.gz")

  def crashed_questions(self, goldens):
    """Dict from the ids on which the original crashes to its exceptions."""
    variant = f"_{self.variant}" if self.variant else ""
    name = f"{self.prefix}{variant}_crashed.json"
    return goldens.read(name) if goldens.has(name) else {}


def decoding_runs(configuration):
  """All runs of a configuration that the outputs hold, as `DecodingRun`s."""
  variants = [_SHORT, *(_THRESHOLDS if configuration.version_2 else ())]
  return [
    *(DecodingRun(configuration, kind) for kind in KINDS),
    *(DecodingRun(configuration, "peaky", *variant) for variant in variants),
  ]


class RecordedWindows:
  """The windows of a configuration, with their recorded logits."""

  def __init__(self, goldens, configuration):
    examples = goldens.examples(configuration)
    self.contexts = {e.qas_id: e.context for e in examples}
    preprocessor = goldens.preprocessor(configuration, pad_to_max=True)
    self._batches = list(window_batches(examples, preprocessor))

  def logits(self, kind):
    """Yields the `WindowLogits` of each batch; `kind` is one of `KINDS`."""
    for examples, windows in self._batches:
      pairs = [
        window_logits(
          kind, examples[example].qas_id, int(index), int(first), mask
        )
        for example, index, first, mask in zip(
          windows["example_index"],
          windows["doc_span_index"],
          windows["first_context_position"],
          windows["input_mask"],
          strict=True,
        )
      ]
      length = windows["input_mask"].shape[1]
      pairs = np.array(pairs, np.float32).reshape(-1, 2, length)
      starts, ends = pairs[:, 0], pairs[:, 1]  # [windows, seq_length]
      yield WindowLogits(
        examples, windows, {"start_logits": starts, "end_logits": ends}
      )

  def predictions(self, run):
    """Dict from question id to our `Prediction` in a `DecodingRun`."""
    decode = WindowDecoder(SPAN_HEAD, run.decoder_options)
    return {
      prediction.qas_id: prediction
      for logits in self.logits(run.kind)
      for prediction in decode(logits)
    }


def window_logits(kind, qas_id, doc_span_index, first_context, input_mask):
  """The recorded start and end logits of a window, float32 [seq_length] each.

  `first_context` is the position of the first context token.
  """
  key = f"{qas_id}/{doc_span_index}"
  length = len(input_mask)
  if kind == "peaky":
    return _peaky(
      _generator(f"{key}/peaky"), length, first_context, int(np.sum(input_mask))
    )
  rng = _generator(key)
  start = rng.standard_normal(length).astype(np.float32) * 4
  end = rng.standard_normal(length).astype(np.float32) * 4
  return (np.round(start), np.round(end)) if kind == "ties" else (start, end)


def _generator(key):
  return np.random.RandomState(zlib.crc32(key.encode("utf-8")) & 0xFFFFFFFF)


def _peaky(rng, length, first_context, num_tokens):
  low = np.float32(5)
  start = rng.standard_normal(length).astype(np.float32) - low
  end = rng.standard_normal(length).astype(np.float32) - low
  for _ in range(6):
    at = first_context + int(rng.randint(0, num_tokens - 1 - first_context))
    span_length = int(rng.randint(0, 12))
    height = np.float32(rng.uniform(4, 12))
    start[at] += height
    end[min(at + span_length, num_tokens - 2)] += height
  null = np.float32(rng.uniform(4, 14))
  start[0] += null
  end[0] += null
  return start, end
