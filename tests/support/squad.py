"""SQuAD files, runs of run_squad, windows and texts made by hand."""

import itertools
import json
import random
import re

import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.squad.reader import read_squad
from bert_span.storage.files import encodable
from tests.support.programs import succeeds


def squad_content(context, *questions, title="Bees", **top):
  """The JSON object of a file."""
  paragraph = {"context": context, "qas": list(questions)}
  return {"data": [{"title": title, "paragraphs": [paragraph]}], **top}


def spans(*pairs):
  """Answers or an annotator's spans, of (text, answer_start)."""
  return [{"text": text, "answer_start": start} for text, start in pairs]


_VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "mill", "was"),
  *("built", "by", "anna", "in", "1895", "near", "river", "who", "when"),
  *("where", ".", "?"),
]
CONTEXT = "The mill was built by Anna in 1895 near the river."


def write_encoder_files(path, vocabulary):
  """Writes a vocabulary and a bert_config.json."""
  (path / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
  config = {"vocab_size": len(vocabulary), "hidden_size": 16}
  config |= {"num_hidden_layers": 1, "num_attention_heads": 2}
  config |= {"intermediate_size": 32, "max_position_embeddings": 64}
  config |= {"type_vocab_size": 2}
  (path / "bert_config.json").write_text(json.dumps(config))


def write_squad_files(path):
  """Writes the files of an encoder and two data files."""
  write_encoder_files(path, _VOCABULARY)
  for name, version_2 in (("v1.json", False), ("v2.json", True)):
    (path / name).write_text(json.dumps(_squad(version_2)))


def _squad(version_2):
  qas = []
  for i, (question, answer) in enumerate(
    [("Who built the mill?", "Anna"), ("When was the mill built?", "1895")] * 4
  ):
    is_impossible = version_2 and i % 4 == 3
    answers = [] if is_impossible else spans((answer, CONTEXT.index(answer)))
    qas.append({"id": f"q{i}", "question": question, "answers": answers})
    if version_2:
      qas[-1]["is_impossible"] = is_impossible
  version = "v2.0" if version_2 else "1.1"
  return squad_content(CONTEXT, *qas, title="Mill", version=version)


def squad_options(folder, output_dir, version_2=False, **options):
  """The values of `RunSquadOptions` for a run on the files of `folder`."""
  data = folder / ("v2.json" if version_2 else "v1.json")
  return {
    "bert_config_file": folder / "bert_config.json",
    "vocab_file": folder / "vocab.txt",
    "train_file": data,
    "predict_file": data,
    "output_dir": output_dir,
    "max_seq_length": 32,
    "doc_stride": 8,
    "max_query_length": 12,
    "train_batch_size": 4,
    "learning_rate": 1e-2,
    "num_train_epochs": 20,
    "save_checkpoints_steps": 15,
    "version_2_with_negative": version_2,
    **options,
  }


def squad_flags(folder, output_dir, *flags, version_2=False):
  """The flags of a run on the files of `folder`."""
  values = squad_options(folder, output_dir, version_2)
  return [*(f"--{name}={value}" for name, value in values.items()), *flags]


def run_squad(folder, output_dir, *flags, version_2=False):
  flags = squad_flags(folder, output_dir, *flags, version_2=version_2)
  return succeeds("bert_span.run_squad", *flags)


def read(path):
  return json.loads(path.read_text())


# A token that is not of the passage: [CLS], the question, [SEP], [PAD].
OUTSIDE = (-1, -1, False)


def hand_windows(rows, example_index=None, context_start=(), prefix=3, pads=0):
  """The tensors that text/windows.py gives, padded to the longest row.

  `rows` are lists of tokens (char_start, char_end, is_max_context), a window
  each, the last `pads` of them [PAD]. The passage begins after `prefix` tokens.
  """
  length = max(map(len, rows), default=0)
  tokens = [[*row, *[OUTSIDE] * (length - len(row))] for row in rows]
  tokens = np.array(tokens, np.int32).reshape([len(rows), length, 3])
  real = np.array([len(row) - pads for row in rows], np.int32)
  columns = {
    "example_index": example_index or range(len(rows)),
    "context_start": context_start or [0] * len(rows),
    "first_context_position": [prefix] * len(rows),
    "padding_mask": np.arange(length) < real[:, np.newaxis],
    "token_char_starts": tokens[..., 0],
    "token_char_ends": tokens[..., 1],
  }
  windows = {
    name: tf.constant(np.array(values, np.int32))
    for name, values in columns.items()
  }
  return {**windows, "is_max_context": tf.constant(tokens[..., 2] == 1)}


SCORE_TOLERANCE = 1e-4

# Characters of Unicode 14 to 17 that browsers read by newer tables than
# TensorFlow's, which lower-case by Unicode 13 and know the categories of 15.
NEWER = re.compile(
  "[\u0897\u1acf-\u1aeb\u1c89\u2c2f\ua7c0\ua7cb-\ua7dc\U00010570-\U00010595"
  "\U00010d50-\U00010d6d\U00010ed0\U00010efa-\U00010efc\U00011385-\U000113e2"
  "\U0001171e\U00011b60-\U00011b66\U00011f5a\U0001611e-\U0001612f"
  "\U00016ea0-\U00016eb8\U0001e5ee\U0001e5ef\U0001e6e3-\U0001e6f5]"
)

# Letters whose case depends on neighbours, words of over 200 characters, and
# what is not text.
HOSTILE = (
  *("", " \t\n", "\0", "a\0b", "\ud83d", "a\udfff\ud800b", "\ufffd", "\ufeffa"),
  *("ΑΣ ΑΣΑ Σ", "ΑΣ\u0301 ΑΣ\u00adΑ ʰΣ", "İstanbul I", "x" * 199, "x" * 200),
  *("x" * 201 + " z", "\u0301" + "y" * 201 + "\u200b z", "é" * 200, "한" * 100),
  *("e\u0301 \u0301 e", "日本語テスト", "1\ufe0f\u20e3", "[SEP] [UNK]"),
)


def texts_to_tokenize(folder, step):
  """Lists of texts, by name: what the model is, or what the texts are.

  "real" are the questions and passages of the SQuAD files in a folder, one of
  `step`. Of random strings there are as many fewer.
  """
  examples = [e for p in folder.glob("*.json") for e in read_squad(p).examples]
  real = {text for e in examples for text in (e.question, e.context)}
  characters = "".join(map(chr, range(0x20000)))
  # High surrogates end a row, so none has a low one after it.
  rows = [characters[i : i + 64] for i in range(0, 0x20000, 64)]
  hostile = [*HOSTILE, *(f"a{NEWER.sub('', row)}b" for row in rows)]
  real = sorted(real)[::step]
  texts = [*real, *hostile]
  return {
    "real": real,
    "uncased": texts,
    "cased": texts,
    "newer": ["".join(NEWER.findall(characters))],
    "broken": _broken_texts()[::step],
  }


def _broken_texts():
  """22,000 random strings of bytes, most of them not UTF-8."""
  rng = random.Random(5)
  alphabet = bytes.fromhex("6120007f80bfc0c3e0e6a0edf090f48ff8ff")
  texts = [bytes(rng.choices(alphabet, k=12)) for _ in range(20000)]
  return texts + [rng.randbytes(rng.randrange(60)) for _ in range(2000)]


def encoded(text):
  """A text as UTF-8; bytes as they are."""
  is_bytes = isinstance(text, bytes)
  return text if is_bytes else encodable(text).encode("utf-8")


def assert_equal(given, wanted, *place):
  """Compares all that is wanted, numbers within the tolerance."""
  if isinstance(wanted, dict):
    for name, value in wanted.items():
      assert_equal(given[name], value, *place, name)
  elif isinstance(wanted, list):
    assert len(given) == len(wanted), place
    for i, pair in enumerate(zip(given, wanted, strict=True)):
      assert_equal(*pair, *place, i)
  elif isinstance(wanted, float):
    error = SCORE_TOLERANCE * max(1, abs(wanted))
    assert abs(given - wanted) <= error, (given, wanted, *place)
  else:
    wanted = encodable(wanted) if isinstance(wanted, str) else wanted
    assert given == wanted, (given, wanted, *place)


def assert_answer(given, wanted):
  """Compares an answer, with keys like the fields, with a `Prediction`."""
  answer = wanted.answer
  _assert_fields(given, answer, wanted.qas_id, "null_odds")
  assert given["is_answerable"] == bool(answer.char_end)
  assert given["question_truncated"] == answer.question_truncated
  for entry, other in zip(given["n_best"], wanted.n_best, strict=True):
    _assert_fields(entry, other, wanted.qas_id, "start_logit", "end_logit")


def assert_utf16(span, text):
  """Compares the offsets of a span in UTF-16 units with those in characters."""
  for end in ("start", "end"):
    before = encodable(text[: span[f"char_{end}"]]).encode("utf-16-le")
    assert 2 * span[f"utf16_{end}"] == len(before), (span, text)


def _assert_fields(given, wanted, place, *more):
  span = ("text", "char_start", "char_end", "score", "probability")
  for name in (*span, *more):
    assert_equal(given[name], getattr(wanted, name), place, name)


def decode_by_loops(context, windows, start_logits, end_logits, options):
  """Tries all pairs of the best starts and ends, as run_squad does.

  Args:
    context: str, the passage.
    windows: dict of arrays, those of `SlidingWindows`, of the question's
      windows only.
    start_logits, end_logits: [windows, seq_length].
    options: `DecoderOptions` with span_score "logit_sum".

  Returns:
    (text, char_start, char_end, score) of the n best spans, best first, and the
    null odds: the lowest null score minus the best score.
  """
  spans, nulls = [], []
  n = options.n_best_size
  columns = ("token_char_starts", "token_char_ends", "is_max_context")
  rows = zip(*(windows[name] for name in columns), strict=True)
  for row, (starts, ends, is_max_context) in enumerate(rows):
    start, end = (x[row].astype(float) for x in (start_logits, end_logits))
    nulls.append(start[0] + end[0])
    for s in np.argsort(-start, kind="stable")[:n]:
      for e in np.argsort(-end, kind="stable")[:n]:
        # A blank, as byte pairs have it, neither starts nor ends an answer.
        fits = is_max_context[s] and ends[s] > starts[s] and ends[e] > starts[e]
        if fits and s <= e < s + options.max_answer_length:
          span = context[starts[s] : ends[e]], starts[s], ends[e]
          spans.append((*span, start[s] + end[e]))
  best_of = {}
  for span in sorted(spans, key=lambda span: -span[3]):
    best_of.setdefault(span[0], span)
  best = list(best_of.values())[:n]
  return best, min(nulls) - best[0][3] if best else NO_SPAN_NULL_ODDS


def tokens_in_parts(tokenizer, texts):
  """Returns lists of the ids, starts and ends of texts, 500 texts at a time."""
  parts = [
    [column.to_list() for column in tokenizer(texts[begin : begin + 500])]
    for begin in range(0, len(texts), 500)
  ]
  return [[*itertools.chain(*column)] for column in zip(*parts, strict=True)]
