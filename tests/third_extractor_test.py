"""A third extractor, defined here alone: its tags are I and O only."""

from typing import ClassVar

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span import BioExtractor, Extractor
from bert_span.answers.decoding.bio_decoder import BioDecoder
from bert_span.data.bio_preprocessor import BioPreprocessor
from bert_span.jobs.run_squad import run_squad
from bert_span.run_squad import RunSquadOptions
from tests.support.squad import CONTEXT, read, write_squad_files


class InsideLayer(keras.layers.Layer):
  def build(self, input_shape):
    self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], 2))

  def call(self, sequence_output):
    return keras.ops.matmul(sequence_output, self.kernel)


class InsideLoss(keras.losses.Loss):
  def call(self, y_true, y_pred):
    return -tf.reduce_sum(y_true * tf.nn.log_softmax(y_pred), axis=(1, 2))


class InsidePreprocessor(BioPreprocessor):
  token_labels: ClassVar = {"inside_labels": 2}
  outputs = ("inside_logits",)

  def label(self, contexts, y, windows, annotator_labels="soft"):
    labels, is_labelled = super().label(contexts, y, windows, annotator_labels)
    tags = labels["tag_labels"]
    inside = np.stack([tags[..., 0] + tags[..., 1], tags[..., 2]], axis=-1)
    return {"inside_labels": inside}, is_labelled


class InsideDecoder(BioDecoder):
  def read(self, windows, inside_logits):
    # B is less probable than I, so that tokens in a row are one span.
    b_logits = inside_logits[..., :1] - 1
    return super().read(windows, tf.concat([b_logits, inside_logits], axis=-1))


class InsideExtractor(BioExtractor):
  head_name = "inside"
  logits: ClassVar = {"inside_logits": (2,)}
  logits_descriptions: ClassVar = {"inside_logits": "scores of I and O"}
  preprocessor_class = InsidePreprocessor
  decoder_class = InsideDecoder

  make_head = staticmethod(
    lambda use_bias=True, has_transform=False: InsideLayer(name="inside_head")
  )
  make_loss = staticmethod(lambda options=None: InsideLoss())


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_an_extractor_of_ones_own_trains_answers_and_is_exported(tmp_path):
  write_squad_files(tmp_path)
  steps = ("do_train", "do_predict", "do_eval", "write_logits")
  options = RunSquadOptions(
    **dict.fromkeys(steps, True),
    output_dir=tmp_path / "run",
    bert_config_file=tmp_path / "bert_config.json",
    vocab_file=tmp_path / "vocab.txt",
    train_file=tmp_path / "v1.json",
    predict_file=tmp_path / "v1.json",
    max_seq_length=32,
    doc_stride=8,
    max_query_length=12,
    train_batch_size=4,
    learning_rate=2e-2,
    num_train_epochs=30.0,
  )
  run_squad(options, extractor_class=InsideExtractor)
  assert read(tmp_path / "run/eval_results.json")["f1"] == 100
  model = Extractor.from_preset(tmp_path / "run/model")
  assert type(model) is InsideExtractor
  assert model.answer("Who built the mill?", CONTEXT).text == "Anna"
  # Both exports compare their answers with the model's.
  model.export(str(tmp_path / "served"), with_warmup=False)
  model.export(str(tmp_path / "inside.tflite"), format="litert")
