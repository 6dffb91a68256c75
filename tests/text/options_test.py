"""Options of windows: the room for a passage, and the step of long windows."""

import dataclasses

import pytest

from bert_span.text.options import WindowOptions


def test_a_window_has_room_for_the_passage_beside_the_longest_question():
  WindowOptions(12, 8, 8)  # One WordPiece beside [CLS], [SEP] and [SEP].
  with pytest.raises(
    ValueError, match=r"max_seq_length \(11\).*max_query_length \(8\)"
  ):
    WindowOptions(11, 8, 8)


@pytest.mark.parametrize(
  ("sizes", "step"),
  [
    ({}, 128),
    # run_squad's, for all lengths that BERT has.
    ({"max_seq_length": 512}, 128),
    ({"max_seq_length": 100}, 128),
    # An overlap of 192 WordPieces beside the longest question.
    ({"max_seq_length": 513}, 257),
    ({"max_seq_length": 8192}, 7936),
    ({"max_seq_length": 8192, "max_query_length": 500}, 7500),
    ({"max_seq_length": 600, "max_query_length": 590}, 128),
    ({"max_seq_length": 8192, "doc_stride": 128}, 128),
  ],
)
def test_the_step_of_long_windows_follows_their_length(sizes, step):
  options = WindowOptions(**sizes)
  assert options.doc_stride == step
  assert WindowOptions.of(options) == options
  assert WindowOptions().replaced(**sizes) == options
  # 8,192 were given: what is saved is not changed.
  saved = WindowOptions(**dataclasses.asdict(options))
  assert saved.replaced(max_seq_length=8192).doc_stride == step
