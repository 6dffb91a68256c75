"""Questions of fit, evaluate and predict: which are read, which are refused."""

import re
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span import BioExtractor, SpanExtractor
from bert_span.extractors.question_batches import question_batches
from tests.support.models import CONTEXT, QUESTION, shared_model

_X = {"question": [QUESTION, "When?", "Who?"], "context": [CONTEXT] * 3}
_Y = {"answer_text": ["Anna", "1895", ""], "answer_start": [22, 30, -1]}
_BIO_Y = {
  "answer_text": [[["Anna", "1895"], ["Anna"]], [["1895"]], [[]]],
  "answer_start": [[[22, 30], [22]], [[30]], [[]]],
}


_batched = tf.data.Dataset.from_tensor_slices


def _batches(x, *labels):
  """A dataset of batches of two questions."""
  return _batched((x, *labels) if labels else x).batch(2)


def _generated():
  """The same, of batches of unknown shapes."""
  types = (
    dict.fromkeys(_X, tf.string),
    {"answer_text": tf.string, "answer_start": tf.int32},
  )
  return tf.data.Dataset.from_generator(lambda: iter([(_X, _Y)]), types)


def _streamed(y):
  """A dataset of one batch that does not say how many it has."""
  return _batched((_X, y)).batch(3).filter(lambda x, y: True)


class _Sequence(keras.utils.PyDataset):
  def __len__(self):
    return 1

  def __getitem__(self, index):
    return _X, _Y


_NAN = float("nan")
_MOVED = {**_Y, "answer_start": [22, 31, -1]}
_BIO_MOVED = {**_BIO_Y, "answer_start": [[[22, 30], [23]], [[30]], [[]]]}
_RAGGED = {k: tf.ragged.constant(v, ragged_rank=2) for k, v in _BIO_Y.items()}
# Arguments of fit, and what names the fault.
_WRONG = {
  "no y": ({"x": _X}, "y is missing"),
  "texts alone": ({"x": _X, "y": _Y["answer_text"]}, "y must be .* list"),
  "a pair": ({"x": _X, "y": ([5] * 3, [5] * 3)}, "y must be .* tuple"),
  "a key": ({"x": _X, "y": {"answer_text": ["Anna"] * 3}}, "answer_start"),
  "offset": ({"x": _X, "y": _MOVED}, "question 1: .*'1895'.* 31"),
  "negative": ({"x": _X, "y": {**_Y, "answer_start": [-2, 30, -1]}}, " -2 "),
  "no start": (
    {"x": _X, "y": {**_Y, "answer_start": [22, -1, -1]}},
    "1: .* -1 ",
  ),
  "large": (
    {"x": _X, "y": {**_Y, "answer_start": [2**32 + 22, 30, -1]}},
    "0: ",
  ),
  "larger": ({"x": _X, "y": {**_Y, "answer_start": [22, 2**70, -1]}}, r"\[1\]"),
  "float": (
    {"x": _X, "y": {**_Y, "answer_start": np.array([22, 30, _NAN])}},
    r"answer_start\[0\] must be an int",
  ),
  "None": (
    {"x": _X, "y": {**_Y, "answer_text": ["Anna", None, ""]}},
    r"answer_text\[1\] .*None",
  ),
  "rank of lists": (
    {"x": _X, "y": {**_Y, "answer_text": np.array([["Anna"]] * 3)}},
    r"answer_text\[0\]",
  ),
  "rank": (
    {"x": _X, "y": {**_Y, "answer_start": tf.zeros([3, 1], tf.int32)}},
    r"answer_start .*rank 1.*\(3, 1\)",
  ),
  "lengths": (
    {"x": _X, "y": {n: v[:2] for n, v in _Y.items()}},
    "3 question, 3 context, 2 answer_text",
  ),
  "bytes": ({"x": {**_X, "context": [b"\xff"] * 3}, "y": _Y}, "0: .*UTF-8"),
  "NaN weight": (
    {"x": _X, "y": _Y, "sample_weight": [1.0, 1.0, _NAN]},
    "question 2: sample_weight",
  ),
  "nothing": (
    {"x": {n: [] for n in _X}, "y": {n: [] for n in _Y}},
    "x has no questions",
  ),
  "prepared": ({"x": {"token_ids": [[1]]}, "y": _Y}, "token_ids.* None"),
  "generator": ({"x": (x for x in [_X])}, "tf.data.Dataset.*generator"),
  "PyDataset": ({"x": _Sequence()}, "tf.data.Dataset.*_Sequence"),
  "unbatched": ({"x": _batched((_X, _Y))}, r"question .*\.batch\("),
  "dataset of x": ({"x": _batches(_X)}, "y is missing"),
  "dataset of tuples": (
    {"x": _batches(tuple(_X.values()), _Y)},
    "x must be .*tuple",
  ),
  "dataset of four": ({"x": _batches(_X, _Y, [1] * 3, [1] * 3)}, "of 4"),
  "dataset of texts": ({"x": _batches(_X, _Y["answer_text"])}, "y must be"),
  "dataset of floats": (
    {"x": _batches(_X, {**_Y, "answer_start": [22.0, 30.0, -1.0]})},
    "answer_start .*integers.* float32",
  ),
  "no shapes": ({"x": _generated()}, "output_signature"),
  "batch_size": ({"x": _batches(_X, _Y), "batch_size": 2}, "batch_size"),
  "row of a dataset": ({"x": _batches(_X, _MOVED)}, "question 1 of batch 0: "),
  "row of its last batch": (
    {"x": _batched((_X, {**_Y, "answer_start": [22, 30, 7]})).batch(2)},
    "question 0 of batch 1: ",
  ),
  "row of an endless dataset": (
    {"x": _batches(_X, _MOVED).repeat(), "steps_per_epoch": 1},
    "question 1 of batch 0: ",
  ),
  "row of a generator": ({"x": _streamed(_MOVED)}, "question 1 of batch 0: "),
  "two rows of a generator": (
    {
      "x": _batched((_X, {**_Y, "answer_start": [22, 31, 7]}))
      .batch(2)
      .filter(lambda x, y: True)
    },
    "question 1 of batch 0: ",
  ),
  "empty dataset": ({"x": _batches(_X, _Y).take(0)}, "no questions"),
  "validation_data": (
    {"x": _X, "y": _Y, "validation_data": (_X, _MOVED)},
    "validation_data: question 1: ",
  ),
  "validation dataset": (
    {"x": _X, "y": _Y, "validation_data": _batches(_X, _MOVED)},
    "validation_data: question 1 of batch 0: ",
  ),
}
_BIO_WRONG = {
  "y of a span head": ({"x": _X, "y": _Y}, r"answer_text\[0\] .*annotators"),
  "no annotators": (
    {"x": _X, "y": {n: [[v] for v in values] for n, values in _Y.items()}},
    r"answer_text\[0\]\[0\]",
  ),
  "starts": (
    {"x": _X, "y": {**_BIO_Y, "answer_start": [[[22], [22]], [[30]], [[]]]}},
    "question 0: answer_text and answer_start .*annotators",
  ),
  "offset": ({"x": _X, "y": _BIO_MOVED}, "question 0: .*'Anna'.* 23 "),
  "None": (
    {"x": _X, "y": {**_BIO_Y, "answer_text": [[["Anna", None]], [[]], [[]]]}},
    r"answer_text\[0\]\[0\]\[1\]",
  ),
  "unbatched": ({"x": _batched((_X, _RAGGED))}, r"\.batch\("),
  "rank": ({"x": _batches(_X, _Y)}, "answer_text .*rank 3"),
}


@pytest.fixture(scope="module")
def compiled():
  """Extractors by kind that run op by op, sooner than a graph is made."""
  extractors = {}
  for kind in (SpanExtractor, BioExtractor):
    extractors[kind] = kind.from_preset(shared_model(kind=kind))
    extractors[kind].compile(keras.optimizers.SGD(1e-6), run_eagerly=True)
  return extractors


def test_what_fit_cannot_take_is_refused(compiled):
  extractor = compiled[SpanExtractor]
  with pytest.raises(ValueError, match="question and context"):
    extractor.fit([QUESTION], [CONTEXT])
  with pytest.raises(ValueError, match="validation_data"):
    extractor.fit(_X, _Y, validation_split=0.5)
  dataset = tf.data.Dataset.from_tensors((_X, _Y))
  with pytest.raises(ValueError, match="y and sample_weight"):
    extractor.fit(dataset, sample_weight=[1.0, 2.0, 3.0])
  with pytest.raises(ValueError, match=r"question.*list of str"):
    extractor.predict({"question": QUESTION, "context": CONTEXT})
  with pytest.raises(ValueError, match="3 answer_start, 2 sample_weight"):
    extractor.fit(_X, _Y, sample_weight=[1.0, 2.0])


@pytest.mark.parametrize(
  ("kind", "arguments", "named"),
  [(SpanExtractor, *case) for case in _WRONG.values()]
  + [(BioExtractor, *case) for case in _BIO_WRONG.values()],
  ids=[*_WRONG, *(f"tags, {name}" for name in _BIO_WRONG)],
)
def test_a_wrong_y_or_dataset_is_one_error_before_the_first_step(
  compiled, kind, arguments, named
):
  extractor = compiled[kind]
  steps = int(extractor.optimizer.iterations)
  with pytest.raises(ValueError, match=named) as error:
    extractor.fit(**arguments, verbose=0)
  assert len(str(error.value)) < 300
  assert int(extractor.optimizer.iterations) == steps


@pytest.mark.large
def test_nothing_to_read_and_missing_labels_are_refused_everywhere(compiled):
  extractor = compiled[SpanExtractor]
  nothing = {name: [] for name in _X}
  for ask in (extractor.predict, extractor.predict_on_batch):
    with pytest.raises(ValueError, match="no questions"):
      ask(nothing)
  with pytest.raises(ValueError, match="no questions"):
    extractor.predict(_batches(_X).filter(lambda x: False), verbose=0)
  for ask in (
    *(extractor.fit, extractor.evaluate),
    *(extractor.train_on_batch, extractor.test_on_batch),
  ):
    with pytest.raises(ValueError, match="y is missing"):
      ask(_X)
    with pytest.raises(ValueError, match=r"question 1: .* 31"):
      ask(_X, _MOVED)
  with pytest.raises(ValueError, match=r"question 1 of batch 0: .* 31"):
    extractor.evaluate(_batches(_X, _MOVED), verbose=0)
  weighted = _batches(_X, _Y, [1.0, 1.0, _NAN])
  with pytest.raises(ValueError, match="question 0 of batch 1: sample_weight"):
    extractor.evaluate(weighted, verbose=0)
  with pytest.raises(ValueError, match=r"compile\(\)"):
    SpanExtractor.from_preset(shared_model()).fit(_X, _Y)
  assert not extractor.fit(_X, _Y, epochs=0).epoch


def test_columns_of_arrays_are_read_as_lists_are(compiled):
  preprocessor = compiled[SpanExtractor].preprocessor

  def values(*data):
    (batch,) = question_batches(preprocessor, *data)
    return [np.asarray(x).tolist() for x in tf.nest.flatten(batch)]

  expected = values(_X, _Y)
  for kind in (object, None):
    x, y = (
      {name: np.array(values, kind) for name, values in columns.items()}
      for columns in (_X, _Y)
    )
    assert values(x, y) == expected
  # As Keras does, None is no weight.
  batches = _batched((_X, _Y)).batch(3).map(lambda x, y: (x, y, None))
  assert values(batches) == expected


@pytest.mark.large
def test_a_right_fit_after_a_wrong_one_ends():
  extractor = SpanExtractor.from_preset(shared_model())
  extractor.compile()
  wrong = {"answer_text": tf.constant([["Anna"]] * 3), "answer_start": [22] * 3}
  with pytest.raises(ValueError, match="answer_text"):
    extractor.fit(_X, wrong, verbose=0)
  with pytest.raises(ValueError, match="question 0 of batch 0"):
    extractor.fit(_batches(_X, {**_Y, "answer_start": [3] * 3}), verbose=0)
  histories = []
  thread = threading.Thread(
    target=lambda: histories.append(extractor.fit(_X, _Y, verbose=0)),
    daemon=True,
  )
  thread.start()
  thread.join(timeout=120)
  (history,) = histories
  assert np.isfinite(history.history["loss"]).all()


@pytest.mark.large
def test_questions_that_are_cut_are_counted_once(compiled, capsys):
  extractor = compiled[SpanExtractor]
  long = ["who " * 9, "when " * 9, "Who?"]
  x = {**_X, "question": long}
  for read in (
    lambda: extractor.fit(x, _Y, epochs=2, validation_data=(x, _Y), verbose=0),
    lambda: extractor.evaluate(_batches(x, _Y), verbose=0),
  ):
    read()
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(r"(who who|when when).*max_query_length=8.* 1 more", line)
  extractor.evaluate(_X, _Y, verbose=0)
  assert not capsys.readouterr().err
