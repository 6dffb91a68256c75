"""SpanExtractor with both heads: saving, loading, answers, training."""

import dataclasses
import json
import os
import shutil
from unittest import mock

import numpy as np
import pytest
import safetensors.numpy
from tensorflow.lite.python import schema_py_generated as schema

from bert_span import (
  BioDecoderOptions,
  DecoderOptions,
  Extractor,
  FineTuningOptions,
  SpanExtractor,
  SquadExample,
  WindowOptions,
  fine_tune,
)
from bert_span.answers.decoding.options import StepOptions
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.squad.example import AnswerSpan
from tests.support.models import (
  CONTEXT,
  QUESTION,
  VOCABULARY,
  eagerly,
  extractor_of,
  parsed,
  shared_extractor,
  shared_model,
  tiny_extractor,
)
from tests.support.training import copy_stopped

_LONG = " ".join([CONTEXT, "Anna was in the river."] * 6)
_UNICODE = (
  "🙂 Le Café, 日, was built by Ãnna in 1895\u00a0near\u200b the river."
)


@pytest.fixture(scope="module")
def extractor():
  """An extractor of random weights; not to be changed."""
  return shared_extractor(kind=SpanExtractor)


@pytest.fixture
def copied(tmp_path):
  """A copy of a model directory, in a folder with nothing else."""
  return shutil.copytree(shared_model(), tmp_path / "model")


def _examples(count=5):
  contexts = [CONTEXT, _LONG, _UNICODE, "", "Anna"]
  return [
    SquadExample(f"q{i}", QUESTION, contexts[i % 5]) for i in range(count)
  ]


def _rows(predictions):
  return [(p.qas_id, *_place(p.answer)) for p in predictions]


def _place(answer):
  return answer.text, answer.char_start, answer.char_end


def _check_equal(predictions, expected):
  """Checks texts and offsets, and scores up to the rounding of sums."""
  assert _rows(predictions) == _rows(expected)
  scores = [p.answer.score for p in expected]
  assert [p.answer.score for p in predictions] == pytest.approx(
    scores, abs=1e-4
  )


def _check_same_weights(extractor, expected):
  weights = (each.weights for each in (extractor, expected))
  for one, other in zip(*weights, strict=True):
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", [SpanExtractor, BioExtractor])
def test_a_saved_model_is_complete_and_gives_the_same_answers(tmp_path, kind):
  extractor = tiny_extractor(version_2=True, do_lower_case=False, kind=kind)
  extractor.save_to_preset(f"{tmp_path}/model/")
  assert os.listdir(tmp_path) == ["model"]
  assert sorted(os.listdir(tmp_path / "model")) == [
    *("README.md", "assets", "checksums.json", "config.json"),
    *("metadata.json", "model.weights.h5", "preprocessor.json", "task.json"),
    *("task.weights.h5", "tokenizer.json"),
  ]
  task, preprocessor = (
    json.loads((tmp_path / "model" / f"{name}.json").read_text())
    for name in ("task", "preprocessor")
  )
  assert task["registered_name"] == f"bert_span>{kind.__name__}"
  decoder = dataclasses.asdict(extractor.decoder_options)
  assert task["config"]["decoder_options"] == json.loads(json.dumps(decoder))
  windows = {"max_seq_length": 32, "doc_stride": 8, "max_query_length": 8}
  assert preprocessor["config"]["options"] == windows
  tokenizer = preprocessor["config"]["tokenizer"]["config"]
  assert tokenizer["vocabulary"] is None  # It is among the assets.
  assert tokenizer["do_lower_case"] is False
  loaded = Extractor.from_preset(tmp_path / "model")
  assert type(loaded) is kind
  _check_same_weights(loaded, extractor)
  with eagerly():
    _check_equal(
      *(list(e.predictions(_examples())) for e in (loaded, extractor))
    )
  # Options that are given win over the saved ones.
  windows, options = WindowOptions(24, 4, 6), kind.decoder_class.options_type()
  loaded = kind.from_preset(tmp_path / "model", windows, options)
  assert loaded.window_options == windows
  assert loaded.decoder_options == options


def test_saving_again_replaces_the_model_and_keeps_other_files(copied):
  names = set(os.listdir(copied))
  for name in ("note.txt", "selection.json"):
    (copied / name).write_text("of a model before")
  other = tiny_extractor(seed=2)
  other.save_to_preset(copied)
  assert os.listdir(copied.parent) == ["model"]
  assert set(os.listdir(copied)) == {*names, "note.txt"}
  _check_same_weights(SpanExtractor.from_preset(copied), other)


def test_a_model_in_bfloat16_is_not_saved(copied):
  half = SpanExtractor.from_preset(copied, dtype="bfloat16")
  with pytest.raises(ValueError, match='dtype="float32"'):
    half.save_to_preset(copied)
  SpanExtractor.from_preset(copied)


def test_other_decoder_options_give_other_answers(copied):
  extractor = SpanExtractor.from_preset(copied)
  with eagerly():
    extractor.answer(QUESTION, CONTEXT)
    (logits,) = extractor.window_logits(_examples(1))
    extractor.decode(logits)
    extractor.decoder_options = DecoderOptions(max_answer_length=1)
    assert " " not in extractor.answer(QUESTION, CONTEXT).text
    assert " " not in extractor.decode(logits)[0].answer.text
  with pytest.raises(ValueError, match="decoder_options must be Decoder"):
    extractor.decoder_options = None


def test_a_failed_save_leaves_the_old_model(copied, extractor, monkeypatch):
  files = {path: path.stat().st_mtime_ns for path in copied.iterdir()}
  fail = mock.Mock(side_effect=OSError("disk full"))
  monkeypatch.setattr("bert_span.presets.span_config.write_task_files", fail)
  with pytest.raises(OSError, match="disk full"):
    extractor.save_to_preset(copied)
  assert os.listdir(copied.parent) == ["model"]
  assert files == {path: path.stat().st_mtime_ns for path in copied.iterdir()}


def test_other_file_systems_and_links_are_written_and_read(extractor, tmp_path):
  folder = f"file://{tmp_path}/model"
  tiny_extractor(kind=BioExtractor).save_to_preset(folder)
  extractor.save_to_preset(folder)
  latest = tmp_path / "latest"
  latest.symlink_to(tmp_path / "model")
  extractor.save_to_preset(latest)
  assert latest.is_symlink()
  for path in (folder, latest):
    loaded = SpanExtractor.from_preset(path)
    assert loaded.window_options == extractor.window_options
    _check_same_weights(loaded, extractor)


def test_only_models_are_replaced(tmp_path, extractor):
  chapter = tmp_path / "thesis" / "chapter1.txt"
  chapter.parent.mkdir()
  chapter.write_text("years of work")
  for path in (chapter.parent, chapter):
    with pytest.raises(ValueError, match=str(path)):
      extractor.save_to_preset(path)
  assert chapter.read_text() == "years of work"


def test_a_model_that_does_not_fit_is_refused(copied, extractor):
  path = copied / "task.json"
  text = path.read_text()
  for changes, message in (
    ({"head_name": "pointer"}, "'pointer'"),
    (
      {"decoder_options": {"max_answer_length": 10**12}},
      "task.json.*max_answer_length.*10{12}",
    ),
    ({"decoder_options": {"beam": 3}}, "beam"),
  ):
    task = json.loads(text)
    task["config"] |= changes
    path.write_text(json.dumps(task))
    with pytest.raises(ValueError, match=message):
      SpanExtractor.from_preset(copied)
  path.write_text(text)
  with pytest.raises(ValueError, match=r"span head.*SpanExtractor"):
    BioExtractor.from_preset(copied)
  with pytest.raises(ValueError, match=r"stride.*doc_stride"):
    SpanExtractor.from_preset(copied, stride=3)
  (copied / "assets/tokenizer/vocabulary.txt").unlink()
  with pytest.raises(ValueError, match=r"vocab\.txt"):
    SpanExtractor.from_preset(copied, verify=False)
  backbone, options = extractor.backbone, extractor.window_options
  preprocessor = SpanPreprocessor([*VOCABULARY, "more"], options=options)
  with pytest.raises(ValueError, match="25 tokens"):
    SpanExtractor(backbone, preprocessor)
  with pytest.raises(ValueError, match="BioDecoderOptions"):
    SpanExtractor(backbone, None, BioDecoderOptions())


def test_a_new_head_does_not_answer_before_it_was_trained(copied):
  (copied / "task.weights.h5").unlink()
  with pytest.raises(ValueError, match=r"task\.weights\.h5 is missing"):
    SpanExtractor.from_preset(copied, verify=False)
  trained = shared_extractor()
  extractor = SpanExtractor(trained.backbone, trained.preprocessor)
  extractor.save_to_preset(copied)
  assert not (copied / "task.weights.h5").exists()
  for new in (extractor, SpanExtractor.from_preset(copied)):
    with pytest.raises(ValueError, match="Train it first"):
      new.answer(QUESTION, CONTEXT)
  extractor.head.kernel.assign_add(extractor.head.kernel)
  extractor.answer(QUESTION, CONTEXT)


def test_the_answer_of_a_bio_head_is_its_span_with_the_best_score():
  extractor = shared_extractor(kind=BioExtractor)
  spans = extractor.answers(QUESTION, _LONG)
  assert len(spans) > 1
  for span in spans:
    assert span.text == _LONG[span.char_start : span.char_end]
  ranked = sorted(spans, key=lambda span: -span.score)
  assert extractor.answer(QUESTION, _LONG) == ranked[0]
  assert extractor.answer(QUESTION, _LONG, n_best=2) == ranked[:2]


def test_one_trace_answers_all_questions(monkeypatch):
  place = mock.Mock(wraps=SpanPreprocessor.place_windows)
  monkeypatch.setattr(
    SpanPreprocessor, "place_windows", lambda *texts: place(*texts)
  )
  extractor = tiny_extractor()
  for context in (CONTEXT, _LONG, ""):
    extractor.answer(QUESTION, context)
  extractor.answer([QUESTION] * 2, [CONTEXT] * 2)
  place.assert_called_once()


def test_several_questions_give_the_answers_of_each(extractor):
  contexts = [CONTEXT, _LONG, " \n\t", _UNICODE]
  single = [extractor.answer(QUESTION, context) for context in contexts]
  together = extractor.answer([QUESTION] * 4, contexts)
  assert list(map(_place, together)) == list(map(_place, single))
  assert _place(together[2]) == ("", 0, 0)
  assert extractor.answers(QUESTION, "") == []
  assert extractor.answers(QUESTION, CONTEXT) == single[:1]
  scores = [a.score for a in single]
  assert [a.score for a in together] == pytest.approx(scores, abs=1e-4)
  lists = extractor.answer([QUESTION] * 4, contexts, n_best=3)
  assert [len(answers) for answers in lists] == [3, 3, 1, 3]
  assert [answers[0] for answers in lists] == together
  assert extractor.answer([], []) == []


def test_arguments_that_do_not_fit_are_refused(extractor):
  for arguments, message in (
    ((QUESTION, [CONTEXT]), "both be strings or both be lists"),
    (([QUESTION], [CONTEXT] * 2), "1 and 2"),
    ((QUESTION, CONTEXT, 21), "Received: 21"),
  ):
    with pytest.raises(ValueError, match=message):
      extractor.answer(*arguments)
  with pytest.raises(ValueError, match="batch_size must be at least 1"):
    list(extractor.predictions(_examples(), 0))


def test_fixed_length_gives_the_same_best_answers(extractor):
  fixed = tiny_extractor(fixed_length=True)
  with eagerly():
    (logits,) = fixed.window_logits(_examples())
    assert logits.logits["start_logits"].shape[1] == 32
    # Not of the fifth, a passage of one word: as in run_squad, its n-best
    # positions are all taken by the padding that a random model scores high.
    _check_equal(
      *(list(e.predictions(_examples(4))) for e in (fixed, extractor))
    )


@pytest.mark.parametrize("kind", [SpanExtractor, BioExtractor])
def test_every_token_has_its_logits_whatever_shares_its_batch(kind):
  extractor = shared_extractor(kind=kind)
  (one,) = extractor.window_logits(_examples(), batch_size=1)
  (many,) = extractor.window_logits(_examples(), batch_size=100)
  is_token = one.windows["padding_mask"] > 0
  for name, values in one.logits.items():
    assert (values[~is_token] == -1e9).all()
    assert (np.abs(values[is_token]) < 1e3).all()
    np.testing.assert_allclose(values, many.logits[name], atol=1e-4)


def test_a_graph_reads_at_most_the_windows_of_its_own_steps(extractor):
  read_so_far = []
  graph = extractor.make_graph(
    StepOptions(max_windows_per_step=2),
    on_windows=lambda read, _: read_so_far.append(int(read)),
  )
  with eagerly():
    answered = list(extractor.predictions(_examples(), graph=graph))
  assert len(answered) == 5
  assert np.diff([0, *read_so_far]).max() == 2


def test_chunks_of_examples_keep_their_order(extractor):
  examples = _examples(70)  # More than one chunk.
  predictions = list(extractor.predictions(examples))
  chunks = list(extractor.window_logits(examples))
  assert [len(chunk.examples) for chunk in chunks] == [64, 6]
  decoded = [p for chunk in chunks for p in extractor.decode(chunk)]
  assert decoded == predictions
  rows = _rows(predictions)
  assert [row[0] for row in rows] == [f"q{i}" for i in range(70)]
  assert [row[1:] for row in rows[5:]] == [row[1:] for row in rows[:-5]]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_fine_tune_trains_the_model_and_continues_in_its_folder(
  tmp_path, architecture
):
  extractor = extractor_of(architecture)
  answer = AnswerSpan("Anna", CONTEXT.index("Anna"))
  examples = [SquadExample(f"q{i}", QUESTION, CONTEXT, (answer,)) for i in "ab"]
  sizes = {"train_batch_size": 2, "num_train_epochs": 40}
  sizes |= {"learning_rate": 1e-2, "save_checkpoints_steps": 20}
  options = FineTuningOptions(**sizes)
  whole, stopped = tmp_path / "whole", tmp_path / "stopped"
  assert fine_tune(extractor, examples, options, whole) == 40
  with eagerly():
    assert extractor.answer(QUESTION, CONTEXT).text == "Anna"
  assert fine_tune(extractor, examples, options, whole) == 0
  copy_stopped(whole, stopped, 20)
  resumed = extractor_of(architecture)
  assert fine_tune(resumed, examples, options, stopped) == 20
  _check_same_weights(resumed, extractor)


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
@pytest.mark.parametrize(
  ("architecture", "dtype", "quantization"),
  [
    ("distilbert", "float16", "none"),
    ("electra", "bfloat16", "dynamic"),
    ("roberta", "float16", "dynamic"),
    ("mobilebert", "bfloat16", "none"),
    ("mobilebert", "float16", "dynamic"),
    ("xlm-roberta", "float16", "dynamic"),
    ("camembert", "float32", "none"),
    ("albert", "bfloat16", "none"),
    ("albert", "float32", "dynamic"),
    ("deberta-v2", "bfloat16", "none"),
    ("deberta-v2", "float32", "dynamic"),
    ("modernbert", "bfloat16", "none"),
    ("modernbert", "float32", "dynamic"),
  ],
)
def test_exports_of_a_hugging_face_directory_answer_the_same(
  tmp_path, architecture, dtype, quantization
):
  # TFLite quantizes matrices of 1,024 entries and more.
  made = extractor_of(architecture, intermediate_dim=96)
  directory = tmp_path / "huggingface"
  save_huggingface(made, directory)
  path = directory / "model.safetensors"
  tensors = safetensors.numpy.load_file(path)
  halves = {name: value.astype(dtype) for name, value in tensors.items()}
  safetensors.numpy.save_file(halves, path)
  extractor = SpanExtractor.from_preset(directory, made.window_options)
  # All exports check their answers.
  served = str(tmp_path / "served")
  assert extractor.export(served, with_warmup=False) == f"{served}/1"
  path = str(tmp_path / "model.tflite")
  options = {"quantization": quantization}
  assert extractor.export(path, "litert", **options) == path
  tensors = parsed(path).subgraphs[0].tensors
  has_int8 = any(tensor.type == schema.TensorType.INT8 for tensor in tensors)
  assert has_int8 == (quantization == "dynamic")


def test_what_cannot_be_learned_is_refused(extractor):
  with pytest.raises(ValueError, match="no examples"):
    fine_tune(extractor, [])
  for answer in (("Anna", 3), ("Anna", -1), ("", 0), ("x", 10**6)):
    example = SquadExample("q7", QUESTION, CONTEXT, (AnswerSpan(*answer),))
    with pytest.raises(ValueError, match="q7"):
      fine_tune(extractor, [example])
  spans = ((AnswerSpan("Anna", 22), AnswerSpan("Anna", 3)),)
  example = SquadExample("q7", QUESTION, CONTEXT, annotations=spans)
  with pytest.raises(ValueError, match="q7"):
    fine_tune(shared_extractor(kind=BioExtractor), [example])
