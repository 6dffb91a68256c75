"""Check 8: questions that the original drops, mislabels or crashes on.

Its outputs name these questions. What happens to them here is looked up in
our windows and predictions, so that the report cannot become outdated.
"""

from bert_span.certificate.comparison import Comparison
from bert_span.certificate.decoding_checks import (
  EMPTY,
  compare_decoding,
  compare_null_odds,
)
from bert_span.certificate.decoding_runs import RecordedWindows, decoding_runs
from bert_span.certificate.text_checks import compare_windows, is_mislabelled
from bert_span.data.window_batches import window_rows
from bert_span.data.window_labels import SPAN_LABELS
from bert_span.text.answer_positions import NO_TOKEN

# Sentences of the report on what the original does to some questions. "Quirk"
# is the number in the list of the original's quirks.
_DROPPED_TRAINED = (
  "quirk 1, 2: The original drops training questions whose answer holds "
  "white space that it reads in two ways, or follows leading blanks: {}. "
  "Here they are trained on, because the passage has the answer at "
  "answer_start."
)
_DROPPED_COUNTED = (
  "quirk 3: The original drops training questions whose answer is not at "
  "answer_start: {}. Here they are counted, named in the report and not "
  "trained on, because the answer cannot be located: the passage has it "
  "more than once, or not at all."
)
_MISLABELLED = (
  "quirk 4: The original labels an answer without WordPieces from the token "
  "after it to the token before it: {}. Here they are counted, named and "
  "not trained on, because such a label is no span, and no label would be "
  "right for a question that has an answer."
)
_EMPTY_WORD = (
  'quirk 13: The original answers "empty" where no span is possible: {}. '
  "Here they have no answer, because the word is not from the passage, and "
  "a reader takes it for an answer."
)
_CRASH = (
  "quirk 15: The original crashes, since no span is possible: {}. Here they "
  "have no answer, with null odds of 1e6, because no threshold may give "
  "such a question an answer."
)


def compare_edge_cases(goldens, configurations):
  """Compares the edge cases, and the questions the original loses."""
  return [
    *compare_windows(goldens, configurations),
    *compare_decoding(goldens, configurations),
    *compare_null_odds(goldens, configurations),
    *(compare_lost(goldens, c) for c in configurations if c.is_training),
    *(
      _compare_no_span(goldens, c) for c in configurations if not c.is_training
    ),
  ]


def compare_lost(goldens, configuration):
  """Compares training questions that the original drops or mislabels."""
  name = configuration.name
  comparison = Comparison(f"Questions lost to training {name}")
  examples = {e.qas_id: e for e in goldens.examples(configuration)}
  labels = _labelled_texts(goldens, configuration, examples)
  trained, counted = [], []
  for qas_id in goldens.read(f"summary_{name}.json")["skipped_qas_ids"]:
    if qas_id in examples:
      trained.append(qas_id)
      answer = examples[qas_id].answers[0].text.strip()
      comparison.add(answer in labels[qas_id], f"{qas_id}: {labels[qas_id]}")
    else:
      counted.append(qas_id)
      report = goldens.squad_file(configuration.file).report
      comparison.add(
        any(qas_id in line for line in report.lines(1000)),
        f"{qas_id} is not reported",
      )
  mislabelled = [
    feature["qas_id"]
    for feature in goldens.read(f"features_{name}.jsonl.gz")
    if is_mislabelled(feature)
  ]
  for qas_id in mislabelled:
    comparison.add(labels[qas_id] == [None], f"{qas_id}: {labels[qas_id]}")
  _add_note(comparison, name, _DROPPED_TRAINED, trained)
  _add_note(comparison, name, _DROPPED_COUNTED, counted)
  _add_note(comparison, name, _MISLABELLED, mislabelled)
  return comparison


def _labelled_texts(goldens, configuration, examples):
  """The texts that the labels of each question's windows mark.

  A dict from id to a list with the labelled text of each window, None for the
  label (NO_TOKEN, NO_TOKEN), and nothing for the label (0, 0).
  """
  texts = {qas_id: [] for qas_id in examples}
  for row in window_rows(
    list(examples.values()), goldens.preprocessor(configuration), SPAN_LABELS
  ):
    start, end = row["start_position"], row["end_position"]
    if start == NO_TOKEN:
      texts[row["qas_id"]].append(None)
    elif end > 0:
      spans = row["token_char_spans"]
      context = examples[row["qas_id"]].context
      texts[row["qas_id"]].append(context[spans[start][0] : spans[end][1]])
  return texts


def _compare_no_span(goldens, configuration):
  """Compares questions for which the original finds no span."""
  comparison = Comparison(f"Questions without a span {configuration.name}")
  windows = RecordedWindows(goldens, configuration)
  for run in decoding_runs(configuration):
    answers = run.golden_answers(goldens)
    named_empty = [q for q, text in answers.items() if text == EMPTY]
    crashed = list(run.crashed_questions(goldens))
    predictions = windows.predictions(run)
    for qas_id in (*named_empty, *crashed):
      texts = [entry.text for entry in predictions[qas_id].n_best]
      comparison.add(texts == [""], f"{run.kind} {qas_id}: {texts}")
    _add_note(comparison, run.title, _EMPTY_WORD, named_empty)
    _add_note(comparison, run.title, _CRASH, crashed)
  return comparison


def _add_note(comparison, place, sentence, qas_ids):
  if qas_ids:
    comparison.notes.append(f"{place}, {sentence.format(', '.join(qas_ids))}")
