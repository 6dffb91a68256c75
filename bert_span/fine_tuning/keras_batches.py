"""Batches for keras.Model.fit."""

from bert_span.fine_tuning.fine_tuner import batches_of, training_set_of


def keras_batches(extractor, examples, options):
  """The batches that `fine_tune` trains on, as keras.Model.fit takes them.

  Example, on one device:

      batches = keras_batches(extractor, examples, options)
      extractor.model.compile(BertAdamW(3e-5), loss=SpanLoss())
      steps = options.num_train_steps(len(examples))
      extractor.model.fit(batches, steps_per_epoch=steps)

  Returns an endless tf.data.Dataset of pairs of dicts, by the names of the
  model's inputs and outputs: int32 [batch, seq_length]; and labels, int32
  [batch], or for tag_logits float32 [batch, seq_length, 3].
  """
  training_set = training_set_of(extractor, examples, options)
  batches = batches_of(extractor, training_set, options)
  return batches.dataset(first_step=0).map(extractor.head.inputs_and_labels)
