"""Which WordPieces belong to one word."""

import numpy as np

_CONTINUATION = "##"


def continuation_table(vocabulary):
  """Tells for every id whether its WordPiece goes on with a word.

  Args:
    vocabulary: list of tokens, the index is the id.

  Returns:
    bool [vocab], True for tokens such as "##ing".
  """
  return np.array(
    [
      token.startswith(_CONTINUATION) and token != _CONTINUATION
      for token in vocabulary
    ],
    bool,
  )


def word_starts(token_ids, continues):
  """Finds where words begin.

  Punctuation marks are words of their own, as in the original's whole word
  masking. A text cut within a word begins with the rest of it, which counts
  as a word.

  Example: "The mill ##er left ." has the word starts 0, 1, 3, 4.

  Args:
    token_ids: int [tokens], without special tokens.
    continues: bool [vocab], see `continuation_table`.

  Returns:
    int64 [words], ascending; 0 is the first where there are tokens.
  """
  begins = ~continues[token_ids]
  begins[:1] = True
  return np.flatnonzero(begins)
