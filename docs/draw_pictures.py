"""Draws the SVG pictures of docs/images: `python docs/draw_pictures.py`."""

import html
import pathlib
import re

_DOCS = pathlib.Path(__file__).parent
_IMAGES = _DOCS / "images"
_PACKAGE = _DOCS.parent / "bert_span"
_TEXT, _QUIET, _LINE = "#1d1f21", "#585e66", "#b9bec5"
_START, _END, _ANSWER = "#0b5fae", "#b04a00", "#ffe98f"
_FONT = 13  # pixels; a character of the font is 0.6 of it wide
_CHARACTER = 0.6 * _FONT

_QUESTION = "Who designed it?"
_PASSAGE = (
  "The tower was finished in 1871. Its designer, Ingrid Halvorsen, had never "
  "seen the island."
)
# The words of each window, and the probabilities of its starts and ends.
_WINDOWS = (
  ((0, 9), {}, {7: 0.2}),
  ((4, 12), {8: 0.9, 7: 0.1}, {9: 0.95}),
  ((8, 14), {8: 0.5, 11: 0.15}, {9: 0.6, 14: 0.2}),
)
_ANSWER_WORDS = (8, 9)


class Picture:
  """An SVG picture on a white ground, for light and dark pages."""

  def __init__(self, width, height, title):
    self._size = (width, height)
    self._parts = [f"<title>{html.escape(title)}</title>"]
    self.box(0, 0, width, height, "#ffffff", radius=8)

  def box(self, x, y, width, height, fill, stroke="none", radius=4):
    """Adds a rectangle."""
    self._parts.append(
      f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
      f'height="{height:.1f}" rx="{radius}" fill="{fill}" stroke="{stroke}"/>'
    )

  def text(
    self,
    x,
    y,
    text,
    color=_TEXT,
    anchor="start",
    family="monospace",
    turned=False,
  ):
    """Adds a line of text at its base line, upwards if turned."""
    width = f' textLength="{len(text) * _CHARACTER:.1f}"'
    if turned:
      width += f' transform="rotate(-90 {x:.1f} {y:.1f})"'
    self._parts.append(
      f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}" '
      f'font-size="{_FONT}" font-family="{family}"'
      f"{width if family == 'monospace' else ''}>{html.escape(text)}</text>"
    )

  def label(self, x, y, text, color=_QUIET, anchor="start"):
    """Adds a line of text in a proportional font."""
    self.text(x, y, text, color, anchor, "system-ui, sans-serif")

  def arrow(self, x, y, end_x, end_y):
    """Adds a horizontal or vertical arrow."""
    down = end_x == x
    tip = (
      f"{x - 4},{end_y - 6} {x + 4},{end_y - 6} {x},{end_y}"
      if down
      else f"{end_x - 6},{y - 4} {end_x - 6},{y + 4} {end_x},{y}"
    )
    self._parts.append(
      f'<path d="M{x},{y} L{end_x},{end_y}" stroke="{_QUIET}"/>'
      f'<polygon points="{tip}" fill="{_QUIET}"/>'
    )

  def write(self, name):
    """Writes the picture to the folder of images."""
    width, height = self._size
    lines = "\n".join(self._parts)
    (_IMAGES / name).write_text(
      f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
      f'height="{height}" viewBox="0 0 {width} {height}">\n{lines}\n</svg>\n',
      "utf-8",
    )


def draw_windows():
  """From a question and a passage over windows to the answer."""
  words = _PASSAGE.split()
  lefts = [len(" ".join([*words[:i], ""])) for i in range(len(words))]
  left = 215

  def span(first, last):
    start = left + lefts[first] * _CHARACTER
    return start, (lefts[last] + len(words[last])) * _CHARACTER + left - start

  picture = Picture(950, 372, "How a question is answered")
  picture.label(16, 34, "question")
  picture.text(left, 34, _QUESTION)
  picture.label(16, 64, "passage")
  picture.text(left, 64, _PASSAGE)
  picture.label(16, 118, "windows overlap; BERT")
  picture.label(16, 136, "reads each one with the")
  picture.label(16, 154, "question: probability of")
  for y, color, what in ((178, _START, "start"), (200, _END, "end")):
    picture.box(16, y - 10, 10, 10, color, radius=0)
    picture.label(32, y, f"{what} of the answer", color)
  for row, ((first, last), starts, ends) in enumerate(_WINDOWS):
    y = 130 + 64 * row
    start, width = span(first, last)
    picture.box(start - 6, y - 46, width + 12, 54, "#f6f6f3", _LINE)
    for word in range(first, last + 1):
      picture.text(left + lefts[word] * _CHARACTER, y, words[word])
    for shares, color, shift in ((starts, _START, -7), (ends, _END, 1)):
      for word, share in shares.items():
        x, word_width = span(word, word)
        height = 26 * share
        picture.box(
          x + word_width / 2 + shift,
          y - 15 - height,
          6,
          height,
          color,
          radius=0,
        )
  y = 340
  x, width = span(*_ANSWER_WORDS)
  width -= _CHARACTER  # without the comma
  picture.arrow(x + width / 2, 270, x + width / 2, y - 22)
  picture.label(16, y, "answer: the best span")
  picture.label(16, y + 18, "over all windows")
  picture.box(x - 4, y - 16, width + 8, 23, _ANSWER)
  picture.text(x, y, "Ingrid Halvorsen")
  start = _PASSAGE.index("Ingrid")
  picture.label(
    x + width + 20, y, f"context[{start}:{start + len('Ingrid Halvorsen')}]"
  )
  picture.write("windows.svg")


def draw_architecture():
  """The rooms that a question passes, and the three storeys."""
  picture = Picture(950, 330, "The three storeys of bert_span")
  storeys = (
    (16, "programs", "run_squad, ask, serve, calibrate, ... and export/"),
    (76, "cli/, jobs/", "flags to options; what each program does"),
  )
  for y, name, what in storeys:
    picture.box(16, y, 918, 44, "#e8f0f8", _LINE)
    picture.text(30, y + 27, name)
    picture.label(190, y + 27, what)
  picture.arrow(475, 60, 475, 76)
  picture.arrow(475, 120, 475, 140)
  picture.box(16, 140, 918, 174, "#f6f6f3", _LINE)
  picture.text(30, 164, "library")
  picture.label(190, 164, "what a question passes, from strings to its answer")
  rooms = (
    ("text/", "WordPieces", "with offsets"),
    ("text/", "overlapping", "windows"),
    ("modeling/", "encoder,", "head: logits"),
    ("answers/", "best spans of", "all windows"),
    ("extractors/", "answer, offsets,", "probability"),
  )
  for number, (room, *lines) in enumerate(rooms):
    x = 30 + 180 * number
    picture.box(x, 180, 150, 78, "#ffffff", _LINE)
    picture.text(x + 12, 202, room)
    for line, text in enumerate(lines):
      picture.label(x + 12, 224 + 18 * line, text)
    if number:
      picture.arrow(x - 30, 219, x, 219)
  picture.label(
    30,
    288,
    "The same graph is in SpanExtractor, the programs, the SavedModel and the "
    "Beam workers. TFLite shares its parts.",
  )
  picture.write("architecture.svg")


def draw_imports():
  """Which room imports which, read from the code; the order is the page's."""
  page = (_DOCS / "architecture.md").read_text("utf-8")
  rooms = re.findall(r"^\| `([a-z_/]+)/` \| ", page, re.M)
  rooms = [room for room in rooms if (_PACKAGE / room).is_dir()]
  imports = {room: _imported_rooms(room, rooms) for room in rooms}
  left, top, cell = 190, 205, 20
  side = cell * len(rooms)
  picture = Picture(left + side + 16, top + side + 16, "Imports between rooms")
  picture.label(
    16, 30, "A point: the room of the row imports that of the column."
  )
  picture.label(16, 48, "Above the diagonal, an arrow that runs back.")
  for row, room in enumerate(rooms):
    y = top + cell * row
    picture.box(16, y, left + side - 16, cell - 2, "#f6f6f3", radius=0)
    picture.text(20, y + 14, f"{room}/")
    picture.text(left + cell * row + 14, top - 8, f"{room}/", turned=True)
    picture.box(left + cell * row, y, cell - 2, cell - 2, _LINE, radius=0)
    for target in sorted(imports[room]):
      x = left + cell * rooms.index(target) + 4
      is_back = rooms.index(target) > row
      picture.box(x, y + 4, 10, 10, _END if is_back else _START, radius=5)
  picture.write("imports.svg")


def _imported_rooms(room, rooms):
  """The rooms that the modules directly in a room import, without itself."""
  found = set()
  for path in (_PACKAGE / room).glob("*.py"):
    for name in re.findall(
      r"^ *(?:from|import) bert_span\.([\w.]+)", path.read_text("utf-8"), re.M
    ):
      inside = name.replace(".", "/") + "/"
      inner = (r for r in rooms if inside.startswith(f"{r}/"))
      found.add(max(inner, key=len, default=room))  # keras_backend.py: no room
  return found - {room}


if __name__ == "__main__":
  draw_windows()
  draw_architecture()
  draw_imports()
