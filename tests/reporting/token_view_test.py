"""Tokens with their probabilities."""

import html
import re

import numpy as np
from report_samples import HOSTILE

from bert_span.reporting.token_probabilities import WindowProbabilities
from bert_span.reporting.token_view import token_view


def _window(offsets, start, end, number=0):
  char_starts, char_ends = np.array(offsets).T
  return WindowProbabilities(
    number,
    char_starts,
    char_ends,
    np.array(start, np.float64),
    np.array(end, np.float64),
    0.25,
    0.125,
    3.5 - number,
  )


def _texts_of_tokens(view):
  (tokens,) = re.findall(r'<p class="tokens" dir="auto">(.*?)</p>', view)
  return html.unescape(re.sub(r"<[^>]*>", "", tokens))


def test_probable_tokens_have_bars_and_the_text_is_whole():
  context = "Ada  came."
  view = token_view(
    context, [_window([(0, 3), (5, 9), (9, 10)], [0.5, 0, 0.001], [0.25, 0, 0])]
  )
  assert _texts_of_tokens(view) == context
  assert view.count('class="token"') == 1
  assert 'title="start 50.0 %, end 25.0 %"' in view
  assert '<i class="start" style="height:50%">' in view
  assert '<i class="end" style="height:25%">' in view


def test_the_table_has_the_most_probable_tokens_and_no_answer():
  view = token_view(
    "Ada came.", [_window([(0, 3), (4, 8)], [0.125, 0.25], [0.0, 0.5])]
  )
  assert re.findall(r'<th scope="row" dir="auto">(.*?)</th>', view) == [
    "[CLS] (no answer)",
    "came",
    "Ada",
  ]
  assert re.findall(r'data-value="([\d.]+)"', view)[:2] == ["25.0", "12.5"]


def test_tokens_that_share_a_character_show_it_once():
  # "½" gives 1, ⁄ and 2, all of that character.
  view = token_view(
    "a ½ b", [_window([(0, 1), *[(2, 3)] * 3, (4, 5)], *[[0.5] * 5] * 2)]
  )
  assert _texts_of_tokens(view) == "a ½ b"


def test_few_windows_are_shown_and_the_others_counted():
  windows = [_window([(0, 3)], [0.5], [0.5], n) for n in range(1_200)]
  view = token_view("Ada", windows)
  assert view.count("<details") == 3
  assert view.count("<details open") == 1
  assert "Window 1 of 1,200: best start + end logit 3.50" in view
  assert "1,197 windows with lower scores are not shown" in view


def test_a_passage_without_tokens_is_said_to_be_so():
  assert "has no token" in token_view(" ", [])


def test_hostile_tokens_are_texts():
  window = _window([(0, len(HOSTILE))], [0.5], [0.5])
  view = token_view(HOSTILE, [window])
  assert not re.search(r"<(script|img)", view)
  assert _texts_of_tokens(view) == HOSTILE
