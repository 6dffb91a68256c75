"""Checkpoints on disk: which are seen, which are damaged, what is refused."""

import os
import pathlib
import shutil

import keras
import pytest
import tensorflow as tf

from bert_span import BertAdamW
from bert_span.training.checkpoints import (
  JsonState,
  RunCheckpoints,
  random_states,
  steps_made,
)


class _Run:
  """A model whose weight, m, seed and state are the number of its steps."""

  def __init__(self, output_dir, max_to_keep=5, width=1):
    inputs = keras.Input([1])
    outputs = keras.layers.Dense(width)(keras.layers.Dropout(0.5)(inputs))
    self.model = keras.Model(inputs, outputs)
    self.optimizer = BertAdamW(0.1)
    self.optimizer.build(self.model.trainable_variables)
    self.step = tf.Variable(0, dtype=tf.int64)
    self.state = JsonState([])
    self.checkpoints = RunCheckpoints(
      self.model,
      self.optimizer,
      self.step,
      str(output_dir),
      {"rate": 0.1},
      max_to_keep,
      tf.distribute.get_strategy(),
      {"seen": self.state},
    )

  def restore(self):
    """Returns the name of the checkpoint that the run goes on from."""
    path = self.checkpoints.restore_or_begin()
    number = int(self.step)
    if path:
      assert path.endswith(f"model.ckpt-{number}")
      for variable in self._variables():
        assert (variable.numpy() == number).all()
      assert self.state.value == [number]
    return path and os.path.basename(path)

  def save(self, *steps):
    """Saves the run after so many steps, one after the other."""
    for number in steps:
      self.step.assign(number)
      for variable in self._variables():
        variable.assign(variable * 0 + number)
      self.state.value = [number]
      self.checkpoints.save()

  def _variables(self):
    (rng,) = random_states(self.model)
    return self.model.weights[0], self.optimizer.momentums[0], rng


def _begin(output_dir, *steps, **options):
  """A run that begins and is saved at steps."""
  run = _Run(output_dir, **options)
  assert run.restore() is None
  run.save(*steps)


@pytest.fixture(scope="module")
def saved_run(tmp_path_factory):
  folder = tmp_path_factory.mktemp("saved")
  _begin(folder, 2, 4, 6, 7)
  return folder


@pytest.fixture
def saved(saved_run, tmp_path):
  """The folder of a run with the checkpoints 2, 4, 6 and 7."""
  shutil.copytree(saved_run, tmp_path, dirs_exist_ok=True)
  return tmp_path


def _cut_in_half(path):
  path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _change_a_byte(path):
  content = bytearray(path.read_bytes())
  content[len(content) // 2] ^= 0xFF
  path.write_bytes(content)


def _indexes(folder):
  return sorted(path.stem[11:] for path in folder.glob("*.index"))


@pytest.mark.parametrize("ending", ["index", "data-00000-of-00001"])
@pytest.mark.parametrize(
  "damage", [_cut_in_half, _change_a_byte, pathlib.Path.unlink]
)
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(
  saved, ending, damage, capsys
):
  damage(saved / f"model.ckpt-7.{ending}")
  assert _Run(saved).restore() == "model.ckpt-6"
  assert "model.ckpt-7 " in capsys.readouterr().err


def test_damaged_checkpoints_are_passed_over_and_written_anew(saved, capsys):
  for step in (6, 7):
    _cut_in_half(saved / f"model.ckpt-{step}.index")
  again = _Run(saved)
  assert again.restore() == "model.ckpt-4"
  lines = capsys.readouterr().err.splitlines()
  assert [line.split()[2][-1] for line in lines] == ["7", "6"]
  again.save(6)
  # 6 was saved later than 7 was named, but 7 is the later step.
  assert steps_made(saved) == 7
  assert _Run(saved).restore() == "model.ckpt-6"
  again.save(7)
  assert _Run(saved).restore() == "model.ckpt-7"


def test_when_all_are_damaged_nothing_is_begun_again_unasked(saved):
  for path in saved.glob("*.index"):
    _cut_in_half(path)
  with pytest.raises(ValueError, match=f"{saved}.*output_dir"):
    _Run(saved).restore()


def test_a_checkpoint_counts_only_once_it_is_named(saved):
  """As a kill leaves it between the files and the name."""
  for path in list(saved.glob("model.ckpt-7.*")):
    shutil.copy(path, saved / path.name.replace("-7.", "-9.", 1))
  assert _Run(saved).restore() == "model.ckpt-7"


def test_the_oldest_checkpoints_are_deleted_and_others_stay(saved):
  (saved / "model.ckpt-1.data-00000-of-00001").touch()  # a killed deletion
  for name in ("model.ckpt-1.notes", "model.ckpt-x.index"):
    (saved / name).touch()
  run = _Run(saved, max_to_keep=2)
  run.restore()
  run.save(8)
  assert _indexes(saved) == ["7", "8", "x"]
  listed = tf.train.get_checkpoint_state(saved).all_model_checkpoint_paths
  assert list(map(os.path.basename, listed)) == ["model.ckpt-7", "model.ckpt-8"]
  data = [path.name for path in saved.glob("*.data*")]
  assert sorted(name[11] for name in data) == ["7", "8"]
  assert (saved / "model.ckpt-1.notes").exists()


def test_a_spoiled_list_of_checkpoints_is_written_anew(
  saved, capsys, monkeypatch
):
  listed = (saved / "checkpoint").read_bytes()
  for content in (
    *(b"", b'model_checkpoint_path: "mo', b"\0", b"garbage\n"),
    *(b"".join(listed.splitlines(True)[:n]) for n in (1, 2, 4)),
    b'model_checkpoint_path: "x-9"\nall_model_checkpoint_paths: "x-9"\n',
  ):
    (saved / "checkpoint").write_bytes(content)
    for folder in (saved, saved.name):  # relative, too
      monkeypatch.chdir(saved.parent)
      assert _Run(folder).restore() == "model.ckpt-7"
      assert " 4 checkpoints" in capsys.readouterr().err.splitlines()[0]
  # They are kept and deleted as before.
  run = _Run(saved, max_to_keep=2)
  run.restore()
  run.save(8)
  assert _indexes(saved) == ["7", "8"]
  # Without a checkpoint the run begins.
  for path in saved.glob("model.ckpt-*"):
    path.unlink()
  (saved / "checkpoint").write_bytes(b"")
  assert _Run(saved).restore() is None


def test_a_list_that_names_checkpoints_elsewhere_is_refused(saved):
  victim = saved.parent / f"{saved.name}-victim.index"
  victim.write_text("two years")
  path = saved / "checkpoint"
  text = path.read_text().replace("model.ckpt-2", f"../{victim.stem}")
  path.write_text(text)
  with pytest.raises(ValueError, match=f"{path} .*{victim.stem}"):
    _Run(saved).restore()
  assert victim.read_text() == "two years"


def test_a_lost_list_loses_no_checkpoint(saved):
  (saved / "checkpoint").unlink()
  assert _Run(saved).restore() == "model.ckpt-7"
  # As a kill within the first save leaves it.
  for path in list(saved.glob("model.ckpt-[246].*")):
    path.unlink()
  _cut_in_half(saved / "model.ckpt-7.index")
  _begin(saved, 2)
  assert _Run(saved).restore() == "model.ckpt-2"


@pytest.mark.parametrize("name", ["run[1]", "run*", "r?n", "r\\n"])
def test_a_folder_may_have_a_name_that_is_a_pattern(
  tmp_path, monkeypatch, name
):
  monkeypatch.chdir(tmp_path)
  (tmp_path / "run1").mkdir()
  others = {"model.ckpt-2.index", "model.ckpt-2.data-00000-of-00001"}
  for other in others:
    (tmp_path / "run1" / other).write_text("of another run")
  _begin(name, 2, 4, 6, max_to_keep=2)
  assert set(os.listdir("run1")) == others
  files = sorted(n for n in os.listdir(name) if n.startswith("model.ckpt-"))
  assert [file[11] for file in files] == ["4", "4", "6", "6"]
  assert steps_made(name) == 6
  assert _Run(name).restore() == "model.ckpt-6"


def test_a_run_goes_on_in_another_place_and_from_another_folder(
  tmp_path, monkeypatch
):
  (tmp_path / "work").mkdir()
  monkeypatch.chdir(tmp_path / "work")
  _begin("run", 6, 7)
  # With whole paths, as tools of TensorFlow 1 write them.
  names = [str(tmp_path / f"work/run/model.ckpt-{step}") for step in (6, 7)]
  tf.compat.v1.train.update_checkpoint_state(
    str(tmp_path / "work/run"), names[-1], names
  )
  monkeypatch.chdir(tmp_path)
  os.rename("work/run", "moved")
  for folder in ("moved", str(tmp_path / "moved"), "work/../moved"):
    assert _Run(folder).restore() == "model.ckpt-7"


def test_only_what_a_killed_save_left_is_removed(saved):
  for name in ("model.ckpt-8_temp/part-00000.index", "model.ckpt-9_temp/notes"):
    (saved / name).parent.mkdir()
    (saved / name).write_text("x")
  (saved / "model.ckpt-10_temp").symlink_to("model.ckpt-9_temp")
  _Run(saved).restore()
  left = sorted(path.name for path in saved.glob("*_temp"))
  assert left == ["model.ckpt-10_temp", "model.ckpt-9_temp"]
  assert (saved / "model.ckpt-9_temp/notes").exists()


def test_a_checkpoint_of_another_model_or_program_is_refused(saved, tmp_path):
  with pytest.raises(ValueError, match=r"model\.ckpt-7 .*\[1, 2\].*\[1, 1\]"):
    _Run(saved, width=2).restore()
  other = tmp_path / "other"
  other.mkdir()
  tf.train.Checkpoint(x=tf.Variable(1.0)).save(other / "model.ckpt")
  with pytest.raises(ValueError, match=r"model\.ckpt-1 .*init_checkpoint"):
    _Run(other).restore()


def test_a_run_of_other_options_or_another_format_is_refused(
  saved, monkeypatch
):
  run = _Run(saved)
  run.checkpoints.options["rate"] = 0.2
  with pytest.raises(ValueError, match=r"model\.ckpt-7.*rate was 0\.1.*0\.2"):
    run.restore()
  monkeypatch.setattr("bert_span.training.checkpoints.RUN_FORMAT", 2)
  with pytest.raises(ValueError, match=r"model\.ckpt-7.*format.* 1.* 2"):
    _Run(saved).restore()
