"""Windows and answers of texts that nobody would think of, and of long ones."""

import functools
import itertools
import json

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies as st
from programs import succeeds
from tiny_extractor import QUESTION, VOCABULARY, tiny_extractor
from unicode_texts import REPRODUCIBLE, questions_and_contexts, texts

from bert_span.data.window_batches import example_arrays
from bert_span.squad.example import Answer, SquadExample
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor

_OPTIONS = (
  WindowOptions(32, 8, 8),
  WindowOptions(16, 100, 4),  # the stride is longer than a window
  WindowOptions(8, 3, 3),
  WindowOptions(5, 1, 0),  # no question at all
)
_CASES = list(itertools.product((True, False), _OPTIONS))
_SENTENCE = (
  "The mill was built by Anna in 1895, near the river. 日本語のテキスト。 "
  "한글 العربية ไทย e\u0301 İ 👩\u200d👩\u200d👧\u200d👦 🇩🇪\u202f\u200b "
)


@functools.cache
def _preprocessor(do_lower_case, options):
  pads = options.max_seq_length == 16
  return SpanPreprocessor(VOCABULARY, do_lower_case, options, pad_to_max=pads)


def _windows_and_tokens(preprocessor, examples, with_answers=False):
  """The windows of a batch as arrays, and the tokens of its passages."""
  arrays = example_arrays(examples, with_answers)
  texts = {name: tf.constant(values) for name, values in arrays.items()}
  windows = preprocessor(texts)
  tokens = preprocessor.tokenizer(texts["context"])
  return {name: value.numpy() for name, value in windows.items()}, tokens


def _check_windows(windows, rows, starts, ends):
  """The windows `rows` show all tokens, each at its best in one of them."""
  times_best = np.zeros(len(starts), np.int32)
  for row in rows:
    at = np.flatnonzero(windows["token_char_starts"][row] >= 0)
    tokens = windows["context_start"][row] + np.arange(len(at))
    for name, offsets in (("starts", starts), ("ends", ends)):
      shown = windows[f"token_char_{name}"][row, at]
      np.testing.assert_array_equal(shown, offsets[tokens])
    is_best = windows["is_max_context"][row]
    assert is_best.sum() == is_best[at].sum()  # only tokens of the passage
    times_best[tokens] += is_best[at]
  # A token in no window could be the best of none.
  assert (times_best == 1).all()


def _check_batch(preprocessor, examples):
  """Returns the windows, once they and the tokens are checked."""
  windows, tokens = _windows_and_tokens(preprocessor, examples)
  longest = preprocessor.options.max_seq_length
  assert windows["input_ids"].shape[1] <= longest
  assert (windows["input_ids"] < len(VOCABULARY)).all()
  for i, example in enumerate(examples):
    starts = tokens.char_starts[i].numpy()
    ends = tokens.char_ends[i].numpy()
    # Tokens follow each other in the text, each with characters.
    assert (starts < ends).all()
    assert (ends[:-1] <= starts[1:]).all()
    assert not len(starts) or starts[0] >= 0
    assert not len(ends) or ends[-1] <= len(example.context)
    rows = np.flatnonzero(windows["example_index"] == i)
    _check_windows(windows, rows, starts, ends)
  return windows


@hypothesis.settings(REPRODUCIBLE, max_examples=48)
@hypothesis.given(
  case=st.sampled_from(_CASES), pairs=questions_and_contexts(max_size=12)
)
def test_windows_show_every_token_of_any_text(case, pairs):
  examples = [SquadExample("q", *pair) for pair in pairs]
  _check_batch(_preprocessor(*case), examples)


@pytest.mark.parametrize("do_lower_case", [True, False])
def test_words_of_thousands_of_characters_are_one_unknown_token(do_lower_case):
  preprocessor = _preprocessor(do_lower_case, _OPTIONS[0])
  words = [5000 * "a", 5000 * "é", 2500 * "👍🏽", 5000 * "ж", 1667 * "각"]
  examples = [SquadExample("q", "?", f"the {word} mill") for word in words]
  _, tokens = _windows_and_tokens(preprocessor, examples)
  for i, word in enumerate(words):
    assert tokens.char_starts[i].numpy().tolist() == [0, 4, len(word) + 5]
    ends = [3, len(word) + 4, len(word) + 9]
    assert tokens.char_ends[i].numpy().tolist() == ends
    assert tokens.ids[i].numpy()[1] == preprocessor.tokenizer.unknown_id
  _check_batch(preprocessor, examples)


@pytest.mark.parametrize("case", _CASES)
def test_texts_of_a_character_or_none(case):
  short_texts = ["", *"a \x00\u0301\u200d日\ud83dİ", "🇩🇪"]
  pairs = itertools.product(short_texts, repeat=2)
  examples = [SquadExample("q", *pair) for pair in pairs]
  _check_batch(_preprocessor(*case), examples)


@hypothesis.settings(REPRODUCIBLE, max_examples=24)
@hypothesis.given(
  case=st.sampled_from(_CASES),
  parts=st.lists(
    st.tuples(texts(5), texts(12), texts(6), texts(12)), min_size=1, max_size=8
  ),
)
def test_any_answer_is_labelled_within_its_window(case, parts):
  examples = [
    SquadExample("q", q, before + text + after, (Answer(text, len(before)),))
    for q, before, text, after in parts
  ]
  windows, _ = _windows_and_tokens(_preprocessor(*case), examples, True)
  starts, ends = windows["start_positions"], windows["end_positions"]
  labelled = starts > 0
  assert (starts[~labelled] == ends[~labelled]).all()
  assert (starts <= ends).all()
  rows = np.flatnonzero(labelled)
  # Labels are tokens of the passage, and cover some of the answer's words.
  assert (windows["token_char_starts"][rows, starts[rows]] >= 0).all()
  assert (windows["token_char_starts"][rows, ends[rows]] >= 0).all()


# (version_2, window_options, fixed_length, do_lower_case)
_MODELS = (
  (False, WindowOptions(32, 8, 8), False, True),
  (True, WindowOptions(16, 100, 4), True, False),
)
_extractor = functools.cache(tiny_extractor)


def _check_answer(answer, context):
  assert answer.text == context[answer.char_start : answer.char_end]
  assert 0 <= answer.char_start <= answer.char_end <= len(context)
  assert 0.0 <= answer.probability <= 1.0


@pytest.mark.large  # Traces two extractors.
@hypothesis.settings(REPRODUCIBLE, max_examples=12)
@hypothesis.given(
  model=st.sampled_from(_MODELS), pairs=questions_and_contexts(max_size=12)
)
def test_answers_are_characters_of_any_passage(model, pairs):
  questions, contexts = zip(*pairs, strict=True)
  extractor = _extractor(*model)
  answers = extractor.answer(list(questions), list(contexts), n_best=20)
  for context, entries in zip(contexts, answers, strict=True):
    for entry in entries:
      _check_answer(entry, context)
    # One null entry at most, and only where there may be one.
    num_empty = sum(not entry.text for entry in entries)
    assert num_empty <= 1
    assert model[0] or not num_empty or len(entries) == 1


@pytest.mark.large
@pytest.mark.parametrize("model", _MODELS)
def test_very_long_words_and_questions_are_answered(model):
  contexts = [
    f"The {5000 * 'a'} was built",
    5000 * "é" + " " + 5000 * "\u0301",
    1000 * "👩\u200d👩\u200d👧\u200d👦",
    5000 * "\u202f" + "1895",
  ]
  questions = [QUESTION, 5000 * "é", 3000 * "the mill ", 5000 * "\ud83d"]
  answers = _extractor(*model).answer(questions, contexts)
  for answer, context in zip(answers, contexts, strict=True):
    _check_answer(answer, context)


@pytest.mark.large
def test_a_passage_of_one_character_is_its_own_answer():
  for context in ("日", "é", "🙂", "1"):
    answer = _extractor(*_MODELS[0]).answer(QUESTION, context)
    assert (answer.text, answer.char_start, answer.char_end) == (context, 0, 1)


@pytest.mark.large
def test_windows_of_a_million_characters_show_every_token():
  million = 1_000_000
  context = (_SENTENCE * (million // len(_SENTENCE) + 1))[:million]
  example = SquadExample("q", "Who built it?", context)
  windows = _check_batch(SpanPreprocessor(VOCABULARY), [example])
  assert windows["is_max_context"].sum() > million / 4  # once a token


@pytest.mark.large
def test_memory_grows_by_less_than_1_kb_a_character():
  result = succeeds(
    "benchmarks.long_document_memory", "--characters=10000,300000"
  )
  short, long = map(json.loads, result.stdout.splitlines())
  assert (short["windows"], long["windows"]) == (77, 2342)
  grown = 1e6 * (long["peak_mb"] - short["peak_mb"])  # bytes
  assert grown < 1000 * 300_000
