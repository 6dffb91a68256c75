"""Finds what windows cut and what the vocabulary lacks in a linted file.

Windows follow from token counts, so many lengths are compared without making
windows of any.
"""

import collections
import dataclasses

import numpy as np
import tensorflow as tf

from bert_span.data.window_batches import example_arrays, example_batches
from bert_span.squad.example import Answer
from bert_span.squad.findings import Finding, FindingKind
from bert_span.squad.lint.lint_report import length_summary, summaries
from bert_span.squad.rules import with_answer_to_learn
from bert_span.storage.json_fields import encodable, shortened
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
  windows = place_windows(lengths, settings.window_options)
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
  is_blank = np.array([not context.strip() for context in contexts])
  is_empty = lengths.context == 0
  cut = answers_cut(windows, lengths)
  too_long = lengths.answer > settings.max_answer_length
  add(FindingKind.NO_WINDOW, is_empty & ~is_blank, contexts)
  without_token = lengths.without_token & ~is_empty
  add(FindingKind.ANSWER_WITHOUT_TOKEN, without_token, answers)
  add(FindingKind.ANSWER_CUT, cut, answers, lengths.answer)
  add(FindingKind.ANSWER_TOO_LONG, too_long, answers, lengths.answer)
  too_long = lengths.question > settings.window_options.max_query_length
  add(FindingKind.QUESTION_CUT, too_long, questions, lengths.question)
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
  without_token: np.ndarray  # bool [examples], whether an answer has no token
  passage: np.ndarray  # int32 [passages], of each distinct passage

  @property
  def has_answer(self):
    """Bool [examples], whether there is an answer with a token."""
    return self.answer_start >= 0

  @property
  def answer(self):
    """int32 [examples], WordPieces of the answer, 0 without one."""
    return np.where(self.has_answer, self.answer_end - self.answer_start + 1, 0)


def measure_tokens(examples, tokenizer):
  """Tokenizes a file, each distinct passage once.

  The first answer of each `SquadExample` is the one to learn. Returns
  `TokenLengths` and `UnknownWords`.
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

    indices = [index for text in passages for index in asked[text]]
    batch = [examples[index] for index in indices]
    rows = np.repeat(range(len(passages)), [len(asked[p]) for p in passages])
    context[indices] = passage_lengths[-1][rows]
    texts = [example.question for example in batch]
    questions = tokenizer(list(map(encodable, texts)))
    unknown.add(texts, questions, indices)
    question[indices] = questions.ids.row_lengths().numpy()
    splits = tokens.char_starts.row_splits[1:-1].numpy()
    starts = np.split(tokens.char_starts.flat_values.numpy(), splits)
    first[indices], last[indices] = _answer_tokens(
      batch, [starts[row] for row in rows], tokenizer
    )
  has_token = (first >= 0) & (first <= last)
  lengths = TokenLengths(
    question,
    context,
    answer_start=np.where(has_token, first, -1),
    answer_end=np.where(has_token, last, -1),
    without_token=np.array([bool(e.answers) for e in examples]) & ~has_token,
    passage=np.concatenate(passage_lengths),
  )
  return lengths, unknown


def _answer_tokens(examples, char_starts, tokenizer):
  """The first and last token of each answer, -1 for none.

  `AnswerPositions` gets the words around each answer as a passage of one window
  with one token before it, so that its position 0 means that there is no
  answer. `char_starts` are, for each example, those of its passage's tokens.
  """
  excerpts, begins = zip(*map(_words_around_answer, examples), strict=True)
  before = np.array(list(map(np.searchsorted, char_starts, begins)))
  texts = example_arrays(excerpts, with_answers=True)
  context = tokenizer([encodable(example.context) for example in excerpts])
  zeros = tf.zeros(len(excerpts), tf.int32)
  windows = {
    "example_index": tf.range(len(excerpts)),
    "context_start": zeros,
    "context_length": tf.cast(context.ids.row_lengths(), tf.int32),
    "first_context_position": zeros + 1,
  }
  answer_ids = tokenizer(texts["answer_text"]).ids
  contexts = tf.constant(texts["context"])
  starts, ends = (
    positions.numpy()
    for positions in AnswerPositions()(
      windows, contexts, context, answer_ids, texts
    )
  )
  has_answer = starts > 0
  return (
    np.where(has_answer, starts - 1 + before, -1),
    np.where(has_answer, ends - 1 + before, -1),
  )


def _words_around_answer(example):
  """The example with only the words of the passage that its answer touches.

  Also returns the offset of these words in the passage.
  """
  if not example.answers:
    return dataclasses.replace(example, context=""), 0
  answer, context = example.answers[0], example.context
  begin, end = answer.char_start, answer.char_start + len(answer.text)
  # A blank belongs to the word before it.
  while begin > 0 and context[begin].isspace():
    begin -= 1
  begin = 1 + max(context.rfind(blank, 0, begin) for blank in " \n")
  ends = [context.find(blank, end) for blank in " \n"]
  end = min((end for end in ends if end >= 0), default=len(context))
  answers = (Answer(answer.text, answer.char_start - begin),)
  excerpt = context[begin:end]
  return dataclasses.replace(example, context=excerpt, answers=answers), begin


class UnknownWords:
  """Counts the words of texts that become [UNK].

  WordPiece gives up on a word as a whole, mostly for one character that the
  vocabulary lacks: "5½" becomes [UNK] where "½" is no token.
  """

  def __init__(self, tokenizer):
    self._tokenizer = tokenizer
    # Tokens, and characters of tokens; without white space and what is dropped.
    self._sums = dict.fromkeys(
      ("tokens", "unknown_tokens", "characters", "unknown_characters"), 0
    )
    self._counts, self._first = collections.Counter(), {}

  def add(self, texts, tokens, indices):
    """Counts a batch of texts, their `Tokens` and the examples' indices."""
    starts = tokens.char_starts.flat_values.numpy()
    ends = tokens.char_ends.flat_values.numpy()
    rows = tokens.ids.value_rowids().numpy()
    unknown = tokens.ids.flat_values.numpy() == self._tokenizer.unknown_id
    lengths = ends - starts
    self._sums["tokens"] += len(unknown)
    self._sums["unknown_tokens"] += int(unknown.sum())
    self._sums["characters"] += int(lengths.sum(dtype=np.int64))
    self._sums["unknown_characters"] += int(lengths[unknown].sum())
    for row, start, end in zip(
      rows[unknown], starts[unknown], ends[unknown], strict=True
    ):
      word, index = texts[row][start:end], int(indices[row])
      self._counts[word] += 1
      self._first[word] = min(self._first.get(word, index), index)

  def figures(self, examples):
    """Dict of counts, shares and the most frequent words and characters."""
    # A word of one character is listed as a character.
    words = {w: count for w, count in self._counts.items() if len(w) > 1}
    characters, first = self._unknown_characters()

    def rows(counts, first):
      order = sorted(counts, key=lambda t: (-counts[t], first[t], t))
      return [
        {
          "text": text,
          "count": counts[text],
          "question_id": examples[first[text]].qas_id,
        }
        for text in order[:_NUM_EXAMPLES]
      ]

    def share(name):
      part, whole = self._sums[f"unknown_{name}"], self._sums[name]
      return round(part / whole, 6) if whole else 0.0

    return {
      **self._sums,
      "token_share": share("tokens"),
      "character_share": share("characters"),
      "distinct_words": len(words),
      "distinct_characters": len(characters),
      "most_frequent_words": rows(words, self._first),
      "most_frequent_characters": rows(characters, first),
    }

  def _unknown_characters(self):
    """Counts, and first examples, of characters that are [UNK] by themselves.

    A word can be [UNK] without such a character: when it has over 200
    characters, or when a character is no token within words.
    """
    distinct = sorted({c for word in self._counts for c in word})
    tokens = self._tokenizer(list(map(encodable, distinct)))
    is_unknown = tf.reduce_any(tokens.ids == self._tokenizer.unknown_id, axis=1)
    unknown = set(np.array(distinct, object)[is_unknown.numpy()])
    counts, first = collections.Counter(), {}
    for word, count in self._counts.items():
      for character in unknown.intersection(word):
        counts[character] += count * word.count(character)
        index = self._first[word]
        first[character] = min(first.get(character, index), index)
    return counts, first


def _compared(lengths, settings):
  """A `window_cost`, relative to the chosen length, for lengths to compare."""
  chosen = settings.window_options
  least = chosen.max_query_length + 3
  compared = {
    n for n in _COMPARED_LENGTHS if least < n <= settings.max_positions
  } | {chosen.max_seq_length}
  sizes = (settings.length_bucket, settings.hidden_size)
  costs = {}
  for length in sorted(compared):
    options = dataclasses.replace(chosen, max_seq_length=length)
    costs[length] = window_cost(lengths, options, *sizes)
  unit = costs[chosen.max_seq_length]["bucket_cost"] or 1.0
  for cost in costs.values():
    for name in ("bucket_cost", "padded_cost"):
      cost[name] = round(cost[name] / unit, 4)
  return list(costs.values())


def place_windows(lengths, options):
  """Places the windows of `TokenLengths` with `WindowOptions`.

  Returns a dict of the arrays [windows] of `SlidingWindows.columns`, and of
  length, the WordPieces of each window with question and special tokens.
  """
  columns = SlidingWindows(options, cls_id=0, sep_id=0).columns(
    np.minimum(lengths.question, options.max_query_length), lengths.context
  )
  columns["length"] = PlacedWindows(None, None, columns).lengths
  return {name: values.numpy() for name, values in columns.items()}


def holds_answer(windows, lengths):
  """Bool [windows], whether each holds its question's answer whole."""
  example = windows["example_index"]
  end = windows["context_start"] + windows["context_length"]
  return (
    lengths.has_answer[example]
    & (lengths.answer_start[example] >= windows["context_start"])
    & (lengths.answer_end[example] < end)
  )


def answers_cut(windows, lengths):
  """Bool [examples], whether there is an answer and no window holds it."""
  held = np.zeros(len(lengths.context), bool)
  held[windows["example_index"][holds_answer(windows, lengths)]] = True
  return lengths.has_answer & ~held


def window_cost(lengths, options, bucket_width, hidden_size):
  """Sums up the windows of one setting in a dict.

  answerless_windows are of answerable questions without the answer; no window
  holds answers_cut whole. WordPieces and cost, see `computation`, are those of
  windows that are padded to a multiple of the bucket width, or to
  max_seq_length. (A few batches an epoch mix two buckets.)
  """
  windows = place_windows(lengths, options)
  longest = options.max_seq_length
  padded = np.full_like(windows["length"], longest)
  bucketed = -(-windows["length"] // bucket_width) * bucket_width  # rounded up
  bucketed = np.minimum(bucketed, longest)
  has_answer = lengths.has_answer[windows["example_index"]]
  lacks_answer = has_answer & ~holds_answer(windows, lengths)
  return {
    "max_seq_length": longest,
    "windows": len(padded),
    "answerless_windows": int(lacks_answer.sum()),
    "answers_cut": int(answers_cut(windows, lengths).sum()),
    "wordpieces": int(windows["length"].sum(dtype=np.int64)),
    "bucket_wordpieces": int(bucketed.sum(dtype=np.int64)),
    "padded_wordpieces": int(padded.sum(dtype=np.int64)),
    "bucket_cost": computation(bucketed, hidden_size),
    "padded_cost": computation(padded, hidden_size),
  }


def computation(lengths, hidden_size):
  """The work of an encoder on windows, in WordPieces of a very short window.

  A layer of hidden size H multiplies, for a window of L WordPieces, 12 H^2 L
  times in its dense parts (4 H^2 in attention, 8 H^2 in the feed-forward part
  of size 4 H) and 2 H L^2 times between positions. Divided by 12 H^2 that is
  L (1 + L / (6 H)): with H 768, the quadratic part is 8 % at 384 WordPieces.
  """
  lengths = np.asarray(lengths, np.float64)
  return float(np.sum(lengths * (1 + lengths / (6 * hidden_size))))
