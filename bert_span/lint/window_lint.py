"""Finds what windows cut and what the vocabulary lacks in a linted file.

Windows follow from token counts, so many lengths are compared without making
windows of any.
"""

import collections
import dataclasses
import itertools

import numpy as np
import tensorflow as tf

from bert_span.data.window_batches import example_arrays, example_batches
from bert_span.lint.lint_report import length_summary, summaries
from bert_span.options.messages import shortened
from bert_span.squad.findings import Finding, FindingKind
from bert_span.squad.rules import with_answer_to_learn
from bert_span.storage.files import encodable
from bert_span.text.answer_positions import AnswerPositions
from bert_span.text.windows import PlacedWindows, SlidingWindows

_COMPARED_LENGTHS = (128, 192, 256, 320, 384, 448, 512)
# Of SQuAD's WordPieces 0.02 % are [UNK] with an English vocabulary.
_MANY_UNKNOWN = 0.01
_NUM_EXAMPLES = 10


def lint_windows(linted, tokenizer, settings):
  """Checks a `LintedFile` that has a question, by `LintSettings`.

  Returns a list of `Finding`, and a dict of figures that JSON can hold.
  """
  examples = list(map(with_answer_to_learn, linted.examples))
  lengths, unknown = measure_tokens(examples, tokenizer)
  options = settings.window_options
  windows = place_windows(lengths, options)
  figures = {
    "wordpieces": summaries(
      question=lengths.question,
      passage=lengths.passage,
      answer=lengths.answer[lengths.has_answer],
    ),
    "windows_per_question": length_summary(
      np.bincount(windows["example_index"], minlength=len(examples))
    ),
    "max_seq_lengths": _compared(lengths, settings),
    "unknown": unknown.figures(examples),
  }
  findings = []

  def add(kind, applies, texts, counts=None):
    for index in np.flatnonzero(applies):
      if counts is None:
        detail = ascii(texts[index][:20])  # What BERT drops is often invisible.
      else:
        detail = f"{shortened(texts[index])}, {counts[index]} WordPieces"
      findings.append(linted.finding(kind, int(index), detail))

  contexts = [example.context for example in examples]
  questions = [example.question for example in examples]
  answers = [e.answers[0].text if e.answers else "" for e in examples]
  is_empty = lengths.context == 0
  no_window = is_empty & [bool(context.strip()) for context in contexts]
  without_token = ~is_empty & ~lengths.has_answer
  without_token &= [bool(example.answers) for example in examples]
  cut = answers_cut(windows, lengths)
  too_long = lengths.answer > settings.max_answer_length
  question_cut = lengths.question > options.max_query_length
  add(FindingKind.NO_WINDOW, no_window, contexts)
  add(FindingKind.ANSWER_WITHOUT_TOKEN, without_token, answers)
  add(FindingKind.ANSWER_CUT, cut, answers, lengths.answer)
  add(FindingKind.ANSWER_TOO_LONG, too_long, answers, lengths.answer)
  add(FindingKind.QUESTION_CUT, question_cut, questions, lengths.question)
  share = figures["unknown"]["token_share"]
  if share >= _MANY_UNKNOWN:
    detail = f"{100 * share:.1f} % of the WordPieces are [UNK], see below"
    kind = FindingKind.MANY_UNKNOWN_WORDS
    findings.append(Finding(kind, "all texts", detail))
  return findings, figures


@dataclasses.dataclass(frozen=True)
class TokenLengths:
  """WordPieces of every example, before anything is cut."""

  question: np.ndarray  # int32 [examples]
  context: np.ndarray  # int32 [examples]
  # int32 [examples], tokens of the passage, inclusive; -1 without an answer.
  answer_start: np.ndarray
  answer_end: np.ndarray
  passage: np.ndarray  # int32 [passages], of each distinct passage

  @property
  def has_answer(self):
    """Bool [examples], whether there is an answer with a token."""
    return self.answer_start >= 0

  @property
  def answer(self):
    """int32 [examples], WordPieces of the answer, 0 without one."""
    return (self.answer_end - self.answer_start + 1) * self.has_answer


def measure_tokens(examples, tokenizer):
  """The `TokenLengths` and `UnknownWords` of examples with one answer at most.

  Each distinct passage is tokenized once.
  """
  asked = collections.defaultdict(list)  # the examples of each passage
  for index, example in enumerate(examples):
    asked[example.context].append(index)
  unknown, passage_lengths = UnknownWords(tokenizer), []
  question, context, first, last = np.zeros([4, len(examples)], np.int32)
  for some in example_batches([examples[rows[0]] for rows in asked.values()]):
    passages = [example.context for example in some]
    tokens = tokenizer(list(map(encodable, passages)))
    unknown.add(passages, tokens, [asked[text][0] for text in passages])
    passage_lengths.append(tokens.ids.row_lengths().numpy())
    indices = np.concatenate([asked[text] for text in passages])
    rows = np.repeat(range(len(passages)), [len(asked[p]) for p in passages])
    context[indices] = passage_lengths[-1][rows]
    for batch in example_batches([examples[index] for index in indices]):
      own, indices = np.split(indices, [len(batch)])
      own_rows, rows = np.split(rows, [len(batch)])
      texts = [example.question for example in batch]
      questions = tokenizer(list(map(encodable, texts)))
      unknown.add(texts, questions, own)
      question[own] = questions.ids.row_lengths().numpy()
      first[own], last[own] = _answer_tokens(
        batch, tokens.gather(own_rows), tokenizer
      )
  passage = np.concatenate(passage_lengths)
  return TokenLengths(question, context, first, last, passage), unknown


def _answer_tokens(examples, tokens, tokenizer):
  """The first and last token of each answer in its passage, -1 for none."""
  texts = example_arrays(examples, with_answers=True)
  zeros = tf.zeros(len(examples), tf.int32)
  # A window for each passage, in which position 0 means that there is no
  # answer and the passage begins at 1.
  windows = {
    "example_index": tf.range(len(examples)),
    "context_start": zeros,
    "context_length": tf.cast(tokens.ids.row_lengths(), tf.int32),
    "first_context_position": zeros + 1,
  }
  answer_ids = tokenizer(texts["answer_text"]).ids
  contexts = tf.constant(texts["context"])
  positions = AnswerPositions()(windows, contexts, tokens, answer_ids, texts)
  return [np.maximum(each.numpy() - 1, -1) for each in positions]


class UnknownWords:
  """Counts the words of texts that become [UNK].

  WordPiece gives up on a word as a whole, mostly for one character that the
  vocabulary lacks: "5½" becomes [UNK] where "½" is no token.
  """

  def __init__(self, tokenizer):
    self._tokenizer = tokenizer
    self._sums = collections.Counter()  # of tokens and the characters in them
    self._words = {}  # their [count, first example]

  def add(self, texts, tokens, indices):
    """Counts a batch of texts, their `Tokens` and the examples' indices."""
    starts = tokens.char_starts.flat_values.numpy()
    ends = tokens.char_ends.flat_values.numpy()
    rows = tokens.ids.value_rowids().numpy()
    unknown = tokens.ids.flat_values.numpy() == self._tokenizer.unknown_id
    lengths = ends - starts
    self._sums.update(
      tokens=len(unknown),
      unknown_tokens=int(unknown.sum()),
      characters=int(lengths.sum(dtype=np.int64)),
      unknown_characters=int(lengths[unknown].sum()),
    )
    for row, start, end in zip(
      rows[unknown], starts[unknown], ends[unknown], strict=True
    ):
      _count(self._words, texts[row][start:end], 1, int(indices[row]))

  def figures(self, examples):
    """Dict of counts, shares and the most frequent words and characters."""

    def rows(found):
      order = sorted((-count, first, text) for text, (count, first) in found)
      return [
        {"text": text, "count": -count, "question_id": examples[first].qas_id}
        for count, first, text in order[:_NUM_EXAMPLES]
      ]

    def share(name):
      part, whole = self._sums[f"unknown_{name}"], self._sums[name]
      return round(part / whole, 6) if whole else 0.0

    # A word of one character is listed as a character.
    words = {w: found for w, found in self._words.items() if len(w) > 1}
    characters = self._unknown_characters()
    return {
      **self._sums,
      "token_share": share("tokens"),
      "character_share": share("characters"),
      "distinct_words": len(words),
      "distinct_characters": len(characters),
      "most_frequent_words": rows(words.items()),
      "most_frequent_characters": rows(characters.items()),
    }

  def _unknown_characters(self):
    """[count, first example] of the characters that alone become [UNK]."""
    # A word can be [UNK] without such a character: when it has over 200
    # characters, or when a character is no token within words.
    distinct = sorted(set().union(*self._words))
    tokens = self._tokenizer(list(map(encodable, distinct)))
    is_unknown = tf.reduce_any(tokens.ids == self._tokenizer.unknown_id, axis=1)
    unknown = set(itertools.compress(distinct, is_unknown.numpy()))
    characters = {}
    for word, (count, first) in self._words.items():
      for character in unknown.intersection(word):
        _count(characters, character, count * word.count(character), first)
    return characters


def _count(found, text, count, index):
  """Adds to the [count, first example] of a text."""
  counted, first = found.get(text, (0, index))
  found[text] = [counted + count, min(first, index)]


def _compared(lengths, settings):
  """A `window_cost`, relative to the chosen length, for lengths to compare."""
  chosen = settings.window_options
  least, most = chosen.max_query_length + 3, settings.max_positions
  compared = {n for n in _COMPARED_LENGTHS if least < n <= most}
  costs = {}
  for length in sorted({*compared, chosen.max_seq_length}):
    options = dataclasses.replace(chosen, max_seq_length=length)
    costs[length] = window_cost(
      lengths, options, settings.length_bucket, settings.hidden_size
    )
  unit = costs[chosen.max_seq_length]["bucket_cost"] or 1.0
  for cost in costs.values():
    for name in ("bucket_cost", "padded_cost"):
      cost[name] = round(cost[name] / unit, 4)
  return list(costs.values())


def place_windows(lengths, options):
  """`SlidingWindows.columns` of `TokenLengths`, and more arrays [windows].

  length: WordPieces of the window; holds_answer: whether it holds the answer
  to its question whole.
  """
  columns = SlidingWindows(options, cls_id=0, sep_id=0).columns(
    np.minimum(lengths.question, options.max_query_length), lengths.context
  )
  columns["length"] = PlacedWindows(None, None, columns).lengths
  windows = {name: values.numpy() for name, values in columns.items()}
  example, start = windows["example_index"], windows["context_start"]
  end = start + windows["context_length"]
  windows["holds_answer"] = lengths.answer_start[example] >= start
  windows["holds_answer"] &= lengths.answer_end[example] < end
  return windows


def answers_cut(windows, lengths):
  """Bool [examples], whether there is an answer and no window holds it."""
  held = windows["example_index"][windows["holds_answer"]]
  return lengths.has_answer & (
    np.bincount(held, minlength=len(lengths.context)) == 0
  )


def window_cost(lengths, options, bucket_width, hidden_size):
  """Sums up the windows of one setting in a dict.

  Windows are padded to a multiple of the bucket width, or to max_seq_length. (A
  few batches an epoch mix two buckets.)

  Costs are in WordPieces of a very short window: a layer of hidden size H
  multiplies, for a window of L WordPieces, 12 H^2 L times in its dense parts
  and 2 H L^2 times between positions. Divided by 12 H^2 that is
  L (1 + L / (6 H)).
  """
  windows = place_windows(lengths, options)
  longest = options.max_seq_length
  bucketed = -(-windows["length"] // bucket_width) * bucket_width  # rounded up
  lacks_answer = lengths.has_answer[windows["example_index"]]
  sums = {
    "max_seq_length": longest,
    "windows": len(lacks_answer),
    "answerless_windows": int((lacks_answer & ~windows["holds_answer"]).sum()),
    "answers_cut": int(answers_cut(windows, lengths).sum()),
    "wordpieces": int(windows["length"].sum(dtype=np.int64)),
  }
  for name, padded in {
    "bucket": np.minimum(bucketed, longest),
    "padded": np.full_like(bucketed, longest),
  }.items():
    sums[f"{name}_wordpieces"] = int(padded.sum(dtype=np.int64))
    sums[f"{name}_cost"] = float(
      (padded * (1 + padded / (6 * hidden_size))).sum()
    )
  return sums
