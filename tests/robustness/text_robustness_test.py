"""Windows and answers of texts that nobody would think of, and of long ones."""

import functools
import itertools
import json

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies as st

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.data.window_batches import example_arrays
from bert_span.squad.example import AnswerSpan, SquadExample
from bert_span.squad.reader import read_squad
from bert_span.text.options import WindowOptions
from tests.support.models import QUESTION, VOCABULARY, tiny_extractor
from tests.support.programs import succeeds

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

# --- Random texts of every script and every trap.

# The same examples in every run, however slow the machine.
_REPRODUCIBLE = hypothesis.settings(
  derandomize=True,
  deadline=None,
  suppress_health_check=list(hypothesis.HealthCheck),
)

_PIECES = (
  # Words of the tests' vocabulary, and what only looks special.
  *("the", "mill", "mills", "Anna", "1895", "##s", "[UNK]", "[SEP]", "[CLS]"),
  *(".", ",", "?", "…", "’", "¿", "„", "€"),
  # White space that the original splits at, does not, and forgets.
  *(" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u202f", "\u3000", "\u2028"),
  # Combining marks: composed, apart, stacked, without a letter.
  *("é", "e\u0301", "a\u0323\u0302", "\u0301", "\u0345", "ΐ", "ǰ"),
  # Letters whose lower case is longer or depends on neighbours.
  *("İ", "ı", "Σ", "ς", "ΑΣ", "ß", "ẞ", "ŉ", "ﬁ", "½", "²", "Ⅷ", "Ω", "Å"),
  *("日", "本語", "中", "〇", "々", "\U00020000", "。", "ｶﾞ", "が", "か\u3099"),
  *("한글", "각", "\u1100\u1161\u11a8", "ㄱ", "\u115f"),
  *("العربية", "ـ", "لا", "ﷺ", "\u064b", "٣", "فی\u200cها"),
  *("ไทย", "น้ำ", "ำ", "่", "नमस्ते", "क\u094d\u200dष", "שָׁלוֹם", "\ufb2a"),
  # Emoji: joined, flags, skin tones, keycaps, and halves of these.
  *("👩\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "🇩🇪", "🇩", "👍🏽", "🏽"),
  *("1\ufe0f\u20e3", "🙂", "\u200d", "\ufe0f", "\U000e0067"),
  # Control and format characters, byte order marks, what is not assigned.
  *("\x00", "\x01", "\x1b", "\x7f", "\x85", "\u200b", "\u00ad", "\ufeff"),
  *("\u202e", "\ufffd", "\u0378", "\ue000", "\uffff", "\U0010ffff"),
  # Lone surrogates, as JSON escapes give them.
  *("\ud83d", "\ude42", "\udfff\ud800"),
)
_pieces = st.one_of(
  st.sampled_from(_PIECES),
  st.sampled_from(_PIECES),
  # Any character at all: surrogates are excluded unless asked for.
  st.characters(exclude_categories=()),
)
# Words of over 200 characters are one [UNK].
_long_words = st.builds(
  lambda piece, count: piece * count,
  st.sampled_from(
    ("a", "é", "ж", "한", "\u0301", "🙂", "👍🏽", "mill", "\x00")
  ),
  st.sampled_from((199, 200, 201, 5000)),
)


def _texts(max_pieces=25):
  """Strategy of texts, of no character to some thousand."""
  short = st.lists(_pieces, max_size=max_pieces).map("".join)
  with_long_word = st.tuples(short, _long_words, short).map("".join)
  # One in eight: long words cost time.
  return st.integers(0, 7).flatmap(
    lambda number: with_long_word if number == 7 else short
  )


def _questions_and_contexts(max_size):
  """Strategy of batches: lists of (question, context)."""
  return st.lists(
    st.tuples(_texts(max_pieces=8), _texts()), min_size=1, max_size=max_size
  )


# --- Windows.


@functools.cache
def _preprocessor(do_lower_case, options):
  pads = options.max_seq_length == 16
  return SpanPreprocessor(VOCABULARY, do_lower_case, options, pad_to_max=pads)


def _windows_and_tokens(preprocessor, examples):
  """The windows of a batch as arrays, and the tokens of its passages."""
  arrays = example_arrays(examples)
  texts = {name: tf.constant(values) for name, values in arrays.items()}
  windows = preprocessor.windows(texts)
  tokens = preprocessor.tokenizer(texts["context"])
  return {name: value.numpy() for name, value in windows.items()}, tokens


def _check_batch(preprocessor, examples):
  """Returns the windows, once they and the tokens are checked."""
  windows, tokens = _windows_and_tokens(preprocessor, examples)
  longest = preprocessor.options.max_seq_length
  assert windows["token_ids"].shape[1] <= longest
  assert (windows["token_ids"] < len(VOCABULARY)).all()
  for i, example in enumerate(examples):
    starts = tokens.char_starts[i].numpy()
    ends = tokens.char_ends[i].numpy()
    # Tokens follow each other in the text, each with characters.
    assert (starts < ends).all()
    assert (ends[:-1] <= starts[1:]).all()
    assert not len(starts) or starts[0] >= 0
    assert not len(ends) or ends[-1] <= len(example.context)
    rows = windows["example_index"] == i
    is_shown = windows["token_char_starts"][rows] >= 0
    first = windows["context_start"][rows, np.newaxis]
    token = first + np.cumsum(is_shown, axis=1) - 1  # [windows, seq_length]
    for name, offsets in (("starts", starts), ("ends", ends)):
      shown = windows[f"token_char_{name}"][rows][is_shown]
      np.testing.assert_array_equal(shown, offsets[token[is_shown]])
    # Each token is at its best in one window.
    is_best = windows["is_max_context"][rows]
    assert is_shown[is_best].all()
    np.testing.assert_array_equal(token[is_best], np.arange(len(starts)))
  return windows


@pytest.mark.large
@hypothesis.settings(_REPRODUCIBLE, max_examples=48)
@hypothesis.given(
  case=st.sampled_from(_CASES), pairs=_questions_and_contexts(max_size=12)
)
def test_windows_show_every_token_of_any_text(case, pairs):
  examples = [SquadExample("q", *pair) for pair in pairs]
  _check_batch(_preprocessor(*case), examples)


@pytest.mark.parametrize("case", _CASES)
def test_texts_of_a_character_or_none(case):
  short_texts = ["", *"a \x00\u0301\u200d日\ud83dİ", "🇩🇪"]
  pairs = itertools.product(short_texts, repeat=2)
  examples = [SquadExample("q", *pair) for pair in pairs]
  _check_batch(_preprocessor(*case), examples)


@pytest.mark.large
@hypothesis.settings(_REPRODUCIBLE, max_examples=24)
@hypothesis.given(
  case=st.sampled_from(_CASES),
  parts=st.lists(
    st.tuples(_texts(5), _texts(12), _texts(6), _texts(12)),
    min_size=1,
    max_size=8,
  ),
)
def test_any_answer_is_labelled_within_its_window(case, parts):
  examples = [
    SquadExample(
      "q", q, before + text + after, (AnswerSpan(text, len(before)),)
    )
    for q, before, text, after in parts
    if text
  ]
  preprocessor = _preprocessor(*case)
  windows, _ = _windows_and_tokens(preprocessor, examples)
  labels, _ = preprocessor.label(
    example_arrays(examples)["context"],
    preprocessor.label_arrays(examples),
    windows,
  )
  windows |= labels
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


def _check_answers(model, questions, contexts):
  extractor = _extractor(*model)
  answers = extractor.answer(list(questions), list(contexts), n_best=20)
  for context, entries in zip(contexts, answers, strict=True):
    for entry in entries:
      assert entry.text == context[entry.char_start : entry.char_end]
      assert 0 <= entry.char_start <= entry.char_end <= len(context)
      assert 0.0 <= entry.probability <= 1.0
    # One null entry at most, and only where there may be one.
    num_empty = sum(not entry.text for entry in entries)
    assert num_empty <= 1
    assert model[0] or not num_empty or len(entries) == 1


@pytest.mark.large  # Traces two extractors.
@hypothesis.settings(_REPRODUCIBLE, max_examples=12)
@hypothesis.given(
  model=st.sampled_from(_MODELS), pairs=_questions_and_contexts(max_size=12)
)
def test_answers_are_characters_of_any_passage(model, pairs):
  _check_answers(model, *zip(*pairs, strict=True))


@pytest.mark.large
def test_answers_are_characters_of_real_passages(shared_data):
  # Three scripts, and articles of up to 44,551 characters.
  for name in ("xquad_en", "xquad_zh", "xquad_ar", "covidqa_part"):
    examples = read_squad(shared_data / f"{name}.json").examples[::20]
    pairs = [(example.question, example.context) for example in examples]
    _check_answers(_MODELS[0], *zip(*pairs, strict=True))


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
  cases = [f"--case=1,{characters}" for characters in (10_000, 300_000)]
  runs = [succeeds("benchmarks.growth", case) for case in cases]
  short, long = (json.loads(run.stdout) for run in runs)
  assert (short["windows"], long["windows"]) == (77, 2342)
  grown = 1e6 * (long["peak_mb"] - short["before_mb"])  # bytes
  assert grown < 1000 * 300_000
