"""SQuAD through TFDS' own builder, from local files and without a network."""

import dataclasses
import json
import shutil
import socket
from unittest import mock

import pytest

from bert_span.squad import tfds
from bert_span.squad.findings import FindingKind
from bert_span.squad.reader import read_squad
from bert_span.squad.tfds import read_tfds
from tests.support.squad import spans, squad_content


@pytest.fixture
def manual_folder(tmp_path):
  """Where TFDS looks for files fetched by hand, with files of SQuAD 1.1."""
  folder = tmp_path / "downloads" / "manual"
  folder.mkdir(parents=True)
  answers = spans(("Zürich", 5), ("See", 0))
  question = {"id": "q1", "question": "Où?", "answers": answers}
  squad = squad_content("Élan Zürich, See.", question, title="Städte")
  for part in ("train", "dev"):
    (folder / f"{part}-v1.1.json").write_text(json.dumps(squad), "utf-8")
  return folder


@pytest.fixture
def no_network(monkeypatch):
  """Every connection fails at once, and is counted."""
  connect = mock.Mock(side_effect=socket.gaierror("no network in this test"))
  monkeypatch.setattr(socket, "create_connection", connect)
  for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
    monkeypatch.delenv(name, raising=False)
  return connect


def _expect_files(monkeypatch, folder):
  """Has TFDS, which knows SQuAD's files by SHA-256, expect a folder's."""
  tfds = pytest.importorskip("tensorflow_datasets")
  from tensorflow_datasets.core.download import checksums

  known = tfds.builder_cls("squad").url_infos
  urls = {info.filename: url for url, info in known.items()}
  for path in folder.iterdir():
    info = checksums.compute_url_info(path)
    info = dataclasses.replace(info, filename=path.name)
    monkeypatch.setitem(known, urls[path.name], info)


@pytest.mark.parametrize(
  ("version", "num_questions", "num_moved"), [("v1.1", 1, 1), ("v2.0", 120, 0)]
)
def test_files_put_in_place_by_hand_are_read_as_the_file_reader_reads_them(
  tmp_path,
  repository,
  manual_folder,
  no_network,
  monkeypatch,
  version,
  num_questions,
  num_moved,
):
  sample = repository / "bert_span" / "sample" / "dev.json"
  for part in ("train", "dev"):
    shutil.copy(sample, manual_folder / f"{part}-v2.0.json")
  expected = read_squad(manual_folder / f"dev-{version}.json")
  assert len(expected.examples) == num_questions
  _expect_files(monkeypatch, manual_folder)
  train = read_tfds(f"squad/{version}", "train", str(tmp_path))
  shutil.rmtree(manual_folder)  # What was built is enough from here on.
  dev = read_tfds(f"squad/{version}", "validation", str(tmp_path))
  assert not no_network.called
  assert train.path == f"squad/{version}, split 'train'"
  for found in (train, dev):
    assert set(found.examples) == set(expected.examples)
    assert found.version_2 == expected.version_2 == (version == "v2.0")
    assert found.report.count(FindingKind.ANSWER_MOVED) == num_moved
  for split in ("train[:x]", "train[:0]"):
    with pytest.raises(ValueError, match="slice") as caught:
      read_tfds(f"squad/{version}", split, str(tmp_path))
    assert f"squad/{version}, split '{split}'" in str(caught.value)


@pytest.mark.usefixtures("manual_folder")
def test_other_files_under_the_official_names_are_refused(tmp_path, no_network):
  with pytest.raises(ValueError, match=r"squad/v1\.1.* train_file.*-v1\.1\.j"):
    read_tfds("squad/v1.1", "train", str(tmp_path))
  assert not no_network.called


def test_without_files_and_network_the_error_comes_at_once(
  tmp_path, no_network
):
  with pytest.raises(OSError) as caught:
    read_tfds("squad/v2.0", "train", str(tmp_path))
  assert no_network.called
  words = ("train-v2.0.json and dev-v2.0.json", "downloads/manual", " train_f")
  assert all(word in str(caught.value) for word in (str(tmp_path), *words))


def test_an_unknown_split_lists_the_valid_ones():
  with pytest.raises(ValueError, match=r"train, validation.*'dev'"):
    read_tfds("squad/v1.1", "dev")


def test_a_host_that_refuses_the_question_still_answers(monkeypatch, tmp_path):
  error = tfds.urllib.error.HTTPError("u", 405, "no HEAD", {}, None)
  opened = mock.Mock(side_effect=error)
  monkeypatch.setattr(tfds.urllib.request, "urlopen", opened)
  tfds._check_host("squad/v1.1", tmp_path, ["train-v1.1.json"])
  assert opened.call_args.kwargs == {"timeout": 10.0}
