"""How tags agree with annotators, in files beside the predictions."""

import os

import tensorflow as tf

from bert_span.answers.scoring.annotator_agreement import (
  AnnotatorAgreement,
  tagged_passages,
)
from bert_span.answers.scoring.disagreement_report import DisagreementReport
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.files import read_json

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
      logits: `WindowLogits`.
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


def read_agreement(output_dir):
  """The scores of tag_agreement.json in a folder; {} without such a file."""
  path = os.path.join(output_dir, AGREEMENT_FILE)
  if not tf.io.gfile.exists(path):
    return {}
  return read_json(path)
