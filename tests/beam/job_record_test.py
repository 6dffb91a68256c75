"""The options that a run of many shards was started with."""

import json

import pytest

from bert_span.beam import job_record


def test_a_run_goes_on_with_the_options_of_its_start_only(tmp_path):
  out = str(tmp_path / "out")
  job_record.start_or_continue(out, {"num_shards": 4, "copies": (1, 2)})
  job_record.start_or_continue(out, {"num_shards": 4, "copies": (1, 2)})
  with pytest.raises(ValueError, match="num_shards was 4, is now 5"):
    job_record.start_or_continue(out, {"num_shards": 5, "copies": (1, 2)})
  path = tmp_path / "out" / "job.json"
  assert json.loads(path.read_text()) == {"num_shards": 4, "copies": [1, 2]}


def test_a_folder_is_told_apart_by_names_and_contents(tmp_path):
  (tmp_path / "variables").mkdir()
  (tmp_path / "variables" / "a").write_text("1")
  before = job_record.folder_sha256(str(tmp_path))
  assert job_record.folder_sha256(str(tmp_path)) == before
  (tmp_path / "variables" / "a").write_text("2")
  changed = job_record.folder_sha256(str(tmp_path))
  (tmp_path / "variables" / "a").write_text("1")
  (tmp_path / "variables" / "a").rename(tmp_path / "variables" / "b")
  renamed = job_record.folder_sha256(str(tmp_path))
  assert len({before, changed, renamed}) == 3
