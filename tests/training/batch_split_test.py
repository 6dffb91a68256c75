import numpy as np
import pytest
import tensorflow as tf

from bert_span.training.batch_split import distribute_batches, split_batch


def test_five_windows_on_two_replicas_by_hand():
  batch = {"ids": tf.constant([[1, 1], [2, 2], [3, 3], [4, 4], [5, 5]])}
  batches, weights = split_batch(batch, num_replicas=2)
  assert batches["ids"][:, 0, :, 0].numpy().tolist() == [[1, 2, 3], [4, 5, 1]]
  assert weights[:, 0].numpy().tolist() == [[1, 1, 1], [1, 1, 0]]


def test_one_window_on_two_replicas_in_two_micro_batches_each():
  batches, weights = split_batch({"ids": tf.constant([[7, 8, 9]])}, 2, 2)
  assert batches["ids"].shape == (2, 2, 1, 3)
  assert (batches["ids"].numpy() == [7, 8, 9]).all()
  assert weights.numpy().ravel().tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("rows", range(1, 9))
def test_every_row_counts_once(rows):
  batch = {"ids": tf.range(rows), "mask": tf.ones([rows, 3, 2])}
  batches, weights = split_batch(batch, 3, 2)
  real = batches["ids"].numpy()[weights.numpy() == 1]
  assert real.tolist() == list(range(rows))
  assert batches["mask"].shape[3:] == (3, 2)


def test_shapes_stay_static_where_they_are():
  specs = {"ids": tf.TensorSpec([32, 384], tf.int32)}
  dataset = tf.data.Dataset.from_generator(list, output_signature=specs)
  (spec, weights) = dataset.map(lambda b: split_batch(b, 8, 2)).element_spec
  assert spec["ids"].shape == (8, 2, 2, 384)
  assert spec["ids"].dtype == tf.int32
  assert weights.shape == (8, 2, 2)


def test_each_step_gives_the_replicas_one_batch():
  dataset = tf.data.Dataset.range(100).batch(4).map(lambda x: {"ids": x})
  strategy = tf.distribute.get_strategy()
  distributed = distribute_batches(strategy, dataset, num_micro_batches=2)
  (first, weights), (second, _) = list(distributed)[:2]
  np.testing.assert_array_equal(first["ids"], [[0, 1], [2, 3]])
  np.testing.assert_array_equal(second["ids"], [[4, 5], [6, 7]])
  assert weights.numpy().all()
