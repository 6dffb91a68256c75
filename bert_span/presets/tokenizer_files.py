"""The vocabulary and its settings as files that KerasHub reads.

  tokenizer.json                    keras_hub.models.BertTokenizer's settings
  assets/tokenizer/vocabulary.txt   one token a line, the line number is its id

They stand in a preset's directory beside the encoder, so that
keras_hub.models.BertTokenizer.from_preset reads them without this package.
"""

import json
import os

import keras
import keras_hub
import tensorflow as tf

TOKENIZER_FILE = "tokenizer.json"
VOCABULARY_FILE = "assets/tokenizer/vocabulary.txt"


def save_tokenizer(directory, vocabulary, do_lower_case):
  """Writes a preset's two files about text.

  Files of the same names are replaced one by one; write to a new directory
  and rename it where a reader must never see half a model.

  Args:
    directory: made if it does not exist; any tf.io.gfile file system.
    vocabulary: list of tokens, the index is the id.
    do_lower_case: whether text is lower-cased and loses its accents.
  """
  path = os.path.join(os.fspath(directory), VOCABULARY_FILE)
  tf.io.gfile.makedirs(os.path.dirname(path))
  with tf.io.gfile.GFile(path, "wb") as file:
    file.write("".join(f"{token}\n" for token in vocabulary).encode("utf-8"))
  # Without the vocabulary KerasHub checks no special tokens: a vocabulary
  # without [MASK] is complete for answering questions.
  tokenizer = keras_hub.models.BertTokenizer(
    lowercase=do_lower_case, strip_accents=do_lower_case
  )
  settings = keras.saving.serialize_keras_object(tokenizer)
  settings.pop("build_config", None)  # as KerasHub's save_to_preset
  path = os.path.join(os.fspath(directory), TOKENIZER_FILE)
  with tf.io.gfile.GFile(path, "wb") as file:
    file.write((json.dumps(settings, indent=4) + "\n").encode("utf-8"))
