"""The lock of a run."""

import pytest

from bert_span.training.run_folder import locked_folder


def test_a_folder_is_for_one_training_at_a_time(tmp_path):
  output_dir = tmp_path / "run"
  unfinished = output_dir / f"model.{'0' * 32}.tmp"
  with locked_folder(str(output_dir)):
    unfinished.mkdir()
    with (
      pytest.raises(ValueError, match=r"in use: process \d+ on .* trains"),
      locked_folder(str(output_dir), directories=["model"]),
    ):
      pass
    assert unfinished.exists()
  with locked_folder(str(output_dir), directories=["model"]):
    assert not unfinished.exists()
