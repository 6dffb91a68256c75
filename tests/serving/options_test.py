"""Addresses and limits of a local server."""

import pytest

from bert_span.serving.options import ServerOptions


@pytest.mark.parametrize(
  ("name", "taken", "refused"),
  [
    ("host", ["0.0.0.0", "::1"], ["", " "]),
    ("port", [0, 65535], [-1, 65536]),
    ("max_request_bytes", [1], [0]),
    ("request_seconds", [0.1], [0.0]),
  ],
)
def test_an_option_is_within_its_bounds(name, taken, refused):
  for value in taken:
    assert getattr(ServerOptions(**{name: value}), name) == value
  for value in refused:
    with pytest.raises(ValueError, match=name):
      ServerOptions(**{name: value})
