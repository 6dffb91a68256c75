"""Point 8: where the original drops, mislabels or crashes.

Which questions these are is read from its outputs; what happens to them here is
looked up in ours, so that no line of this point can go stale.
"""

import dataclasses

from bert_span.certificate.check import Check, Tally
from bert_span.certificate.decoding_runs import (
  RecordedWindows,
  crashed_questions,
  decoding_runs,
)
from bert_span.certificate.window_checks import is_mislabelled
from bert_span.data.window_labels import SPAN_LABELS
from bert_span.data.window_rows import window_rows
from bert_span.text.answer_positions import NO_TOKEN
from bert_span.text.preprocessor import SpanPreprocessor

_EMPTY = "empty"


@dataclasses.dataclass(frozen=True)
class Deviation:
  """Something the original does that is not done here.

  Attributes:
    quirk: number in the list of the original's quirks.
    original: what it does.
    here: what is done instead.
    why: why that is right.
  """

  quirk: str
  original: str
  here: str
  why: str

  def note(self, place, qas_ids):
    """The sentence of the certificate.

    Args:
      place: configuration and, for answers, kind of logits.
      qas_ids: the questions concerned.
    """
    return (
      f"{place}, quirk {self.quirk}: {self.original}: {', '.join(qas_ids)}. "
      f"Here {self.here}, because {self.why}."
    )


_DROPPED_TRAINED = Deviation(
  "1, 2",
  "drops training questions whose answer holds white space that it reads in "
  "two ways, or follows leading blanks",
  "they are trained on",
  "the answer stands in the passage where answer_start says",
)
_DROPPED_COUNTED = Deviation(
  "3",
  "drops training questions whose answer is not at answer_start",
  "they are counted, named in the report and not trained on",
  "the answer cannot be located: the passage holds it more than once, or not "
  "at all",
)
_MISLABELLED = Deviation(
  "4",
  "labels an answer without WordPieces from the token after it to the token "
  "before it",
  "they are counted, named and not trained on",
  "such a label is no span, and the question has an answer, so that no label "
  "would be right",
)
_EMPTY_WORD = Deviation(
  "13",
  'answers "empty" where no span is possible',
  "the answer is none",
  "the passage does not hold that word, and a reader takes it for an answer",
)
_CRASH = Deviation(
  "15",
  "ends in an exception, since no span is possible",
  "the answer is none, with null odds of 1e6",
  "no threshold may give such a question an answer",
)


def check_edge_training(goldens, configurations):
  """Accounts for every training question that the original does not learn.

  Args:
    goldens: `GoldenFiles`.
    configurations: of `Configuration`.

  Returns:
    List of `Check`, one per configuration.
  """
  return [
    _check_training(goldens, configuration)
    for configuration in configurations
    if configuration.is_training
  ]


def check_edge_answers(goldens, configurations):
  """Accounts for every question that the original cannot answer.

  Args:
    goldens: `GoldenFiles`.
    configurations: of `Configuration`.

  Returns:
    List of `Check`, one per configuration.
  """
  return [
    _check_answers(goldens, configuration)
    for configuration in configurations
    if not configuration.is_training
  ]


def _check_training(goldens, configuration) -> Check:
  tally = Tally(f"Questions lost to training {configuration.name}")
  examples = {e.qas_id: e for e in configuration.examples(goldens)}
  labels = _labelled_texts(goldens, configuration, examples)
  summary = goldens.read(f"summary_{configuration.name}.json")
  trained, counted = [], []
  for qas_id in summary["skipped_qas_ids"]:
    if qas_id in examples:
      trained.append(qas_id)
      answer = examples[qas_id].answers[0].text.strip()
      tally.add(answer in labels[qas_id], f"{qas_id}: {labels[qas_id]}")
    else:
      counted.append(qas_id)
      report = goldens.squad_file(configuration.file).report
      tally.add(
        any(qas_id in line for line in report.lines(1000)),
        f"{qas_id} is not reported",
      )
  mislabelled = [
    feature["qas_id"]
    for feature in goldens.read(f"features_{configuration.name}.jsonl.gz")
    if is_mislabelled(feature)
  ]
  for qas_id in mislabelled:
    tally.add(labels[qas_id] == [None], f"{qas_id}: {labels[qas_id]}")
  for deviation, qas_ids in (
    (_DROPPED_TRAINED, trained),
    (_DROPPED_COUNTED, counted),
    (_MISLABELLED, mislabelled),
  ):
    if qas_ids:
      tally.note(deviation.note(configuration.name, qas_ids))
  return tally.check()


def _labelled_texts(goldens, configuration, examples):
  """The texts that the labels of each question's windows name.

  Returns:
    Dict from id to a list: a window's labelled text; None where its label is
    (NO_TOKEN, NO_TOKEN). Windows labelled (0, 0) are left out.
  """
  preprocessor = SpanPreprocessor(
    goldens.vocabulary, options=configuration.options
  )
  texts = {qas_id: [] for qas_id in examples}
  rows = window_rows(list(examples.values()), preprocessor, SPAN_LABELS)
  for row in rows:
    start, end = row["start_position"], row["end_position"]
    if start == NO_TOKEN:
      texts[row["qas_id"]].append(None)
    elif end > 0:
      spans = row["token_char_spans"]
      context = examples[row["qas_id"]].context
      texts[row["qas_id"]].append(context[spans[start][0] : spans[end][1]])
  return texts


def _check_answers(goldens, configuration) -> Check:
  tally = Tally(f"Questions without a span {configuration.name}")
  windows = RecordedWindows(goldens, configuration)
  for run in decoding_runs(configuration):
    golden = goldens.read(f"{run.prefix}_{run.suffix}.json.gz")
    named_empty = [q for q, text in golden.items() if text == _EMPTY]
    crashed = list(crashed_questions(goldens, run))
    predictions = windows.predictions(run)
    for qas_id in (*named_empty, *crashed):
      texts = [entry.text for entry in predictions[qas_id].n_best]
      tally.add(texts == [""], f"{run.kind} {qas_id}: {texts}")
    for deviation, qas_ids in ((_EMPTY_WORD, named_empty), (_CRASH, crashed)):
      if qas_ids:
        tally.note(deviation.note(f"{configuration.name}, {run.kind}", qas_ids))
  return tally.check()
