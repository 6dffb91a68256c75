"""What a program prints, and what it skips, while it imports TensorFlow."""

import contextlib
import os
import sys

import pytest

from bert_span.cli import tensorflow_import


@pytest.mark.parametrize("raised", [None, SystemExit, KeyboardInterrupt])
def test_notes_of_the_import_are_kept_back_unless_it_fails(
  monkeypatch, capfd, raised
):
  def import_keras():
    os.write(2, b"a note of a library")
    assert sys.modules["matplotlib"] is None  # Importing it would fail.
    if raised:
      raise raised

  for name in ("keras", "matplotlib"):
    monkeypatch.delitem(sys.modules, name, raising=False)
  monkeypatch.setattr(
    tensorflow_import, "ensure_tensorflow_backend", import_keras
  )
  monkeypatch.setattr(tensorflow_import.gc, "freeze", lambda: None)
  with pytest.raises(raised) if raised else contextlib.nullcontext():
    tensorflow_import.import_tensorflow()
  sys.stderr.write("after")
  assert "matplotlib" not in sys.modules
  shown = "a note of a library" if raised is SystemExit else ""
  assert capfd.readouterr().err == f"{shown}after"
