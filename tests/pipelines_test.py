"""The pipeline of transformers 4, over our extractor."""

import collections
import json
import os
import subprocess
import types

import pytest
import tensorflow as tf

from bert_span import pipelines
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.pipelines import pipeline
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.squad.example import SquadExample
from bert_span.squad.reader import read_squad
from bert_span.text.options import WindowOptions
from tests.support.models import (
  CONTEXT,
  QUESTION,
  shared_extractor,
  shared_model,
)

pytestmark = pytest.mark.usefixtures("eager")
_SIZES = {"max_seq_len": 32, "max_question_len": 8, "doc_stride": 13}


@pytest.fixture(scope="module")
def qa():
  return pipeline("question-answering", model=shared_model(), **_SIZES)


def test_the_call_takes_what_transformers_took(qa):
  one = qa(question=QUESTION, context=CONTEXT)
  assert set(one) == {"score", "start", "end", "answer"}
  assert one["answer"] == CONTEXT[one["start"] : one["end"]]
  row = {"question": QUESTION, "context": CONTEXT}
  assert one == qa(QUESTION, CONTEXT) == qa(row) == qa([row])
  assert qa(question=[QUESTION] * 2, context=CONTEXT) == [one, one]
  assert qa(row, row) == qa([row, row]) == [one, one]
  # A step of 8 tokens, as the tiny model's own windows have.
  expected = shared_extractor().answer(QUESTION, CONTEXT)
  words = qa(question=QUESTION, context=CONTEXT, align_to_words=False)
  assert (words["start"], words["end"]) == (
    expected.char_start,
    expected.char_end,
  )


@pytest.mark.large
def test_rows_of_every_form_are_answered(qa):
  one = qa(question=QUESTION, context=CONTEXT)
  row = {"question": QUESTION, "context": CONTEXT, "id": 7}
  theirs = types.SimpleNamespace(question_text=QUESTION, context_text=CONTEXT)
  example = SquadExample("1", QUESTION, CONTEXT)
  for single in (example, theirs, types.MappingProxyType(row)):
    assert qa(single) == qa(data=[single]) == qa(X=single) == one
  assert qa(qa.create_sample(QUESTION, CONTEXT)) == one
  lists = {"question": [QUESTION] * 2, "context": [CONTEXT] * 2}
  for several in (
    [example, theirs],
    lists,
    [lists],
    {**lists, "context": CONTEXT},
    {name: iter(texts) for name, texts in lists.items()},
    (dict(row) for _ in range(2)),
    map(dict, [row, row]),
    collections.deque([row, example]),
    qa.create_sample(**lists),
  ):
    assert qa(several) == [one, one], type(several)
  assert qa(question=iter([QUESTION] * 2), context=CONTEXT) == [one, one]
  # What is read once gives a list, whatever its length, as in transformers.
  assert qa(iter([row])) == qa(question=iter([QUESTION]), context=CONTEXT)
  assert qa(iter([row])) == [one]
  assert qa(iter([])) == qa([]) == []


def test_a_data_frame_is_several_rows(qa):
  pandas = pytest.importorskip("pandas")
  lists = {"question": [QUESTION] * 2, "context": [CONTEXT] * 2}
  assert qa(pandas.DataFrame(lists)) == [qa(QUESTION, CONTEXT)] * 2


def test_a_dataset_of_tensors_is_refused_by_their_type(qa):
  rows = {"question": [QUESTION], "context": [CONTEXT]}
  with pytest.raises(ValueError, match=r"input 0: question .*tf\.Tensor"):
    qa(tf.data.Dataset.from_tensor_slices(rows))


def test_arguments_that_no_answer_depends_on_are_named_once(capsys):
  model = str(shared_model())
  qa = pipeline(
    *("question-answering", model, model),
    tokenizer=(model, {"use_fast": False}),
    device=-1,
    framework="pt",
    torch_dtype="auto",
    model_kwargs={"low_cpu_mem_usage": True},
    **_SIZES,
  )
  one = qa(QUESTION, CONTEXT)
  assert qa(QUESTION, CONTEXT, num_workers=0, top_k=None, batch_size=2) == one
  assert qa(QUESTION, CONTEXT, num_workers=0, topk=2)[0] == one
  lines = [x for x in capsys.readouterr().err.splitlines() if "Not used" in x]
  assert len(lines) == 2
  for name in ("device", "framework", "torch_dtype", "low_cpu_mem_usage"):
    assert name in lines[0]
  assert "num_workers" in lines[1]


@pytest.mark.parametrize(
  ("settings", "message"),
  [
    ({"tokenizer": "other"}, "tokenizer.*other"),
    ({"config": types.SimpleNamespace(name_or_path="other")}, "config"),
    ({"model_kwargs": {"cache_dir": "x"}}, "cache_dir"),
    ({"topk": "3"}, "top_k.*'3'"),
    ({"max_answer_len": 0}, "max_answer_len.*0"),
    ({"max_question_len": 7.5}, "max_question_len"),
    ({"handle_impossible_answer": 1}, "handle_impossible_answer"),
    ({"align_to_words": "no"}, "align_to_words"),
    ({"batch_size": True}, "batch_size"),
    ({"max_answer_length": 9}, "max_answer_length.*max_answer_len,"),
  ],
)
def test_arguments_that_answers_depend_on_are_checked(settings, message):
  with pytest.raises(ValueError, match=message):
    pipeline(model=str(shared_model()), **settings)


def test_another_head_or_class_of_model_is_refused_by_name():
  with pytest.raises(ValueError, match=r"bio head.* span head"):
    pipeline(model=str(shared_model(kind=BioExtractor)))
  with pytest.raises(ValueError, match="SimpleNamespace"):
    pipeline(model=types.SimpleNamespace())
  with pytest.raises(ValueError, match="tokenizer"):
    pipeline(model=shared_extractor(), tokenizer="minilm_squad")


def test_a_question_that_is_cut_is_named_once(qa, capsys):
  long, short = "who " * 9, "who " * 8
  qa(short, CONTEXT)
  assert "max_question_len" not in capsys.readouterr().err
  qa([{"question": long, "context": CONTEXT}] * 2)
  assert capsys.readouterr().err.count("max_question_len=8") == 1


def test_the_best_answers_come_first_and_their_sum_is_at_most_one(qa):
  answers = qa(question=QUESTION, context=CONTEXT * 3, top_k=4)
  scores = [answer["score"] for answer in answers]
  assert len(answers) == 4
  assert sorted(scores, reverse=True) == scores
  assert 0 < sum(scores) <= 1 + 1e-6
  assert qa(question=QUESTION, context=CONTEXT * 3) == answers[0]


@pytest.mark.parametrize(
  ("text", "span", "widened"),
  [
    ("The mill-owners came", "ill", "mill"),
    ("in 1895, it", "189", "1895"),
    ("Zoë’s", "o", "Zoë"),
    ("她住在北京市", "北京", "北京"),
    ("a_b", "b", "b"),
  ],
)
def test_answers_are_widened_to_whole_words(text, span, widened):
  start = text.index(span)
  offsets = pipelines._widened_span(text, start, start + len(span))
  assert text[slice(*offsets)] == widened


def test_windows_that_share_much_are_not_one_a_token(qa, monkeypatch):
  steps = []
  made = qa._extractor_with
  monkeypatch.setattr(
    qa,
    "_extractor_with",
    lambda *options: steps.append(options[0].doc_stride) or made(*options),
  )
  for doc_stride in (13, 20, 31):
    assert qa(QUESTION, CONTEXT, doc_stride=doc_stride)["answer"]
  # 32 - 8 - 3 = 21 tokens of the passage with the longest question.
  assert steps == [8, 5, 5]


@pytest.mark.large
def test_no_answer_is_given_only_if_it_may_be():
  qa = pipeline(model="minilm_squad")
  question, context = "How much did the bakery cost?", "Anna built the mill."
  assert qa(question=question, context=context)["answer"]
  none = qa(question=question, context=context, handle_impossible_answer=True)
  assert none == {**none, "start": 0, "end": 0, "answer": ""}
  assert 0.5 < none["score"] <= 1


@pytest.mark.parametrize(
  ("inputs", "message"),
  [
    ({"question": "", "context": "a"}, "question of input 0"),
    ({"question": ["a", "b"], "context": ["a"]}, "same length"),
    ({"question": None, "context": "a"}, r"str"),
    ({"data": {"question": "a"}}, "input 0 .*dict"),
    ({"data": "a", "context": "b"}, "by name"),
    ({"data": "abc"}, "'abc'"),
    ({"X": 7}, "7"),
    ({"question": "a", "context": "a", "top_k": 0}, "top_k"),
    ({"question": "a", "context": "a", "doc_stride": 32}, "doc_stride"),
    ({"question": "a", "context": "a", "doc_stride": -1}, "doc_stride"),
  ],
)
def test_wrong_inputs_are_named(qa, inputs, message):
  with pytest.raises(ValueError, match=message):
    qa(**inputs)


def test_what_is_no_dict_and_another_task_are_named(qa):
  with pytest.raises(ValueError, match=r"input 1 .*dict"):
    qa([{"question": "a", "context": "b"}, "c"])
  with pytest.raises(ValueError, match="'fill-mask'"):
    pipeline("fill-mask")


@pytest.mark.large
def test_names_and_revisions_on_the_hub(tmp_path, model_hub, capsys):
  save_huggingface(shared_extractor(), tmp_path / "model")
  with pytest.raises(ValueError, match=r"hf://us/tiny .*HF_ENDPOINT"):
    pipeline(model="us/tiny", local_files_only=True)
  commit = model_hub.push("us/tiny", tmp_path / "model", "v2")
  for name, revision in (
    ("us/tiny", "v2"),
    ("hf://us/tiny", commit),
    ("hf://us/tiny@v2", None),
  ):
    qa = pipeline(model=name, revision=revision, **_SIZES)
    assert qa(QUESTION, CONTEXT)["answer"]
  # As with transformers, a setting says whether "" can be an answer.
  assert "version_2_with_negative" not in capsys.readouterr().err
  with pytest.raises(ValueError, match=r"hf://us/tiny@v3 .*revision"):
    pipeline(model="us/tiny", revision="v3")
  model_hub.gated.add("us/tiny")
  model_hub.tokens.add("hf_right")
  model_hub.push("us/tiny", {"config.json": b"{}"})
  with pytest.raises(ValueError, match=r"hf://us/tiny .*gated"):
    pipeline(model="us/tiny", token="hf_wrong")
  for argument in ("token", "use_auth_token"):
    with pytest.raises(ValueError, match=r"hf://us/tiny: .*model_type"):
      pipeline(model="us/tiny", **{argument: "hf_right"})


def test_a_directory_goes_before_a_name(tmp_path, monkeypatch, model_hub):
  monkeypatch.chdir(tmp_path)
  save_huggingface(shared_extractor(), tmp_path / "us" / "tiny")
  assert pipeline(model="us/tiny", **_SIZES)(QUESTION, CONTEXT)["answer"]
  assert not model_hub.requests


def test_without_a_model_it_is_the_one_of_the_package(monkeypatch, capsys):
  names = []
  extractor = shared_extractor()
  monkeypatch.setattr(
    SpanExtractor,
    "from_preset",
    lambda name, **_: names.append(name) or extractor,
  )
  pipeline("question-answering")
  assert names == ["minilm_squad"]
  assert "minilm_squad" in capsys.readouterr().err


@pytest.mark.large
def test_answers_are_those_of_transformers(repository, tmp_path):
  """The differences are of windows, and of probabilities within them."""
  python = os.environ.get("BERT_SPAN_TRANSFORMERS4_PYTHON")
  path = repository.parent / "shared" / "data" / "squad1_dev_half.json"
  if not python or not path.exists():
    pytest.skip("needs BERT_SPAN_TRANSFORMERS4_PYTHON and the shared data")
  tf.config.run_functions_eagerly(False)  # A graph is sooner for so many.
  examples = read_squad(path).examples
  examples = examples[:: len(examples) // 200][:200]
  model = tmp_path / "model"
  save_huggingface(SpanExtractor.from_preset("minilm_squad"), model)
  pairs = [(e.question, e.context) for e in examples]
  settings = [
    {},
    {"top_k": 3, "max_answer_len": 30},
    {"handle_impossible_answer": True, "max_seq_len": 128, "doc_stride": 32},
  ]
  files = tmp_path / "pairs.json", tmp_path / "settings.json"
  for file, values in zip(files, (pairs, settings), strict=True):
    file.write_text(json.dumps(values))
  script = repository / "tests/scripts/transformers_pipeline.py"
  run = subprocess.run(
    [python, script, model, *files], check=True, stdout=subprocess.PIPE
  )
  qa = pipeline(model=model)
  rows = [dict(zip(("question", "context"), p, strict=True)) for p in pairs]
  other = []
  for values, line in zip(settings, run.stdout.splitlines(), strict=True):
    ours, theirs = (
      [answer[0] if isinstance(answer, list) else answer for answer in answers]
      for answers in (qa(rows, **values), json.loads(line))
    )
    other.append(
      [
        row
        for row, a, b in zip(rows, ours, theirs, strict=True)
        if (a["start"], a["end"]) != (b["start"], b["end"])
      ]
    )
  # Passages of one window but for a few: the same answers.
  assert len(other[0]) + len(other[1]) <= 2
  # Others only where the passage has several windows.
  assert len(other[2]) <= 50
  options = WindowOptions(128, 29, 64)
  tokenizer = qa.extractor.preprocessor.tokenizer
  preprocessor = SpanPreprocessor(tokenizer.vocabulary, True, options)
  for row in other[2]:
    windows = preprocessor({name: [text] for name, text in row.items()})
    assert len(windows["token_ids"]) > 1
