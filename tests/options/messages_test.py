"""Values as messages show them."""

import pytest

from bert_span.options.messages import printable, shortened


@pytest.mark.parametrize(
  ("value", "shown"),
  [
    ("Ada", "'Ada'"),
    ("x" * 58, repr("x" * 58)),  # 60 characters with its quotes
    ("x" * 1_000_000, f"'{'x' * 27}...{'x' * 28}'"),
    ([1, 2, 3, 4], "[1, 2, 3, ...]"),
    ([[[[1]]]], "[[[...]]]"),
    (float("nan"), "nan"),
  ],
)
def test_a_value_is_cut_to_some_60_characters(value, shown):
  assert shortened(value) == shown


def test_what_commands_a_terminal_is_escaped():
  assert printable("é \x1b[2J\u202e 日本\n") == "é \\x1b[2J\\u202e 日本\\n"
