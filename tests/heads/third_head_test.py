"""A third head, defined here alone: its tags are I and O only."""

import dataclasses
from typing import ClassVar

import keras
import numpy as np
import pytest
import tensorflow as tf
from squad_runs import CONTEXT, read, write_squad_files

from bert_span.answers.decoding.bio_decoder import BioDecoder
from bert_span.answers.decoding.options import BioDecoderOptions
from bert_span.data.window_labels import BIO_LABELS, window_bio_labels
from bert_span.extractor import SpanExtractor
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.heads.bio import BioAnswerHead
from bert_span.jobs import export_saved_model, export_tflite, run_squad
from bert_span.presets.encoder_source import EncoderSource
from bert_span.text.options import WindowOptions


class InsideLayer(keras.layers.Layer):
  logit_names = ("inside_logits",)

  def build(self, input_shape):
    self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], 2))

  def call(self, sequence_output):
    return keras.ops.matmul(sequence_output, self.kernel)


def _label(examples, windows, annotator_labels):
  bio, is_labelled = window_bio_labels(examples, windows, annotator_labels)
  bio = bio["tag_labels"]
  inside = np.stack([bio[..., 0] + bio[..., 1], bio[..., 2]], axis=-1)
  return {"inside_labels": inside}, is_labelled


class InsideLoss(keras.losses.Loss):
  def call(self, y_true, y_pred):
    return -tf.reduce_sum(y_true * tf.nn.log_softmax(y_pred), axis=(1, 2))


class InsideDecoder(BioDecoder):
  def read(self, windows, inside_logits):
    # B is less probable than I, so that tokens in a row are one span.
    b_logits = inside_logits[..., :1] - 1
    return super().read(windows, tf.concat([b_logits, inside_logits], axis=-1))


class InsideHead(BioAnswerHead):
  logits: ClassVar = {"inside_logits": (2,)}
  labels = dataclasses.replace(
    BIO_LABELS, head="inside", token_labels={"inside_labels": 2}, label=_label
  )
  make_decoder = InsideDecoder
  logits_guide: ClassVar = {"inside_logits": "scores of I and O"}

  def make_layer(self, head_bias):
    return InsideLayer(name="inside_head")

  def make_loss(self, options):
    return InsideLoss()

  def make_observer(self, num_questions):
    return None


INSIDE_HEAD = InsideHead()


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_a_head_of_ones_own_trains_answers_and_is_exported(tmp_path):
  write_squad_files(tmp_path)
  steps = ("do_train", "do_predict", "do_eval", "write_logits")
  run_squad.run_squad(
    run_squad.SquadRun(
      **dict.fromkeys(steps, True),
      output_dir=str(tmp_path / "run"),
      source=EncoderSource(
        bert_config_file=str(tmp_path / "bert_config.json"),
        vocab_file=str(tmp_path / "vocab.txt"),
      ),
      window_options=WindowOptions(32, 8, 12),
      decoder_options=BioDecoderOptions(),
      fine_tuning_options=FineTuningOptions(
        train_batch_size=4, learning_rate=2e-2, num_train_epochs=30
      ),
      head=INSIDE_HEAD,
      train_file=str(tmp_path / "v1.json"),
      predict_file=str(tmp_path / "v1.json"),
    )
  )
  assert read(tmp_path / "run/eval_results.json")["f1"] == 100
  model = SpanExtractor.from_preset(tmp_path / "run/model", head=INSIDE_HEAD)
  assert model.answer("Who built the mill?", CONTEXT).text == "Anna"
  # Both exports compare their answers with the model's.
  export_saved_model.export_saved_model(
    model, str(tmp_path / "served"), with_warmup=False
  )
  export_tflite.export_tflite(model, str(tmp_path / "inside.tflite"))
