"""Batches for keras.Model.fit."""

from bert_span.fine_tuning.fine_tuner import batches_of, training_set_of


def keras_batches(extractor, examples, options):
  """The batches that `fine_tune` trains on, as keras.Model.fit takes them.

  Example, on one device:

      batches = keras_batches(extractor, examples, options)
      extractor.model.compile(BertAdamW(3e-5), loss=SpanLoss())
      steps = options.num_train_steps(len(examples))
      extractor.model.fit(batches, steps_per_epoch=steps)

  Args:
    extractor: `SpanExtractor`.
    examples: sequence of `SquadExample`, see `fine_tune`.
    options: `FineTuningOptions`; only those of batches and labels are used.

  Returns:
    Endless tf.data.Dataset of pairs: the model's inputs, a dict of token_ids,
    segment_ids and padding_mask, int32 [batch, seq_length]; and the labels, a
    dict by the names of its outputs: start_logits and end_logits, int32
    [batch], or tag_logits, float32 [batch, seq_length, 3].
  """
  training_set = training_set_of(extractor, examples, options)
  batches = batches_of(extractor, training_set, options)
  return batches.dataset(first_step=0).map(extractor.head.inputs_and_labels)
