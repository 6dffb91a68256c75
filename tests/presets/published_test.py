"""Checkpoints load as they are published, with their tokens and logits.

published.json has the forms in which checkpoints are published. A family has
the file of its tokens and the keys of its config.json; sizes are small here. A
form has:

  names, pickled: its checkpoints; those whose branch main has no safetensors
  config: other keys of config.json; null for a missing one
  tokenizer: keys of tokenizer_config.json that can change tokens
  file, json: the file of tokens ("" for none), and the form of a
    tokenizer.json: "typed", or "untyped" as those of 2020
  added: tokens in added_tokens.json
  special: the form of special_tokens_map.json; "config": tokenizer_config.json
    has these tokens, too
  tensors: besides the encoder's, see `_tensors`
  is_cased, lower_case: of the WordPieces; what is right where no file says it
  refused: what the refusal names

Source: the files themselves where they could be read, on the hub or in public
copies, in November 2026; else the files that the same people or programs wrote
for the same family in the same year.
"""

import base64
import functools
import importlib.util
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import unicodedata

import h5py
import keras_hub
import numpy as np
import pytest
import tokenizers
from safetensors.numpy import save_file

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import build_encoder, encode
from bert_span.presets.architectures.architecture_files import files_of
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.huggingface import huggingface_config
from bert_span.presets.huggingface_writer import encoder_tensors
from bert_span.text.options import WindowOptions
from bert_span.text.sentencepiece_model import ModelProto
from tests.support.hub import complete_json, tokenizer_json, write_torch_file
from tests.support.models import tiny_encoder, trained_pieces

pytestmark = pytest.mark.large
_FOLDER = pathlib.Path(__file__).parent
_PUBLISHED = json.loads((_FOLDER / "published.json").read_text("utf-8"))
_FAMILIES = _PUBLISHED["families"]
_FORMS = {
  [*form.get("names", ()), *form.get("pickled", ())][0]: form
  for form in _PUBLISHED["forms"]
}
_LOADED = [name for name, form in _FORMS.items() if "refused" not in form]
_REFUSED = [name for name, form in _FORMS.items() if "refused" in form]
_PAGE = "docs/models.md"

_WORDS = (
  *("The", "mill", "was", "built", "by", "Anna", "in", "1895", "near", "it's"),
  *("café", "naïve", "Zoë", "Straße", "ÖFFNETE", "İstanbul", "don't", "co-op"),
  *("日本語", "東京で", "中国", "한국어", "сервер", "Ёлка", "مدرسة", "שלום"),
  *("हिन्दी", "ภาษาไทย", "🙂", "👩‍👧", "½", "ﬁve", "“quoted”", "100%", "U.S."),
  *("x\u0301", "a\u200bb", "\u00a0", "１２", "…", "3.14", "#tag", "C++", "\n"),
)


def _random_texts():
  random.seed(5)
  return tuple(
    random.choice((" ", " ", "  ", "")).join(
      random.choices(_WORDS, k=random.randint(1, 9))
    )
    for _ in range(196)
  )


_KNOWN = _random_texts()
# The last have a character that is in no vocabulary.
_TEXTS = [*_KNOWN, *(f"The {word} mill{word}" for word in "ჯꙮ🜁ŋ")]

_SIZES = {
  "hidden_size": 16,
  "num_hidden_layers": 2,
  "num_attention_heads": 2,
  "intermediate_size": 24,
  "max_position_embeddings": 512,
}
_FAMILY_SIZES = {
  "distilbert": {
    "dim": 16,
    "n_layers": 2,
    "n_heads": 2,
    "hidden_dim": 24,
    "max_position_embeddings": 512,
  },
  "electra": {**_SIZES, "embedding_size": 16},
  "albert": {**_SIZES, "embedding_size": 8},
  "mobilebert": {
    **_SIZES,
    "embedding_size": 8,
    "intra_bottleneck_size": 12,
    "true_hidden_size": 12,
    "num_feedforward_networks": 4,
  },
}
# Keys of tokenizer_config.json that change no tokens.
_UNUSED = {
  "model_max_length": 512,
  "max_len": 512,
  "max_model_length": 512,
  "full_tokenizer_file": None,
  "special_tokens_map_file": "/a/path/special_tokens_map.json",
  "name_or_path": "a/name",
  "init_inputs": [],
  "trim_offsets": True,
  "errors": "replace",
}
# Keys with other values here: sizes, and what is used in training only.
_OTHER_KEYS = {
  *("vocab_size", "pooler_hidden_size", "transformers_version"),
  *(key for sizes in (_SIZES, *_FAMILY_SIZES.values()) for key in sizes),
  *("sinusoidal_pos_embds", "summary_last_dropout"),
}


def _config(form):
  """The values of a form's config.json, without sizes."""
  values = _FAMILIES[form["family"]]["config"] | form.get("config", {})
  return {key: value for key, value in values.items() if value is not None}


def _write_form(folder, form):
  """Writes a small directory; returns what gives the right ids of a text."""
  folder.mkdir()

  def write(file, values):
    (folder / file).write_text(json.dumps(values), encoding="utf-8")

  ids_of_text, num_tokens = _write_tokens(folder, write, form)
  family = form["family"] if form["family"] in ARCHITECTURES else "bert"
  # Some have more rows than tokens.
  rows = num_tokens + (99 if family == "deberta-v2" else 0)
  sizes = {"vocab_size": rows, **_FAMILY_SIZES.get(family, _SIZES)}
  config = {**sizes, **_config(form)}
  write("config.json", config)
  encoder = {**config, "model_type": family}
  backbone = build_encoder(huggingface_config(encoder, "config.json"))
  random_numbers = np.random.default_rng(3)
  # Without LayerNorm, numbers grow from layer to layer.
  scale = 0.15 if family == "mobilebert" else 0.3
  tensors = {
    name: random_numbers.normal(scale=scale, size=x.shape).astype("float32")
    + ("norm" in name.lower() and name.endswith(".weight"))
    for name, x in encoder_tensors(backbone).items()
  }
  tensors = _tensors(tensors, form.get("tensors", ["qa"]), rows)
  if "pickled" not in form:
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return ids_of_text
  if "deberta_lm" in form.get("tensors", ()):
    tensors = {n: x.astype("float16") for n, x in tensors.items()}
  # A tokenizer.json has been typed since the autumn of 2020, after PyTorch's
  # new form of the summer.
  is_old = form.get("json") != "typed"
  write_torch_file(folder / "pytorch_model.bin", tensors, is_old)
  return ids_of_text


# Some tensors of heads -> their shapes: 0 is the vocabulary's size.
_HEADS = {
  "qa": {"qa_outputs.weight": (2, 16), "qa_outputs.bias": (2,)},
  "mlm": {
    "cls.predictions.bias": (0,),
    "cls.predictions.transform.dense.weight": (16, 16),
    "cls.seq_relationship.weight": (2, 16),
  },
  "lm_head": {
    "lm_head.dense.weight": (16, 16),
    "lm_head.layer_norm.weight": (16,),
  },
  "modernbert_lm": {
    "head.dense.weight": (16, 16),
    "head.norm.weight": (16,),
    "decoder.bias": (0,),
  },
  "distilbert_lm": {
    "vocab_transform.weight": (16, 16),
    "vocab_layer_norm.weight": (16,),
  },
  "deberta_lm": {
    "lm_predictions.lm_head.dense.weight": (16, 16),
    "mask_predictions.dense.weight": (16, 16),
  },
}


def _tensors(tensors, parts, rows):
  """The tensors of a file with some of the `_HEADS` and of these parts.

  pooler, position_ids: the file has such tensors
  gamma: LayerNorms have the names of older files
  plain: names are those of an encoder without a head, with a pooler
  """
  prefix = next(iter(tensors)).split(".")[0]
  numbers = np.random.default_rng(4)
  if not {"pooler", "plain"} & {*parts}:
    tensors = {n: x for n, x in tensors.items() if ".pooler." not in n}
  if "position_ids" in parts:
    ids = np.arange(512, dtype="int64")[None]
    tensors[f"{prefix}.embeddings.position_ids"] = ids
  for part in _HEADS.keys() & {*parts}:
    for name, shape in _HEADS[part].items():
      shape = rows if shape == (0,) else shape
      tensors[name] = numbers.normal(size=shape).astype("float32")
  if "gamma" in parts:
    for new, old in (("weight", "gamma"), ("bias", "beta")):
      new, old = f"LayerNorm.{new}", f"LayerNorm.{old}"
      tensors = {n.replace(new, old): x for n, x in tensors.items()}
  if "plain" in parts:
    tensors = {n.removeprefix(f"{prefix}."): x for n, x in tensors.items()}
  return tensors


_BERT_TOKENS = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
_ROBERTA_TOKENS = "<s>", "<pad>", "</s>", "<unk>", "<mask>"
_ROLES = "bos", "eos", "cls", "sep", "pad", "unk", "mask"
_ROBERTA_NAMES = "<s>", "</s>", "<s>", "</s>", "<pad>", "<unk>", "<mask>"


def _special_names(form):
  """The special tokens of a form, by their keys."""
  family = form["family"]
  if family == "albert":
    names = ("[CLS]", "[SEP]", "[CLS]", "[SEP]", "<pad>", "<unk>", "[MASK]")
  elif family == "deberta-v2":
    names = ("[CLS]", "[SEP]", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")
  elif _file(form) == "vocab.txt" or family == "modernbert":
    names = (None, None, "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")
  else:
    names = _ROBERTA_NAMES
  pairs = zip(_ROLES, names, strict=True)
  return {f"{role}_token": name for role, name in pairs if name}


def _file(form):
  return form.get("file", _FAMILIES[form["family"]]["file"])


def _write_tokens(folder, write, form):
  """Writes the files of tokens; returns a reference, and their number."""
  family, config = form["family"], form.get("tokenizer")
  names, special = _special_names(form), form.get("special", ())
  if family in ("xlm-roberta", "camembert", "deberta-v2", "albert"):
    tokens, ids_of_text, proto = _pieces(family)
    if _file(form):
      (folder / _file(form)).write_bytes(proto)
    values = _pieces_json(family, tokens, proto)
  elif family == "modernbert":
    values = _modernbert_json()
    tokens = [*values["model"]["vocab"], *_MODERNBERT_ADDED]
    if "refused" in form:  # Gemma's
      blank = {"pattern": {"String": " "}, "content": "\u2581"}
      values = {**values, "normalizer": {"type": "Replace", **blank}}
  elif _file(form) == "vocab.json":
    values = _byte_pairs_json()
    tokens = values["model"]["vocab"]
    write("vocab.json", tokens)
    _write_lines(
      folder / "merges.txt",
      ["#version: 0.2", *map(" ".join, values["model"]["merges"])],
    )
    ids_of_text = _ids_of(values)
  else:
    keeps_accents = (config or {}).get("strip_accents") is False
    is_cased = form.get("is_cased", False)
    tokens = _word_pieces(is_cased, keeps_accents and not is_cased)
    if family == "roberta":  # KLUE's: padding is 1, as RoBERTa's.
      tokens = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", *tokens[5:]]
    _write_lines(folder / _file(form), tokens)
    lower_case = (config or {}).get("do_lower_case", True)
    values = _word_pieces_json(tokens, form.get("lower_case", lower_case))
    if keeps_accents:
      values["normalizer"]["strip_accents"] = False
    ids_of_text = _ids_of(values)
  if "json" in form:
    as_file = json.loads(json.dumps(values))
    if form["json"] == "untyped":
      model = as_file["model"]
      del model["type"]
      if "merges" in model:
        model["merges"] = [" ".join(pair) for pair in model["merges"]]
    write("tokenizer.json", as_file)
    # It is what transformers reads.
    ids_of_text = _ids_of(as_file)
  if config is not None:
    more = names if "config" in special else {}
    write("tokenizer_config.json", {**config, **more, **_UNUSED})
  if "added" in form:
    ids = dict.fromkeys(form["added"], len(tokens) - 1)
    write("added_tokens.json", ids)
  if "objects" in special:
    names = {
      name: {"content": token, "lstrip": name == "mask_token", "rstrip": False}
      for name, token in names.items()
    }
  if "more" in special:
    more = ["<s>NOTUSED", "</s>NOTUSED"]
    names = {**names, "additional_special_tokens": more}
  if special:
    write("special_tokens_map.json", names)
  return ids_of_text, len(tokens)


def _write_lines(path, lines):
  path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _ids_of(values):
  tokenizer = tokenizers.Tokenizer.from_str(json.dumps(values))
  return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


@functools.cache
def _word_pieces(is_cased, keeps_accents=False):
  """A vocabulary of the `_KNOWN`, with or without capitals and accents."""
  tokens = [*_BERT_TOKENS]
  for text in _KNOWN:
    if not is_cased:
      text = text.lower()
    if not is_cased and not keeps_accents:
      text = unicodedata.normalize("NFD", text)
      text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    words = re.findall(r"\w+|\S", text)
    tokens += [word for word in words if len(word) < 6]
    tokens += [x for word in words for c in word for x in (c, f"##{c}")]
  return list(dict.fromkeys(tokens))


def _word_pieces_json(tokens, lower_case):
  ids = {token: i for i, token in enumerate(tokens)}
  values = tokenizer_json("WordPiece", vocab=ids)
  values["normalizer"]["lowercase"] = lower_case
  return complete_json(values, ids, _BERT_TOKENS)


@functools.cache
def _byte_pairs_json():
  trained = tokenizers.ByteLevelBPETokenizer()
  trained.train_from_iterator(
    _KNOWN, 600, special_tokens=[*_ROBERTA_TOKENS], show_progress=False
  )
  model = json.loads(trained.to_str())["model"]
  vocab = dict(sorted(model["vocab"].items(), key=lambda item: item[1]))
  values = tokenizer_json("BPE", **{**model, "vocab": vocab})
  return complete_json(values, vocab, _ROBERTA_TOKENS)


_MODERNBERT_ADDED = (
  *("|||IP_ADDRESS|||", *(" " * n for n in range(24, 1, -1))),
  *("|||EMAIL_ADDRESS|||", "|||PHONE_NUMBER|||"),
  *(f"[unused{n}]" for n in range(83)),
)


@functools.cache
def _modernbert_json():
  special = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"]
  special += ["<|padding|>", "<|endoftext|>"]
  tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
  tokenizer.normalizer = tokenizers.normalizers.NFC()
  byte_level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
  tokenizer.pre_tokenizer = byte_level
  trainer = tokenizers.trainers.BpeTrainer(
    vocab_size=600,
    special_tokens=special,
    initial_alphabet=byte_level.alphabet(),
    show_progress=False,
  )
  tokenizer.train_from_iterator(_KNOWN, trainer)
  added = [
    tokenizers.AddedToken(token, normalized=True) for token in _MODERNBERT_ADDED
  ]
  tokenizer.add_tokens(added)
  tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
    single="[CLS] $A [SEP]",
    pair="[CLS] $A [SEP] $B [SEP]",
    special_tokens=[("[CLS]", 0), ("[SEP]", 1)],
  )
  return json.loads(tokenizer.to_str())


@functools.cache
def _pieces(family):
  """The tokens of a family, what gives their ids, and a SentencePiece model.

  Source: the papers of the families, and fairseq's dictionaries.
  """
  options = {"byte_fallback": True} if family == "deberta-v2" else {}
  proto = trained_pieces(family, _KNOWN, **options).proto
  import sentencepiece  # `trained_pieces` skips the test without it.

  model = sentencepiece.SentencePieceProcessor(model_proto=proto)
  pieces = [model.id_to_piece(i) for i in range(model.get_piece_size())]
  if family == "albert":
    return pieces, lambda text: _albert_ids(model, text), proto
  first, offset = {
    "xlm-roberta": (["<s>", "<pad>", "</s>", "<unk>", *pieces[3:]], 1),
    "camembert": (
      [
        *("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"),
        *pieces[1:],
      ],
      4,
    ),
    "deberta-v2": (pieces, 0),
  }[family]
  mask = "[MASK]" if family == "deberta-v2" else "<mask>"

  def ids_of_text(text):
    ids = model.encode(text)
    return [3 if i == model.unk_id() else i + offset for i in ids]

  return [*first, mask], ids_of_text, proto


def _albert_ids(model, text):
  """The ids of a text by a SentencePiece model, as ALBERT's tokenizer has them.

  Source: google-research/albert, tokenization.py; quotes and marks as in the
  fast tokenizer of transformers.
  """
  text = " ".join(text.split()).replace("``", '"').replace("''", '"')
  text = unicodedata.normalize("NFKD", text)
  text = "".join(c for c in text if unicodedata.category(c)[0] != "M")
  tokens = []
  for piece in model.encode(text.lower(), out_type=str):
    if not re.search(r"\d,$", piece):
      tokens.append(piece)
      continue
    number = piece[:-1]
    parts = model.encode(number.replace("\u2581", ""), out_type=str)
    if number[0] != "\u2581":
      parts[0] = parts[0].removeprefix("\u2581")
    tokens += [*filter(None, parts), ","]
  return [model.piece_to_id(token) for token in tokens]


def _pieces_json(family, tokens, proto):
  """The tokenizer.json of XLM-R or DeBERTa with a Unigram model."""
  model = ModelProto.FromString(proto)
  scores = {each.piece: each.score for each in model.pieces}
  own = tokens[:-1] if family == "deberta-v2" else tokens  # without [MASK]
  vocab = [(token, scores.get(token, 0.0)) for token in own]
  values = tokenizer_json("Unigram", vocab=vocab, unk_id=3)
  charsmap = base64.b64encode(model.normalizer_spec.precompiled_charsmap)
  precompiled = {
    "type": "Precompiled",
    "precompiled_charsmap": charsmap.decode(),
  }
  values["normalizer"] = precompiled
  ids = {token: i for i, token in enumerate(tokens)}
  if family != "deberta-v2":
    return complete_json(values, ids, {*_ROBERTA_TOKENS} & ids.keys())
  values["normalizer"] = {
    "type": "Sequence",
    "normalizers": [
      {"type": "Strip", "strip_left": True, "strip_right": True},
      precompiled,
      {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ],
  }
  values["pre_tokenizer"] = {
    "type": "Sequence",
    "pretokenizers": [values["pre_tokenizer"]["pretokenizers"][1]],
  }
  values["post_processor"] = tokenizer_json("WordPiece")["post_processor"]
  return complete_json(values, ids, _BERT_TOKENS)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
  """Writes a form once; its folder, and what gives a text's right ids."""
  folder = tmp_path_factory.mktemp("published")

  @functools.cache
  def write(name):
    directory = folder / re.sub(r"\W+", "_", name)
    return directory, _write_form(directory, _FORMS[name])

  return write


@pytest.fixture(scope="module")
def loaded(written):
  """Loads a form; once, as two tests ask for it."""

  @functools.cache
  def load(name):
    return _load(written(name)[0])

  return load


def _load(directory):
  """The preset of a directory, and its tokenizer."""
  source = EncoderSource(preset=str(directory))
  preset = source.load()
  options = WindowOptions(384, 128, 64)
  preprocessor = SpanPreprocessor(
    preset.vocabulary(), source.lower_case(preset), options
  )
  return preset, preprocessor.tokenizer


@pytest.fixture(scope="module")
def outputs(written, repository):
  """What transformers computes, by the name of a checkpoint."""
  for name, title in (("torch", "PyTorch"), ("transformers", "transformers")):
    if not importlib.util.find_spec(name):
      pytest.skip(f"{title} is not installed")
  directories = {name: written(name)[0] for name in _LOADED}
  folder = directories[_LOADED[0]].parent
  names = "input_ids", "token_type_ids", "attention_mask"
  inputs = dict(zip(names, _inputs().values(), strict=True))
  np.savez(folder.parent / "published.npz", **inputs)
  script = repository / "tests/scripts/transformers_models.py"
  command = [sys.executable, script, folder.parent / "published.npz", folder]
  subprocess.run(command, check=True)

  def read(name):
    with np.load(directories[name] / "outputs.npz") as stored:
      return stored["outputs"]

  return read


def _inputs():
  """Windows of two lengths."""
  positions = np.arange(24)
  mask = (positions < [[9], [24]]).astype("int32")
  # From 5: no padding, which RoBERTa does not count as a position.
  ids = np.random.default_rng(3).integers(5, 60, [2, 24])
  return {
    "token_ids": np.where(mask, ids, 1).astype("int32"),
    "segment_ids": (positions >= [[4], [8]]).astype("int32") * mask,
    "padding_mask": mask,
  }


@pytest.mark.parametrize("name", _LOADED)
def test_a_published_checkpoint_has_its_tokens(written, loaded, name):
  _, ids_of_text = written(name)
  _, tokenizer = loaded(name)
  assert len(_TEXTS) == 200
  assert tokenizer(_TEXTS).ids.to_list() == list(map(ids_of_text, _TEXTS))


@pytest.mark.parametrize("name", _LOADED)
def test_a_published_checkpoint_has_its_logits(outputs, loaded, name):
  expected, inputs = outputs(name), _inputs()
  preset, _ = loaded(name)
  ours = np.asarray(encode(preset.backbone, inputs))
  head = preset.head_weights.get("span_head")
  assert bool(head) == ("qa" in _FORMS[name].get("tensors", ["qa"]))
  if head:
    ours = ours @ head["kernel"] + head["bias"]
  kept = inputs["padding_mask"].astype(bool)
  np.testing.assert_allclose(ours[kept], expected[kept], atol=1e-4)
  assert ours[kept].std() > 0.1


@pytest.mark.parametrize("name", _REFUSED)
def test_a_checkpoint_with_other_tokens_is_refused_by_name(written, name):
  directory, _ = written(name)
  with pytest.raises(ValueError, match=_FORMS[name]["refused"]):
    _load(directory)


_KERAS_NLP = (
  *("bert", "bert uncased", "distilbert", "electra", "roberta"),
  *("xlm-roberta", "deberta-v2"),
)


def _write_keras_nlp(folder, name):
  """Writes a small preset as KerasNLP did; returns what gives a text's ids.

  Its names of modules and classes were others.
  """
  family, *uncased = name.split()
  if family in ("xlm-roberta", "deberta-v2"):
    tokens, ids_of_text, proto = _pieces(family)
    vocabulary = {"proto": proto}
  elif family == "roberta":
    values = _byte_pairs_json()
    tokens, ids_of_text = values["model"]["vocab"], _ids_of(values)
    merges = [" ".join(pair) for pair in values["model"]["merges"]]
    vocabulary = {"vocabulary": tokens, "merges": merges}
  else:
    tokens = _word_pieces(not uncased)
    ids_of_text = _ids_of(_word_pieces_json(tokens, bool(uncased)))
    vocabulary = {"vocabulary": tokens, "lowercase": bool(uncased)}
  sizes = {"position_buckets": 16} if family == "deberta-v2" else {}
  backbone = tiny_encoder(
    architecture=family,
    vocabulary_size=len(tokens),
    max_sequence_length=24,
    **sizes,
  )
  random_numbers = np.random.default_rng(3)
  for weight in backbone.weights:
    weight.assign(random_numbers.normal(scale=0.3, size=weight.shape))
  tokenizer = files_of(family).keras_tokenizer(**vocabulary)
  for part in (backbone, tokenizer):
    part.save_to_preset(folder)
  for path in folder.glob("*.json"):
    content = path.read_text("utf-8").replace("keras_hub", "keras_nlp")
    path.write_text(content, encoding="utf-8")
  return ids_of_text


@pytest.mark.parametrize("name", _KERAS_NLP)
def test_a_preset_of_keras_nlp_loads_as_keras_hub_reads_it(tmp_path, name):
  ids_of_text = _write_keras_nlp(tmp_path, name)
  inputs = _inputs()
  theirs = keras_hub.models.Backbone.from_preset(str(tmp_path))
  expected = np.asarray(encode(theirs, inputs))
  preset, tokenizer = _load(tmp_path)
  assert tokenizer(_TEXTS).ids.to_list() == list(map(ids_of_text, _TEXTS))
  read = keras_hub.models.Tokenizer.from_preset(str(tmp_path))
  assert np.asarray(read("The mill")).tolist() == ids_of_text("The mill")
  ours = np.asarray(encode(preset.backbone, inputs))
  np.testing.assert_allclose(ours, expected, atol=1e-5)
  assert ours.std() > 0.1
  # In its first years Keras called the group of layers in HDF5 otherwise.
  with h5py.File(tmp_path / "model.weights.h5", "a") as file:
    file.move("layers", "_layer_checkpoint_dependencies")
  ours = encode(_load(tmp_path)[0].backbone, inputs)
  np.testing.assert_allclose(ours, expected, atol=1e-5)


def _by_name():
  """The form of each checkpoint, by its name."""
  return {
    name: form
    for form in _FORMS.values()
    for name in (*form.get("names", ()), *form.get("pickled", ()))
  }


def test_the_page_says_of_each_checkpoint_whether_it_loads(repository):
  lines = (repository / _PAGE).read_text("utf-8").splitlines()
  start = lines.index("| checkpoint | here |")
  shown = {}
  for line in itertools.takewhile(str.strip, lines[start + 2 :]):
    checkpoints, verdict = line.strip("| ").split(" | ")
    names = re.findall("`([^`]+)`", checkpoints)
    assert not shown.keys() & names
    shown |= dict.fromkeys(names, verdict)
  forms = {n.removesuffix(" (and -large)"): x for n, x in _by_name().items()}
  assert shown.keys() == forms.keys()
  for name, form in forms.items():
    if "refused" in form:
      assert shown[name].startswith("refused: ")
      assert form["refused"] in shown[name]
    else:
      is_pickled = name not in form.get("names", ())
      assert shown[name] == "loads" + is_pickled * ", from pickled weights"


def test_the_forms_are_those_of_the_facts():
  path = _FOLDER.parents[2] / "shared" / "checkpoints" / "facts.json"
  if not path.exists():
    pytest.skip("../shared/checkpoints is not on this machine")
  facts, forms = json.loads(path.read_text("utf-8")), _by_name()
  assert facts.keys() == forms.keys()
  wrong = []
  for name, fact in facts.items():
    form, files = forms[name], " ".join(fact["files"])
    if form["family"] not in ARCHITECTURES:
      assert fact["config"]["model_type"] == form["family"]
      continue
    others = {*_OTHER_KEYS, *_UNUSED}
    if form["family"] == "modernbert":  # It depends on the vocabulary.
      others.add("pad_token_id")
    config = dict(form.get("tokenizer") or {})
    if "config" in form.get("special", ()):
      config |= _special_names(form)
    for file, ours, theirs in (
      ("config.json", _config(form), fact["config"]),
      ("tokenizer_config.json", config, fact["tokenizer_config"]),
    ):
      wrong += [
        (name, file, key, value)
        for key, value in theirs.items()
        # What was not seen has a remark in parentheses.
        if "(" not in f"{key}{value}" and key not in ("exists", "...")
        if key not in others and ours.get(key) != value
      ]
    for file, has in (
      (r"model\.safetensors", name in form.get("names", ())),
      (r"tokenizer\.json", "json" in form),
      (r"(spm|bpe)\.model|vocab\.(txt|json)", bool(_file(form))),
      (r"special_tokens_map\.json", "special" in form),
      (r"added_tokens\.json", "added" in form),
    ):
      is_listed = "config.json" in files  # not "as" another
      if is_listed and bool(re.search(file, files)) != has:
        wrong.append((name, file))
  assert not wrong, "\n".join(map(str, wrong))
