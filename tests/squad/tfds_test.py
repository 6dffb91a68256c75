"""SQuAD through TFDS' own builder, from local files and without a network."""

import dataclasses
import json
import shutil
import socket
from unittest import mock

import pytest
from squad_content import spans, squad_content

from bert_span.squad import tfds
from bert_span.squad.example import Answer
from bert_span.squad.findings import FindingKind
from bert_span.squad.reader import read_squad
from bert_span.squad.tfds import read_tfds


def _squad(qas_id, version_2):
  answers = spans(("Zürich", 5), ("See", 0))
  qas = [{"id": qas_id, "question": "Où?", "answers": answers}]
  if version_2:
    qas[0]["is_impossible"] = False
    none = {"id": qas_id + "-none", "question": "Quand?", "is_impossible": True}
    qas.append(none | {"answers": [], "plausible_answers": spans(("See", 13))})
  return squad_content("Élan Zürich, See.", *qas, title="Städte")


def _manual_folder(tmp_path):
  """Where TFDS looks for files fetched by hand."""
  folder = tmp_path / "downloads" / "manual"
  folder.mkdir(parents=True)
  return folder


@pytest.fixture
def manual_files(tmp_path):
  """Writes small files where TFDS looks for files fetched by hand."""

  def write(version):
    folder = _manual_folder(tmp_path)
    for part in ("train", "dev"):
      path = folder / f"{part}-{version}.json"
      path.write_text(json.dumps(_squad(part, version == "v2.0")), "utf-8")
    return folder

  return write


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


@pytest.mark.parametrize("version", ["v1.1", "v2.0"])
def test_files_put_in_place_by_hand_are_prepared_and_read_back(
  tmp_path, manual_files, no_network, expect_files, version
):
  folder = manual_files(version)
  expect_files(folder)
  name = f"squad/{version}"
  train = read_tfds(name, "train", str(tmp_path))
  shutil.rmtree(folder)  # What was built is enough from here on.
  assert list((tmp_path / "squad" / version).glob("*/squad-train.tfrecord*"))
  prepared = read_tfds(name, "validation", str(tmp_path))
  assert not no_network.called
  assert train.version_2 is (version == "v2.0")
  assert train.path == f"{name}, split 'train'"
  by_id = {e.qas_id: e for e in train.examples}
  example = by_id.pop("train")
  assert example.context == "Élan Zürich, See."
  assert (example.question, example.title) == ("Où?", "Städte")
  assert example.answers == (Answer("Zürich", 5), Answer("See", 13))
  assert train.report.count(FindingKind.ANSWER_MOVED) == 1
  if version == "v2.0":
    none = by_id.pop("train-none")
    assert (none.is_impossible, none.answers) == (True, ())
  assert not by_id
  assert prepared.examples[0].qas_id.startswith("dev")


def test_a_whole_file_comes_back_as_the_file_reader_reads_it(
  tmp_path, repository, no_network, expect_files
):
  folder = _manual_folder(tmp_path)
  sample = repository / "bert_span" / "sample"
  for part in ("train", "dev"):
    shutil.copy(sample / f"{part}.json", folder / f"{part}-v2.0.json")
  expect_files(folder)
  built = read_tfds("squad/v2.0", "validation", str(tmp_path))
  read = read_squad(sample / "dev.json")
  assert not no_network.called
  assert len(built.examples) == len(read.examples) > 100
  assert built.version_2 and read.version_2
  assert set(built.examples) == set(read.examples)


def test_other_files_under_the_official_names_are_refused(
  tmp_path, manual_files, no_network
):
  manual_files("v1.1")
  with pytest.raises(ValueError, match=r"squad/v1\.1.*--train_file.*-v1\.1\.j"):
    read_tfds("squad/v1.1", "train", str(tmp_path))
  assert not no_network.called


def test_a_part_that_cannot_be_read_is_named(
  tmp_path, manual_files, expect_files
):
  expect_files(manual_files("v1.1"))
  for split in ("train[:x]", "train[:0]"):
    with pytest.raises(ValueError, match="no such part") as caught:
      read_tfds("squad/v1.1", split, str(tmp_path))
    assert f"squad/v1.1, split '{split}'" in str(caught.value)


def test_without_files_and_network_the_error_comes_at_once(
  tmp_path, no_network
):
  with pytest.raises(OSError) as caught:
    read_tfds("squad/v2.0", "train", str(tmp_path))
  assert no_network.called
  words = ("train-v2.0.json and dev-v2.0.json", "downloads/manual", "--train_f")
  assert all(word in str(caught.value) for word in (str(tmp_path), *words))


@pytest.mark.parametrize(
  ("name", "split", "message"),
  [
    ("squad", "train", r"squad/v1\.1, squad/v2\.0.*'squad'"),
    ("squad/v1.1", "dev", "train, validation.*'dev'"),
  ],
)
def test_an_unknown_name_or_split_lists_the_valid_ones(name, split, message):
  with pytest.raises(ValueError, match=message):
    read_tfds(name, split)


def test_a_host_that_refuses_the_question_still_answers(monkeypatch, tmp_path):
  error = tfds.urllib.error.HTTPError("u", 405, "no HEAD", {}, None)
  opened = mock.Mock(side_effect=error)
  monkeypatch.setattr(tfds.urllib.request, "urlopen", opened)
  tfds._check_host("squad/v1.1", tmp_path, ["train-v1.1.json"], 1.0)
  assert opened.call_args.kwargs == {"timeout": 1.0}
