"""Windows with their labels, of a preprocessor."""

from bert_span.data.window_batches import example_arrays, window_batches


def labelled_batches(examples, preprocessor):
  """Yields the windows of each batch, labels among them, and can_train."""
  for batch, windows in window_batches(examples, preprocessor.windows):
    contexts = example_arrays(batch)["context"]
    y = preprocessor.label_arrays(batch)
    labels, can_train = preprocessor.label(contexts, y, windows)
    yield windows | labels, can_train
