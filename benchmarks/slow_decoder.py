"""Decoding with lists and loops, as in run_squad, to compare its speed.

The rules are run_squad's: sort all logits of a window for the n best starts and
ends, form all pairs, sort all pairs of a question by score, align the
WordPieces of each with the words of the passage, drop equal texts, and compute
probabilities by a softmax over the list.

Source: google-research/bert, run_squad.py, write_predictions and
get_final_text.
"""

import json
import math
import os

from benchmarks.plain_conversion import words_of


def decode_slowly(parts, vocabulary, options, output_dir):
  """Writes predictions.json, nbest_predictions.json and null_odds.json.

  Args:
    parts: list of `WindowLogits`.
    vocabulary: list of WordPieces.
    options: `DecoderOptions` with span_score "logit_sum".
    output_dir: an existing folder.
  """
  predictions, n_best_lists, null_odds = {}, {}, {}
  for part in parts:
    rows_of = {}
    for row, example in enumerate(part.windows["example_index"].tolist()):
      rows_of.setdefault(example, []).append(row)
    for index, example in enumerate(part.examples):
      aligner = _Aligner(example.context, part.windows["input_ids"], vocabulary)
      rows = rows_of.get(index, [])
      entries, odds = _n_best(part, rows, aligner, options)
      is_null = options.version_2_with_negative and (
        odds > options.null_score_diff_threshold
      )
      best = next((e["text"] for e in entries if e["text"]), "")
      predictions[example.qas_id] = "" if is_null else best
      n_best_lists[example.qas_id] = entries
      null_odds[example.qas_id] = odds
  files = {
    "predictions.json": predictions,
    "nbest_predictions.json": n_best_lists,
  }
  if options.version_2_with_negative:
    files["null_odds.json"] = null_odds
  for name, value in files.items():
    path = os.path.join(output_dir, name)
    with open(path, "w", encoding="utf-8") as file:
      file.write(json.dumps(value, indent=4) + "\n")


def _n_best(part, rows, aligner, options):
  """The n-best list of a question, and its null odds."""
  spans, null_score, null_logits = [], math.inf, (0.0, 0.0)
  for row in rows:
    start_logits = part.logits["start_logits"][row].tolist()
    end_logits = part.logits["end_logits"][row].tolist()
    if start_logits[0] + end_logits[0] < null_score:
      null_score = start_logits[0] + end_logits[0]
      null_logits = (start_logits[0], end_logits[0])
    spans += _spans_of_window(
      part.windows, row, start_logits, end_logits, options
    )
  spans.sort(key=lambda span: span[0] + span[1], reverse=True)
  entries, seen = [], set()
  for start_logit, end_logit, *place in spans:
    if len(entries) >= options.n_best_size:
      break
    text = aligner.text(*place)
    if text not in seen:
      seen.add(text)
      entries.append((text, start_logit, end_logit))
  odds = null_score - entries[0][1] - entries[0][2] if entries else 1e6
  if options.version_2_with_negative or not entries:
    entries.append(("", *null_logits))
    entries.sort(key=lambda entry: entry[1] + entry[2], reverse=True)
  return _with_probabilities(entries), odds


def _spans_of_window(windows, row, start_logits, end_logits, options):
  """Every possible pair of a window's best starts and ends."""
  char_starts = windows["token_char_starts"][row]
  char_ends = windows["token_char_ends"][row]
  is_max_context = windows["is_max_context"][row]
  spans = []
  for start in _best_indexes(start_logits, options.n_best_size):
    for end in _best_indexes(end_logits, options.n_best_size):
      if char_ends[start] <= char_starts[start]:
        continue
      if char_ends[end] <= char_starts[end]:
        continue
      if not is_max_context[start]:
        continue
      if end < start or end - start + 1 > options.max_answer_length:
        continue
      spans.append(
        (
          start_logits[start],
          end_logits[end],
          row,
          start,
          end,
          int(char_starts[start]),
          int(char_starts[end]),
        )
      )
  return spans


class _Aligner:
  """Makes the text of a span from its WordPieces, as run_squad does."""

  def __init__(self, context, input_ids, vocabulary):
    self._input_ids = input_ids
    self._vocabulary = vocabulary
    self._words = context.split()
    self._word_at = []  # of each character
    word, was_blank = -1, True
    for character in context:
      is_blank = character.isspace()
      word += was_blank and not is_blank
      was_blank = is_blank
      self._word_at.append(word)

  def text(self, row, start, end, first_char, last_char):
    """The text of the positions start to end (inclusive) of a window.

    The first and the last piece begin at first_char and last_char.
    """
    ids = self._input_ids[row][start : end + 1]
    pieces = " ".join(self._vocabulary[i] for i in ids)
    pieces = pieces.replace(" ##", "").removeprefix("##")
    first, last = self._word_at[first_char], self._word_at[last_char]
    return _aligned(pieces, " ".join(self._words[first : last + 1]))


def _aligned(pieces, words):
  """The part of `words` that equals `pieces`; all of it if none does."""
  folded = " ".join(
    "".join(letter for letter, _ in word) for word in words_of(words)
  )
  found = folded.find(pieces)
  letters = [i for i, letter in enumerate(words) if letter != " "]
  folded_letters = [i for i, letter in enumerate(folded) if letter != " "]
  if found < 0 or len(letters) != len(folded_letters):
    return words
  number_of = {place: number for number, place in enumerate(folded_letters)}
  begin = letters[number_of[found]]
  return words[begin : letters[number_of[found + len(pieces) - 1]] + 1]


def _best_indexes(logits, n_best_size):
  order = sorted(enumerate(logits), key=lambda item: item[1], reverse=True)
  return [index for index, _ in order[:n_best_size]]


def _with_probabilities(entries):
  """Entries in run_squad's format."""
  scores = [start + end for _, start, end in entries]
  highest = max(scores)
  exponentials = [math.exp(score - highest) for score in scores]
  total = sum(exponentials)
  return [
    {
      "text": text,
      "probability": exponential / total,
      "start_logit": start,
      "end_logit": end,
    }
    for (text, start, end), exponential in zip(
      entries, exponentials, strict=True
    )
  ]
