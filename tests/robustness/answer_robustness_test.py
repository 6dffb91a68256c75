"""Answers about texts that nobody would think of."""

import functools

import hypothesis
import pytest
from hypothesis import strategies as st
from tiny_extractor import QUESTION, tiny_extractor
from unicode_texts import REPRODUCIBLE, questions_and_contexts

from bert_span.text.options import WindowOptions

pytestmark = pytest.mark.large  # Traces two extractors.

# (version_2, window_options, fixed_length, do_lower_case)
_CASES = (
  (False, WindowOptions(32, 8, 8), False, True),
  (True, WindowOptions(16, 100, 4), True, False),
)
_extractor = functools.cache(tiny_extractor)


def _check(answer, context):
  assert answer.text == context[answer.char_start : answer.char_end]
  assert 0 <= answer.char_start <= answer.char_end <= len(context)
  assert 0.0 <= answer.probability <= 1.0


@hypothesis.settings(REPRODUCIBLE, max_examples=12)
@hypothesis.given(
  case=st.sampled_from(_CASES), pairs=questions_and_contexts(max_size=12)
)
def test_answers_are_characters_of_any_passage(case, pairs):
  questions, contexts = zip(*pairs, strict=True)
  extractor = _extractor(*case)
  answers = extractor.answer(list(questions), list(contexts), n_best=20)
  for context, entries in zip(contexts, answers, strict=True):
    for entry in entries:
      _check(entry, context)
    # One null entry at most, and only where there may be one.
    num_empty = sum(not entry.text for entry in entries)
    assert num_empty <= 1
    assert case[0] or not num_empty or len(entries) == 1


@pytest.mark.parametrize("case", _CASES)
def test_very_long_words_and_questions_are_answered(case):
  contexts = [
    f"The {5000 * 'a'} was built",
    5000 * "é" + " " + 5000 * "\u0301",
    1000 * "👩\u200d👩\u200d👧\u200d👦",
    5000 * "\u202f" + "1895",
  ]
  questions = [QUESTION, 5000 * "é", 3000 * "the mill ", 5000 * "\ud83d"]
  answers = _extractor(*case).answer(questions, contexts)
  for answer, context in zip(answers, contexts, strict=True):
    _check(answer, context)


def test_a_passage_of_one_character_is_its_own_answer():
  for context in ("日", "é", "🙂", "1"):
    answer = _extractor(*_CASES[0]).answer(QUESTION, context)
    assert (answer.text, answer.char_start, answer.char_end) == (context, 0, 1)
