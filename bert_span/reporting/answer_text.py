"""Answers as text, for a terminal."""

from bert_span.reporting.passages import marked_passage, one_line


def answer_text(extractor, prediction, context, n_best, marks=("[[", "]]")):
  """Returns the answer to a question on one passage, and its candidates.

  Args:
    extractor: an `Extractor` or a `TFLiteSpanExtractor`.
    prediction: its `Prediction`.
    context: str, the passage.
    n_best: candidates to list; all spans of a B/I/O head are listed.
    marks: what is written before and after the answer in its passage.
  """
  if prediction.spans:
    answer = _marked_answer(prediction.spans, context, marks)
  else:
    answer = f"No answer: {_no_answer_reason(extractor, prediction)}.\n"
  lines = [answer, f"{'score':>9} {'probability':>12} {'characters':>13}  text"]
  for entry in extractor.columns.listed(prediction, n_best):
    place = f"{entry.char_start}-{entry.char_end}" if entry.text else "-"
    text = one_line(entry.text) or "(no answer)"
    lines.append(
      f"{entry.score:9.3f} {entry.probability:12.4f} {place:>13}  {text}"
    )
  return "\n".join(lines)


def ranked_answers(answers):
  """Returns answers from documents as JSON values.

  Args:
    answers: pairs of a `Passage` and the `PassageAnswer` in it, best first.
  """
  return [
    {
      "text": found.answer.text,
      "document": passage.document,
      # In the document.
      "char_start": passage.char_start + found.answer.char_start,
      "char_end": passage.char_start + found.answer.char_end,
      "margin": found.margin,
      "score": found.answer.score,
      "probability": found.answer.probability,
    }
    for passage, found in answers
  ]


def ranked_text(answers, marks=("[[", "]]")):
  """Returns the best answer from documents, and all; see `ranked_answers`."""
  if not answers:
    return "No answer: no passage that was read answers the question."
  passage, best = answers[0]
  lines = [
    _marked_answer([best.answer], passage.text, marks),
    f"{'margin':>9} {'probability':>12}  text (place)",
  ]
  for row in ranked_answers(answers):
    place = "{document}, characters {char_start}-{char_end}".format(**row)
    lines.append(
      f"{row['margin']:9.3f} {row['probability']:12.4f}  "
      f"{one_line(row['text'])} ({one_line(place)})"
    )
  return "\n".join(lines)


def _no_answer_reason(extractor, prediction):
  options, null_odds = extractor.decoder_options, prediction.answer.null_odds
  if extractor.columns.entries == "spans":
    return f"null odds {null_odds:.3f}"
  has_span = any(entry.text for entry in prediction.n_best)
  if options.version_2_with_negative and has_span:
    return (
      f"the model finds none in this passage (null odds {null_odds:.3f} above "
      f"the threshold {options.null_score_diff_threshold:.3f})"
    )
  return "no span of this passage is possible"


def _marked_answer(spans, context, marks):
  texts = "; ".join(one_line(span.text) for span in spans)
  offsets = [(span.char_start, span.char_end) for span in spans]
  # Several answers are marked in the whole passage.
  num_characters = 200 if len(spans) == 1 else len(context)
  marked = marked_passage(context, offsets, marks, num_characters)
  return f"Answer: {texts}\n\n{marked}\n"
