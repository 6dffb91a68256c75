"""Readers: SQuAD JSON and TFDS to examples, examples to batches."""
