"""What run_squad writes and scores of a B/I/O head beyond its answers."""

import json
import os

import tensorflow as tf

from bert_span.answers.files.bio_prediction_files import SPANS_FILE
from bert_span.answers.files.span_prediction_reader import read_span_predictions
from bert_span.answers.scoring.annotator_agreement import (
  AnnotatorAgreement,
  tagged_passages,
)
from bert_span.answers.scoring.disagreement_report import DisagreementReport
from bert_span.answers.scoring.multi_span import evaluate_multi_span
from bert_span.storage.atomic_file import write_json_atomically

AGREEMENT_FILE = "tag_agreement.json"
DISAGREEMENT_FILE = "disagreement.json"


class AgreementWriter:
  """Compares the tags of all passages with what their annotators marked.

  Args:
    num_questions: questions that the report of disagreement shows.
  """

  def __init__(self, num_questions):
    self._agreement = AnnotatorAgreement()
    self._report = DisagreementReport(num_questions)

  def add(self, logits):
    """Takes a batch.

    Args:
      logits: `WindowBioLogits`.
    """
    for passage in tagged_passages(logits):
      self._agreement.add(passage)
      self._report.add(passage)

  def write(self, output_dir):
    """Writes tag_agreement.json and disagreement.json.

    Both are written in any case, so that neither is left from another run;
    without annotators they are empty.

    Args:
      output_dir: an existing folder, local or of tf.io.gfile.

    Returns:
      List of the paths written.
    """
    files = {
      AGREEMENT_FILE: self._agreement.scores(),
      DISAGREEMENT_FILE: self._report.rows(),
    }
    for name, value in files.items():
      write_json_atomically(os.path.join(output_dir, name), value)
    return [os.path.join(output_dir, name) for name in files]


def bio_scores(output_dir, examples):
  """Scores of the answers of several spans in a folder.

  Args:
    output_dir: the folder that the predictions were written to.
    examples: SquadExamples with their annotators.

  Returns:
    Dict of `evaluate_multi_span` and of `AnnotatorAgreement`.
  """
  spans = read_span_predictions(os.path.join(output_dir, SPANS_FILE))
  path = os.path.join(output_dir, AGREEMENT_FILE)
  agreement = {}
  if tf.io.gfile.exists(path):
    with tf.io.gfile.GFile(path) as file:
      agreement = json.loads(file.read())
  return {**evaluate_multi_span(examples, spans), **agreement}
