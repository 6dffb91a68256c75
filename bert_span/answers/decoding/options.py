"""How answers are found in logits; TensorFlow is not needed."""

import dataclasses

from bert_span.options.fields import CheckedOptions, option

# Options that bert_span.calibrate fits to the weights of a model.
FITTED = ("temperature", "log_odds_shift", "null_score_diff_threshold")


@dataclasses.dataclass(frozen=True)
class DecoderOptions(CheckedOptions):
  """How spans are chosen; run_squad's names and defaults."""

  n_best_size: int = option(
    20,
    "Answers in a question's n-best list, and start and end positions tried "
    "in each window.",
    minimum=1,
    # Tables of answers have so many columns.
    maximum=10_000,
  )
  max_answer_length: int = option(
    30, "Length of the longest answer in WordPieces.", minimum=1
  )
  version_2_with_negative: bool = option(
    False, "Whether questions may be unanswerable, as in SQuAD 2.0."
  )
  null_score_diff_threshold: float = option(
    0.0,
    "The answer is empty if the null score exceeds the score of the best span "
    "by more than this, in the unit of span_score (with head=bio in nats).",
  )
  span_score: str = option(
    "logit_sum",
    "Score of a span: start logit + end logit, as in run_squad, or the mean of "
    "the two probabilities within the window.",
    choices=("logit_sum", "mean_probability"),
  )
  # Answers and scores do not depend on these two.
  temperature: float | None = option(
    None,
    "Divisor of the logits for probabilities over all spans of the passage and "
    "no answer, which bert_span.calibrate fits; without it probabilities are "
    "run_squad's, over the n-best list.",
    minimum=0.001,
    maximum=1000.0,
  )
  log_odds_shift: float = option(
    0.0,
    "With a temperature: what is added to the log-odds of each probability, "
    "which bert_span.calibrate fits as well.",
    minimum=-500.0,
    maximum=500.0,
  )

  @property
  def null_shift(self):
    """By how much joint probabilities lower the null logit, in logits."""
    if self.version_2_with_negative and self.span_score == "logit_sum":
      return self.null_score_diff_threshold
    return 0.0


@dataclasses.dataclass(frozen=True)
class BioDecoderOptions(CheckedOptions):
  """How spans are read from B, I and O tags, see `DecoderOptions`."""

  decoding: str = option(
    "viterbi",
    "With head=bio: viterbi gives the most probable labelling in which I "
    "follows B or I, greedy the most probable tag of every token.",
    choices=("viterbi", "greedy"),
    flag="bio_decoding",
  )
  threshold: float = option(
    0.0,
    "With head=bio: lowest score of a span, from 0 to 1; the score is the "
    "geometric mean of the probabilities of its tags.",
    minimum=0.0,
    maximum=1.0,
    flag="bio_threshold",
  )
  version_2_with_negative: bool = option(
    False, "Whether questions may be unanswerable, as in SQuAD 2.0."
  )
  null_score_diff_threshold: float = option(
    0.0,
    "A question has no answer if the labelling without a span is more probable "
    "than the best one with a span by more than this, in nats.",
  )


@dataclasses.dataclass(frozen=True)
class StepOptions(CheckedOptions):
  """How much the encoder reads at once, see `DecoderOptions`."""

  max_windows_per_step: int = option(
    16, "Most windows that the encoder reads at once.", minimum=1
  )
  max_wordpieces_per_step: int | None = option(
    None,
    "Most WordPieces of these windows, padding included; a window that has "
    "more is read alone. It bounds the memory: 1,024 suit a processor, 16,384 "
    "with max_windows_per_step=64 a GPU.",
    minimum=1,
  )
  jit_compile: bool = option(
    False,
    "Whether XLA compiles the encoder, once for each number and length of "
    "windows.",
  )
