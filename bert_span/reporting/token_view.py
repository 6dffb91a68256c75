"""The probabilities of a question's tokens, drawn above its words."""

import numpy as np

from bert_span.reporting.markup import Column, escaped, note, sortable_table

_NUM_WINDOWS = 3
_NUM_TOKENS = 10  # in the table of the most probable ones
_LEAST_SHOWN = 0.005  # of a probability that is drawn
_COLUMNS = (
  Column("Token"),
  Column("Character", is_number=True),
  Column("Start", is_number=True, is_percent=True),
  Column("End", is_number=True, is_percent=True),
)


def token_view(context, windows):
  """The best windows of a question, token by token.

  Args:
    context: the passage.
    windows: list of `WindowProbabilities`, the best first.

  Returns:
    str of HTML: of the first windows a table of the most probable tokens, and
    the text with a bar for the start and one for the end above each token.
  """
  if not windows:
    return note("The passage has no token, so the model reads nothing of it.")
  parts = [
    _window(context, window, len(windows), is_open=index == 0)
    for index, window in enumerate(windows[:_NUM_WINDOWS])
  ]
  if len(windows) > _NUM_WINDOWS:
    parts.append(
      note(
        f"{len(windows) - _NUM_WINDOWS:,} windows with lower scores are not "
        "shown."
      )
    )
  return "\n".join(parts)


def _window(context, window, num_windows, is_open):
  return (
    f"<details{' open' if is_open else ''}><summary>Window "
    f"{window.number + 1} of {num_windows:,}: best start + end logit "
    f"{window.score:.2f}</summary>\n"
    f"{_token_table(context, window)}\n"
    f'<p class="tokens" dir="auto">{_tokens(context, window)}</p>\n</details>'
  )


def _token_table(context, window):
  highest = np.maximum(window.start, window.end)
  order = np.argsort(-highest, kind="stable")[:_NUM_TOKENS]
  rows = [
    [
      "[CLS] (no answer)",
      None,
      100.0 * window.null_start,
      100.0 * window.null_end,
    ]
  ]
  rows += [
    [
      context[window.char_starts[i] : window.char_ends[i]],
      int(window.char_starts[i]),
      100.0 * float(window.start[i]),
      100.0 * float(window.end[i]),
    ]
    for i in order
  ]
  return sortable_table(
    f"Most probable starts and ends, in percent of window {window.number + 1}",
    _COLUMNS,
    rows,
  )


def _tokens(context, window):
  """The text of the window with what stands between its tokens."""
  parts, reached = [], int(window.char_starts[0])
  for i, (start, end) in enumerate(
    zip(window.char_starts, window.char_ends, strict=True)
  ):
    parts.append(escaped(context[reached:start]))
    # Several tokens may share a character, as "½" gives "1/2".
    text = context[max(start, reached) : end]
    parts.append(_token(text, float(window.start[i]), float(window.end[i])))
    reached = max(reached, int(end))
  return "".join(parts)


def _token(text, start, end):
  if max(start, end) < _LEAST_SHOWN:
    return escaped(text)
  bars = "".join(
    f'<i class="{name}" style="height:{100 * value:.0f}%"></i>'
    for name, value in (("start", start), ("end", end))
  )
  label = f"start {100 * start:.1f} %, end {100 * end:.1f} %"
  return (
    f'<span class="token" title="{label}"><span class="bars">{bars}</span>'
    f"{escaped(text)}</span>"
  )
