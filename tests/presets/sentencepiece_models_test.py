"""Models with SentencePiece vocabularies as files, and in the programs."""

import json
import shutil

import numpy as np
import pytest

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.presets.architectures.architecture_files import files_of
from bert_span.presets.huggingface_tokenizer import find_huggingface_tokenizer
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.text.sentencepiece_model import (
  ModelProto,
  sentence_pieces,
)
from bert_span.tflite.export import tflite_content
from bert_span.tflite.file import read_files, read_packed_config
from bert_span.tflite.options import TFLiteOptions
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor
from tests.support.hub import tokenizer_json
from tests.support.models import (
  CONTEXT,
  QUESTION,
  eagerly,
  extractor_of,
  tiny_pieces,
  trained_pieces,
)
from tests.support.programs import run_here, succeeds
from tests.support.squad import spans, squad_content

_FAMILIES = ["xlm-roberta", "camembert", "deberta-v2", "albert"]
_STEPS = "--do_train", "--do_predict", "--do_eval"


@pytest.mark.parametrize("family", _FAMILIES)
def test_the_vocabulary_of_a_hugging_face_directory_is_found(tmp_path, family):
  vocabulary = trained_pieces(family)
  extractor = extractor_of(family, vocabulary=vocabulary)
  directory = tmp_path / "model"
  save_huggingface(extractor, directory)
  config = json.loads((directory / "tokenizer_config.json").read_text())
  tokenizer = extractor.preprocessor.tokenizer
  for name in ("cls", "sep", "pad"):
    token = tokenizer.vocabulary[getattr(tokenizer, f"{name}_id")]
    assert config[f"{name}_token"] == token
  file = directory / files_of(family).piece_file
  text = "Café ½ 日本, the mill."
  expected = tokenizer([text]).ids.to_list()
  assert file.read_bytes() == vocabulary.proto

  def tokens():
    options = extractor.window_options
    loaded = SpanExtractor.from_preset(directory, options)
    return loaded.preprocessor.tokenizer([text]).ids.to_list()

  assert tokens() == expected
  file = file.rename(directory / "spiece.model")
  (directory / "tokenizer.json").rename(tmp_path / "tokenizer.json")
  assert tokens() == expected
  file.unlink()
  shutil.move(tmp_path / "tokenizer.json", directory)
  assert tokens() == expected
  # A tokenizer.json that normalizes otherwise, as one of transformers 5.
  values = json.loads((directory / "tokenizer.json").read_text())
  values["normalizer"] = {"type": "NFC"}
  (directory / "tokenizer.json").write_text(json.dumps(values))
  with pytest.raises(ValueError, match=r"tokenizer\.json: normalizer\.type"):
    tokens()


def test_tokenizer_json_is_read_before_the_files_beside_it(tmp_path, capsys):
  vocabulary = tiny_pieces("deberta-v2")
  extractor = extractor_of("deberta-v2", vocabulary=vocabulary)
  save_huggingface(extractor, tmp_path / "model")
  path = tmp_path / "model/tokenizer.json"
  values = json.loads(path.read_text())
  vocab = values["model"]["vocab"]
  vocab[6], vocab[9] = vocab[9], vocab[6]
  path.write_text(json.dumps(values))
  read = find_huggingface_tokenizer(tmp_path / "model")
  vocabulary_read = load_vocabulary(read["vocabulary_path"], "deberta-v2")
  assert vocabulary_read.tokens[6] == vocab[6][0]
  assert not capsys.readouterr().err
  # As the published models: only the spm.model falls back to bytes.
  model = ModelProto.FromString(vocabulary.proto)
  model.trainer_spec.byte_fallback = True
  (tmp_path / "model/spm.model").write_bytes(model.SerializeToString())
  find_huggingface_tokenizer(tmp_path / "model")
  said = capsys.readouterr().err
  assert said.count("\n") == 1
  assert "tokenizer.json" in said and "spm.model" in said


def test_word_pieces_of_tokenizer_json_are_read_before_vocab_txt(tmp_path):
  ids = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "b": 4}
  path = tmp_path / "tokenizer.json"
  path.write_text(json.dumps(tokenizer_json("WordPiece", vocab=ids)))
  (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\nb\na\n")
  read = find_huggingface_tokenizer(tmp_path)
  assert load_vocabulary(read["vocabulary_path"]) == [*ids]


@pytest.mark.parametrize(
  ("config", "about_tokenizer", "message"),
  [
    # As the Japanese models of cl-tohoku: only config.json names the class.
    ({"tokenizer_class": "BertJapaneseTokenizer"}, {}, "BertJapaneseTok"),
    ({}, {"word_tokenizer_type": "mecab"}, "word_tokenizer_type"),
    ({}, {"subword_tokenizer_type": "character"}, "subword_tokenizer_type"),
    ({"model_type": "bert"}, {"never_split": ["ab"]}, "never_split"),
  ],
)
def test_tokenizers_of_words_are_refused_by_name(
  config, about_tokenizer, message, tmp_path
):
  (tmp_path / "config.json").write_text(json.dumps(config))
  (tmp_path / "tokenizer_config.json").write_text(json.dumps(about_tokenizer))
  (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\na\n")
  with pytest.raises(ValueError, match=rf"config\.json: .*{message}"):
    find_huggingface_tokenizer(tmp_path)


def test_an_albert_has_the_rules_of_its_files(tmp_path):
  extractor = extractor_of("albert")
  save_huggingface(extractor, tmp_path)
  path = tmp_path / "tokenizer_config.json"
  config = json.loads(path.read_text())
  assert config["do_lower_case"] is True and config["keep_accents"] is False

  def rules(**changes):
    path.write_text(json.dumps(config | changes))
    loaded = SpanExtractor.from_preset(tmp_path, extractor.window_options)
    tokenizer = loaded.preprocessor.tokenizer
    return tokenizer.full_vocabulary.albert_rules

  assert rules() == rules(do_lower_case=None, keep_accents=None)
  for key, value in (("do_lower_case", False), ("keep_accents", True)):
    with pytest.raises(ValueError, match=rf"tokenizer_config\.json: {key}"):
      rules(**{key: value})
  # Without a tokenizer.json they are those of this file.
  (tmp_path / "tokenizer.json").unlink()
  for changes in (
    {"do_lower_case": False, "keep_accents": True},
    {"do_lower_case": True, "keep_accents": False},
  ):
    assert rules(**changes) == changes
  assert rules(do_lower_case=None, keep_accents=None) == changes


def test_pieces_that_tokenizer_json_cannot_have_are_kept_here(tmp_path):
  model = ModelProto.FromString(tiny_pieces("xlm-roberta").proto)
  model.normalizer_spec.add_dummy_prefix = False
  vocabulary = sentence_pieces(model.SerializeToString(), "xlm-roberta", "")
  extractor = extractor_of("xlm-roberta", vocabulary=vocabulary)
  with pytest.raises(ValueError, match="add_dummy_prefix"):
    save_huggingface(extractor, tmp_path / "model")
  assert not (tmp_path / "model").exists()
  extractor.save_to_preset(tmp_path / "model")
  read = SpanExtractor.from_preset(tmp_path / "model").preprocessor.tokenizer
  assert read.full_vocabulary == vocabulary


def test_steps_of_a_normalizer_are_kept_and_no_tflite_file_has_them(tmp_path):
  model = ModelProto.FromString(tiny_pieces("deberta-v2").proto)
  model.normalizer_spec.name = "Replace NFC Strip"
  vocabulary = sentence_pieces(model.SerializeToString(), "deberta-v2", "")
  extractor = extractor_of("deberta-v2", vocabulary=vocabulary)
  save_huggingface(extractor, tmp_path / "theirs")
  (tmp_path / "theirs/spm.model").unlink()
  extractor.save_to_preset(tmp_path / "ours")
  for name in ("theirs", "ours"):
    read = SpanExtractor.from_preset(
      tmp_path / name, extractor.window_options
    ).preprocessor.tokenizer
    ids = read(["the\nmill\t", "in  the"]).ids.to_list()
    tokens = [[read.vocabulary[i] for i in row] for row in ids]
    assert tokens == [["▁the", "▁mill"], ["▁in", "▁the"]]
  with pytest.raises(ValueError, match="Replace NFC Strip"):
    tflite_content(extractor, TFLiteOptions())


@pytest.mark.parametrize("family", ["xlm-roberta", "deberta-v2", "albert"])
def test_a_preset_of_keras_hub_is_read(tmp_path, family):
  vocabulary = trained_pieces(family)
  made = extractor_of(family, vocabulary=vocabulary)
  directory = str(tmp_path / "preset")
  made.backbone.save_to_preset(directory)
  tokenizer_class = files_of(family).keras_tokenizer
  tokenizer = tokenizer_class(vocabulary.proto)
  tokenizer.save_to_preset(directory)
  options = made.window_options
  loaded = SpanExtractor.from_preset(directory, options)
  text = "Who built Café 日本 x?"
  if family == "albert":  # KerasHub's does not lower-case.
    text = "who built cafe 日本 x?"
  ids = loaded.preprocessor.tokenizer([text]).ids.to_list()
  assert ids == [np.asarray(tokenizer(text)).tolist()]
  assert loaded.preprocessor.tokenizer.cls_id == tokenizer.start_token_id
  # KerasHub reads what is saved here.
  made.save_to_preset(tmp_path / "ours")
  read = tokenizer_class.from_preset(str(tmp_path / "ours"))
  assert [np.asarray(read(text)).tolist()] == ids


@pytest.mark.parametrize("kind", [SpanExtractor, BioExtractor])
@pytest.mark.parametrize("family", _FAMILIES)
def test_a_tflite_file_holds_the_model_of_its_tokens(tmp_path, family, kind):
  extractor = extractor_of(family, kind=kind)
  path = tmp_path / "model.tflite"
  options = TFLiteOptions(dynamic_length=family == "albert")
  path.write_bytes(tflite_content(extractor, options))
  vocabulary = extractor.preprocessor.tokenizer.full_vocabulary
  assert read_files(path)["vocabulary.spm"] == vocabulary.proto
  assert read_packed_config(path)["tflite"]["family"] == family
  read = TFLiteSpanExtractor(path)
  assert read.preprocessor.tokenizer.full_vocabulary == vocabulary
  with eagerly():
    ours, theirs = (x.answer(QUESTION, CONTEXT) for x in (extractor, read))
  assert ours.text == theirs.text
  assert ours.score == pytest.approx(theirs.score, abs=1e-3)


@pytest.fixture(scope="module", params=_FAMILIES)
def folder(request, tmp_path_factory):
  """A folder with a model, questions and the flags of all programs."""
  folder = tmp_path_factory.mktemp("programs")
  extractor_of(request.param).save_to_preset(folder / "model")
  pairs = [(QUESTION, "Anna"), ("When was the mill built?", "1895")] * 2
  qas = [
    {
      "id": f"q{i}",
      "question": question,
      "answers": spans((answer, CONTEXT.index(answer))),
      "is_impossible": False,
    }
    for i, (question, answer) in enumerate(pairs)
  ]
  content = squad_content(CONTEXT, *qas, version="v2.0")
  (folder / "v2.json").write_text(json.dumps(content))
  qas[3] |= {"answers": [], "is_impossible": True}
  content = squad_content(CONTEXT, *qas, version="v2.0")
  (folder / "one_wrong.json").write_text(json.dumps(content))
  return folder


def _run(folder, program, *flags):
  return succeeds(f"bert_span.{program}", *flags, run=run_here)


def _train(folder, out, *flags, preset="model"):
  data = folder / "v2.json"
  return _run(
    *(folder, "run_squad", f"--preset={folder / preset}", *_STEPS),
    *(f"--train_file={data}", f"--predict_file={data}"),
    *(f"--output_dir={folder / out}", "--train_batch_size=4"),
    *("--max_seq_length=96", "--max_query_length=32", "--doc_stride=40"),
    *("--learning_rate=1e-2", "--num_train_epochs=30", *flags),
  )


@pytest.mark.large
def test_a_model_is_trained_distilled_calibrated_and_asked(folder):
  model = f"--model={folder / 'span/model'}"
  _train(folder, "span", "--version_2_with_negative")
  predictions = json.loads((folder / "span/predictions.json").read_text())
  assert [predictions[f"q{i}"] for i in (0, 1)] == ["Anna", "1895"]
  _train(
    *(folder, "distilled", f"--teacher={folder / 'span/model'}"),
    "--version_2_with_negative",
  )
  scores = json.loads((folder / "distilled/eval_results.json").read_text())
  assert scores["exact"] >= 50
  data = folder / "one_wrong.json"
  _run(folder, "calibrate", model, f"--predict_file={data}")
  (folder / "passage.txt").write_text(CONTEXT)
  asked = _run(
    *(
      folder,
      "ask",
      f"--model={folder / 'span/model'}",
      f"--question={QUESTION}",
    ),
    f"--context_file={folder / 'passage.txt'}",
  )
  assert "Anna" in asked.stdout


@pytest.mark.large
def test_a_bio_head_is_trained(folder):
  flags = "--head=bio", "--version_2_with_negative", "--num_train_epochs=40"
  if "Albert" in (folder / "model/config.json").read_text():
    # Gradients of all calls of its layer are summed.
    flags += ("--num_train_epochs=80", "--learning_rate=5e-3")
  _train(folder, "bio", *flags)
  found = json.loads((folder / "bio/span_predictions.json").read_text())
  assert [span["text"] for span in found["q0"]] == ["Anna"]


@pytest.mark.large
def test_beam_answers_as_the_model(folder):
  pytest.importorskip("apache_beam")
  row = {"id": "q0", "question": QUESTION, "context": CONTEXT}
  (folder / "questions.jsonl").write_text(json.dumps(row) + "\n")
  out = folder / "answers"
  _run(
    *(folder, "beam_predict", f"--model={folder / 'model'}", "--num_shards=1"),
    *(f"--input={folder}/questions.jsonl", f"--output_dir={out}"),
  )
  (shard,) = out.glob("answers-*.jsonl")
  (answer,) = map(json.loads, shard.read_text().splitlines())
  expected = SpanExtractor.from_preset(folder / "model")
  assert answer["answer"] == expected.answer(QUESTION, CONTEXT).text
