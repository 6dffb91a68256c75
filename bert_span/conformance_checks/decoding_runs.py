"""Runs of the original's decoder on logits that are not stored, but drawn."""

import dataclasses
import functools
import zlib

import numpy as np

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.conformance_checks.golden_files import Configuration, GoldenFiles
from bert_span.data.window_batches import window_batches
from bert_span.extractors.span_extractor import SpanExtractor

KINDS = ("random", "ties", "peaky")  # of logits
# Options of the runs with peaky logits, by the ending of their files' names.
_VARIANTS = {
  "": {},
  "_nbest5_maxlen8": {"n_best_size": 5, "max_answer_length": 8},
  "_thr-3.0": {"null_score_diff_threshold": -3.0},
  "_thr2.5": {"null_score_diff_threshold": 2.5},
}


@dataclasses.dataclass(frozen=True)
class DecodingRun:
  """Logits of a kind, decoded with the options of a variant."""

  goldens: GoldenFiles
  configuration: Configuration
  kind: str
  variant: str = ""  # n-best lists and null odds were saved for this one only

  @property
  def prefix(self):
    """The beginning of its files' names."""
    return f"pred_{self.configuration.name}_{self.kind}"

  @property
  def title(self):
    variant = self.variant.replace("_", ", ", 1)
    return f"{self.configuration.name}, {self.kind}{variant}"

  @property
  def options(self):
    version_2 = self.configuration.version_2
    return DecoderOptions(
      version_2_with_negative=version_2, **_VARIANTS[self.variant]
    )

  @property
  def answers(self):
    """Dict from question id to the original's answer."""
    name = f"{self.prefix}_predictions{self.variant}.json.gz"
    return self.goldens.read(name)

  @property
  def crashed(self):
    """Dict from the ids on which the original crashes to its exceptions."""
    name = f"{self.prefix}{self.variant}_crashed.json"
    return self.goldens.read(name) if self.goldens.has(name) else {}

  # Several checks look at them.
  @property
  @functools.lru_cache(maxsize=16)  # noqa: B019 -- only so many
  def predictions(self):
    """Dict from question id to its passage and our `Prediction`."""
    decode = _decoder(self.options)
    return {
      prediction.qas_id: (example.context, prediction)
      for logits in recorded_logits(self.goldens, self.configuration, self.kind)
      for example, prediction in zip(
        logits.examples, decode(logits), strict=True
      )
    }


def decoding_runs(goldens, configurations):
  """Yields all `DecodingRun`s of some configurations; training has none."""
  for configuration in configurations:
    if not configuration.is_training:
      for kind in KINDS:
        yield DecodingRun(goldens, configuration, kind)
      for variant in list(_VARIANTS)[1:]:
        if configuration.version_2 or "thr" not in variant:
          yield DecodingRun(goldens, configuration, "peaky", variant)


# Several checks look at the same windows.
@functools.lru_cache(maxsize=4)
def _batches(goldens, configuration):
  """The windows of a configuration, see `window_batches`."""
  preprocessor = goldens.preprocessor(configuration, pad_to_max=True)
  examples = goldens.examples(configuration)
  return list(window_batches(examples, preprocessor.windows))


# Each decoder is traced once.
_decoder = functools.cache(functools.partial(WindowDecoder, SpanExtractor))


# A kind has up to four variants.
@functools.lru_cache(maxsize=len(KINDS))
def recorded_logits(goldens, configuration, kind):
  """Lists the `WindowLogits` of each batch."""
  batches = []
  for examples, windows in _batches(goldens, configuration):
    pairs = [
      _drawn_logits(kind, f"{examples[example].qas_id}/{index}", first, mask)
      for example, index, first, mask in zip(
        windows["example_index"],
        windows["doc_span_index"],
        windows["first_context_position"],
        windows["input_mask"],
        strict=True,
      )
    ]
    starts, ends = np.float32(pairs).swapaxes(0, 1)  # [windows, seq_length]
    logits = {"start_logits": starts, "end_logits": ends}
    batches.append(WindowLogits(examples, windows, logits))
  return batches


def _drawn_logits(kind, key, first_context, input_mask):
  """Start and end logits as tests/original/record_predictions.py draws them."""
  key += "/peaky" if kind == "peaky" else ""
  rng = np.random.RandomState(zlib.crc32(key.encode("utf-8")))
  pair = rng.standard_normal([2, len(input_mask)]).astype(np.float32)
  if kind == "random":
    return pair * 4
  if kind == "ties":
    return np.round(pair * 4)
  pair -= np.float32(5)
  start, end = pair
  last = int(np.sum(input_mask)) - 2
  for _ in range(6):
    at = first_context + int(rng.randint(0, last + 1 - first_context))
    span_length = int(rng.randint(0, 12))
    height = np.float32(rng.uniform(4, 12))
    start[at] += height
    end[min(at + span_length, last)] += height
  pair[:, 0] += np.float32(rng.uniform(4, 14))
  return pair
