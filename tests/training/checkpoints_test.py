"""Checkpoints on disk: which are seen, which are damaged, what is refused."""

import os
import pathlib
import shutil

import pytest
from toy_trainer import (
  NUM_STEPS,
  all_values,
  assert_same,
  dataset_fn,
  make_trainer,
)


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
  folder = tmp_path_factory.mktemp("finished")
  trainer = make_trainer(folder)
  trainer.train(dataset_fn)
  return folder, all_values(trainer)


@pytest.fixture
def finished(finished_run, tmp_path):
  """A finished run with the checkpoints 2, 4, 6, 7, and its weights."""
  folder, values = finished_run
  shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
  return tmp_path, values


def _cut_in_half(path):
  path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _change_a_byte(path):
  content = bytearray(path.read_bytes())
  content[len(content) // 2] ^= 0xFF
  path.write_bytes(content)


def _restore(output_dir, **options):
  """The checkpoint that a run goes on from, and its trainer."""
  trainer = make_trainer(output_dir, **options)
  path = trainer._checkpoints.restore_or_begin()
  return path and os.path.basename(path), trainer


@pytest.mark.parametrize("ending", ["index", "data-00000-of-00001"])
@pytest.mark.parametrize(
  "damage", [_cut_in_half, _change_a_byte, pathlib.Path.unlink]
)
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(
  finished, ending, damage, capsys
):
  output_dir, _ = finished
  damage(output_dir / f"model.ckpt-7.{ending}")
  path, trainer = _restore(output_dir)
  assert (path, trainer.step) == ("model.ckpt-6", 6)
  assert "model.ckpt-7 cannot be read" in capsys.readouterr().err


def test_damaged_checkpoints_are_passed_over_and_written_anew(finished, capsys):
  output_dir, expected = finished
  for step in (6, 7):
    _cut_in_half(output_dir / f"model.ckpt-{step}.index")
  again = make_trainer(output_dir)
  assert again.train(dataset_fn) == NUM_STEPS - 4
  lines = capsys.readouterr().err.splitlines()
  assert [line.split()[2][-1] for line in lines[:2]] == ["7", "6"]
  assert_same(all_values(again), expected)
  # 6 was saved later than 7 was named, but 7 is the later step.
  assert _restore(output_dir)[0] == "model.ckpt-7"


def test_when_all_are_damaged_nothing_is_begun_again_unasked(finished):
  output_dir, _ = finished
  for path in output_dir.glob("*.index"):
    _cut_in_half(path)
  with pytest.raises(ValueError, match=r"No checkpoint in .* can be read"):
    _restore(output_dir)


def test_a_checkpoint_counts_only_once_it_is_named(finished):
  """As a kill leaves it between the files and the name."""
  output_dir, expected = finished
  for path in list(output_dir.glob("model.ckpt-7.*")):
    shutil.copy(path, output_dir / path.name.replace("-7.", "-9.", 1))
  path, again = _restore(output_dir)
  assert path == "model.ckpt-7"
  assert_same(all_values(again), expected)


def test_a_spoiled_list_of_checkpoints_is_written_anew(finished, capsys):
  output_dir, _ = finished
  for content in (b"", b'model_checkpoint_path: "mo', b"\0"):
    (output_dir / "checkpoint").write_bytes(content)
    assert _restore(output_dir)[0] == "model.ckpt-7"
    assert "names 4 checkpoints" in capsys.readouterr().err.splitlines()[0]
  # They are kept and deleted as before.
  _cut_in_half(output_dir / "model.ckpt-7.index")
  make_trainer(output_dir, keep_checkpoint_max=2).train(dataset_fn)
  names = sorted(path.name for path in output_dir.glob("*.index"))
  assert names == ["model.ckpt-6.index", "model.ckpt-7.index"]
  # Without a checkpoint the run begins.
  for path in output_dir.glob("model.ckpt-*"):
    path.unlink()
  (output_dir / "checkpoint").write_bytes(b"")
  assert _restore(output_dir)[0] is None


def test_a_list_that_names_checkpoints_elsewhere_is_refused(finished):
  output_dir, _ = finished
  victim = output_dir.parent / f"{output_dir.name}-victim.index"
  victim.write_text("two years")
  path = output_dir / "checkpoint"
  text = path.read_text().replace("model.ckpt-2", f"../{victim.stem}")
  path.write_text(text)
  with pytest.raises(ValueError, match=f"checkpoint names .*{victim.stem}"):
    make_trainer(output_dir)
  assert victim.read_text() == "two years"
