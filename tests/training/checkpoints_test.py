"""Checkpoints on disk: which are seen, which are damaged, what is refused."""

import os
import pathlib
import shutil

import pytest
import tensorflow as tf

from bert_span.training.checkpoints import steps_made
from tests.support.training import (
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


def test_a_spoiled_list_of_checkpoints_is_written_anew(
  finished, capsys, monkeypatch
):
  output_dir, _ = finished
  listed = (output_dir / "checkpoint").read_bytes()
  for content in (
    *(b"", b'model_checkpoint_path: "mo', b"\0", b"garbage\n"),
    *(b"".join(listed.splitlines(True)[:n]) for n in (1, 2, 4)),
    b'model_checkpoint_path: "x-9"\nall_model_checkpoint_paths: "x-9"\n',
  ):
    (output_dir / "checkpoint").write_bytes(content)
    for folder in (output_dir, output_dir.name):  # relative, too
      monkeypatch.chdir(output_dir.parent)
      assert _restore(folder)[0] == "model.ckpt-7"
      assert "all 4 checkpoints" in capsys.readouterr().err.splitlines()[0]
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
    _restore(output_dir)
  assert victim.read_text() == "two years"


def test_a_lost_list_loses_no_checkpoint(finished):
  output_dir, expected = finished
  (output_dir / "checkpoint").unlink()
  path, again = _restore(output_dir)
  assert path == "model.ckpt-7"
  assert_same(all_values(again), expected)
  # As a kill within the first save leaves it.
  for path in list(output_dir.glob("model.ckpt-[246].*")):
    path.unlink()
  _cut_in_half(output_dir / "model.ckpt-7.index")
  assert make_trainer(output_dir).train(dataset_fn) == NUM_STEPS


@pytest.mark.parametrize("name", ["run[1]", "run*", "r?n", "r\\n"])
def test_a_folder_may_have_a_name_that_is_a_pattern(
  tmp_path, monkeypatch, name
):
  monkeypatch.chdir(tmp_path)
  (tmp_path / "run1").mkdir()
  others = {"model.ckpt-2.index", "model.ckpt-2.data-00000-of-00001"}
  for other in others:
    (tmp_path / "run1" / other).write_text("of another run")
  make_trainer(name, keep_checkpoint_max=2).train(dataset_fn)
  assert set(os.listdir("run1")) == others
  files = sorted(n for n in os.listdir(name) if n.startswith("model.ckpt-"))
  assert [file[11] for file in files] == ["6", "6", "7", "7"]
  assert steps_made(name) == NUM_STEPS
  assert _restore(name)[0] == "model.ckpt-7"


def test_a_run_goes_on_in_another_place_and_from_another_folder(
  tmp_path, monkeypatch
):
  (tmp_path / "work").mkdir()
  monkeypatch.chdir(tmp_path / "work")
  make_trainer("run").train(dataset_fn)
  # With whole paths, as tools of TensorFlow 1 write them.
  names = [str(tmp_path / f"work/run/model.ckpt-{step}") for step in (6, 7)]
  tf.compat.v1.train.update_checkpoint_state(
    str(tmp_path / "work/run"), names[-1], names
  )
  monkeypatch.chdir(tmp_path)
  os.rename("work/run", "moved")
  for folder in ("moved", str(tmp_path / "moved"), "work/../moved"):
    assert _restore(folder)[0] == "model.ckpt-7"


def test_only_what_a_killed_save_left_is_removed(finished):
  output_dir, _ = finished
  for name in ("model.ckpt-8_temp/part-00000.index", "model.ckpt-9_temp/notes"):
    (output_dir / name).parent.mkdir()
    (output_dir / name).write_text("x")
  (output_dir / "model.ckpt-10_temp").symlink_to("model.ckpt-9_temp")
  _restore(output_dir)
  left = sorted(path.name for path in output_dir.glob("*_temp"))
  assert left == ["model.ckpt-10_temp", "model.ckpt-9_temp"]
  assert (output_dir / "model.ckpt-9_temp/notes").exists()
