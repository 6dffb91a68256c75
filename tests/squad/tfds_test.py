"""SQuAD through TFDS' own builder, from local files and without a network."""

import dataclasses
import json
import shutil
import socket
from unittest import mock

import pytest
from squad_content import spans, squad_content

from bert_span.squad import tfds
from bert_span.squad.example import Answer, SquadExample
from bert_span.squad.findings import FindingKind
from bert_span.squad.reader import read_squad
from bert_span.squad.tfds import read_tfds


@pytest.fixture
def manual_folder(tmp_path):
  """Where TFDS looks for files fetched by hand."""
  folder = tmp_path / "downloads" / "manual"
  folder.mkdir(parents=True)
  return folder


@pytest.fixture
def small_files(manual_folder):
  """Small files of SQuAD 1.1 in that folder."""
  answers = spans(("Zürich", 5), ("See", 0))
  for part in ("train", "dev"):
    question = {"id": part, "question": "Où?", "answers": answers}
    squad = squad_content("Élan Zürich, See.", question, title="Städte")
    path = manual_folder / f"{part}-v1.1.json"
    path.write_text(json.dumps(squad), "utf-8")


@pytest.fixture
def no_network(monkeypatch):
  """Every connection fails at once, and counts."""
  connect = mock.Mock(side_effect=socket.gaierror("no network in this test"))
  monkeypatch.setattr(socket, "create_connection", connect)
  for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
    monkeypatch.delenv(name, raising=False)
  return connect


@pytest.fixture
def expect_files(monkeypatch):
  """A function that has TFDS expect the files of a folder, as they are.

  Its builder of SQuAD knows size and SHA-256 of the official files. Those of
  the small ones are put in their place, so that it checks what it reads.
  """
  tfds = pytest.importorskip("tensorflow_datasets")
  from tensorflow_datasets.core.download import checksums

  known = tfds.builder_cls("squad").url_infos

  def expect(folder):
    urls = {info.filename: url for url, info in known.items()}
    for path in folder.iterdir():
      info = checksums.compute_url_info(path)
      info = dataclasses.replace(info, filename=path.name)
      monkeypatch.setitem(known, urls[path.name], info)

  return expect


def test_files_put_in_place_by_hand_are_prepared_and_read_back(
  tmp_path, manual_folder, small_files, no_network, expect_files
):
  expect_files(manual_folder)
  train = read_tfds("squad/v1.1", "train", str(tmp_path))
  shutil.rmtree(manual_folder)  # What was built is enough from here on.
  assert list((tmp_path / "squad" / "v1.1").glob("*/squad-train.tfrecord*"))
  prepared = read_tfds("squad/v1.1", "validation", str(tmp_path))
  assert not no_network.called
  assert not train.version_2
  assert train.path == "squad/v1.1, split 'train'"
  answers = (Answer("Zürich", 5), Answer("See", 13))
  assert train.examples == (
    SquadExample("train", "Où?", "Élan Zürich, See.", answers, title="Städte"),
  )
  assert train.report.count(FindingKind.ANSWER_MOVED) == 1
  assert prepared.examples[0].qas_id == "dev"
  for split in ("train[:x]", "train[:0]"):
    with pytest.raises(ValueError, match="no such part") as caught:
      read_tfds("squad/v1.1", split, str(tmp_path))
    assert f"squad/v1.1, split '{split}'" in str(caught.value)


def test_a_whole_file_comes_back_as_the_file_reader_reads_it(
  tmp_path, repository, manual_folder, no_network, expect_files
):
  sample = repository / "bert_span" / "sample"
  for part in ("train", "dev"):
    copy = manual_folder / f"{part}-v2.0.json"
    shutil.copy(sample / f"{part}.json", copy)
  expect_files(manual_folder)
  built = read_tfds("squad/v2.0", "validation", str(tmp_path))
  read = read_squad(sample / "dev.json")
  assert not no_network.called
  assert len(built.examples) == len(read.examples) > 100
  assert built.version_2 and read.version_2
  assert set(built.examples) == set(read.examples)


def test_other_files_under_the_official_names_are_refused(
  tmp_path, small_files, no_network
):
  with pytest.raises(ValueError, match=r"squad/v1\.1.*--train_file.*-v1\.1\.j"):
    read_tfds("squad/v1.1", "train", str(tmp_path))
  assert not no_network.called


def test_without_files_and_network_the_error_comes_at_once(
  tmp_path, no_network
):
  with pytest.raises(OSError) as caught:
    read_tfds("squad/v2.0", "train", str(tmp_path))
  assert no_network.called
  words = ("train-v2.0.json and dev-v2.0.json", "downloads/manual", "--train_f")
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
