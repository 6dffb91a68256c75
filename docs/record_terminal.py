"""Records a command as an SVG picture that plays.

  python docs/record_terminal.py quickstart make quickstart

Runs `make quickstart` in the checkout and writes images/quickstart.svg: what it
prints, without log lines and the checkout's path, each line at its time; a long
wait lasts a second.
"""

import html
import pathlib
import re
import subprocess
import sys
import time

_DOCS = pathlib.Path(__file__).parent
_COLUMNS, _ROWS = 92, 26  # of the terminal; longer lines are cut
_FONT, _LINE, _MARGIN = 13, 18, 16  # pixels
_SHORTEST, _LONGEST, _END = (
  0.06,
  1.0,
  6.0,
)  # seconds: between lines, and at last
# Notes of make, of pip on this machine, and of TensorFlow.
_HIDDEN = re.compile(r"make\[|WARNING: |INFO: |[IWE]\d{4} ")
_STYLE = """
svg {{ font-family: monospace; font-size: {font}px; fill: #d7dae0 }}
#lines {{ animation: play {seconds:.1f}s step-end infinite; \
transform: translateY({end}px) }}
@media (prefers-reduced-motion: reduce) {{ #lines {{ animation: none }} }}
@keyframes play {{ {frames} }}
"""


def main(name, *command):
  """Runs a command and writes the picture images/NAME.svg."""
  title = " ".join(command)
  lines = [(0.0, f"$ {title}"), *_printed(command)]
  height = _ROWS * _LINE + 2 * _MARGIN
  width = round(_COLUMNS * 0.6 * _FONT) + 2 * _MARGIN
  seconds = lines[-1][0] + _END
  # The last line is at the bottom, and those to come are below the picture.
  shifts = [(_ROWS - n) * _LINE for n in range(1, len(lines) + 1)]
  style = _STYLE.format(
    font=_FONT,
    seconds=seconds,
    end=shifts[-1],
    frames=" ".join(
      f"{100 * at / seconds:.2f}% {{ transform: translateY({shift}px) }}"
      for (at, _), shift in zip(lines, shifts, strict=True)
    ),
  )
  texts = "\n".join(
    f'<text y="{(i + 0.75) * _LINE:.1f}" xml:space="preserve">'
    f"{html.escape(text)}</text>"
    for i, (_, text) in enumerate(lines)
  )
  (_DOCS / "images" / f"{name}.svg").write_text(
    f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
    f'height="{height}" viewBox="0 0 {width} {height}">\n'
    f"<title>{html.escape(title)}</title><style>{style}</style>\n"
    f'<rect width="{width}" height="{height}" rx="8" fill="#1d1f21"/>\n'
    f'<svg x="{_MARGIN}" y="{_MARGIN}" height="{_ROWS * _LINE}">'
    f'<g id="lines">\n{texts}\n</g></svg>\n</svg>\n',
    "utf-8",
  )


def _printed(command):
  """Yields (seconds in the picture, line) of what a command prints."""
  process = subprocess.Popen(
    command,
    cwd=_DOCS.parent,
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    encoding="utf-8",
  )
  shown, last = 0.0, time.monotonic()
  for line in process.stdout:
    if not _HIDDEN.match(line):
      now = time.monotonic()
      shown += min(max(now - last, _SHORTEST), _LONGEST)
      last = now
      line = line.rstrip().replace(f"{_DOCS.parent}/", "")
      yield shown, line[:_COLUMNS]
  if process.wait():
    raise ValueError(f"{' '.join(command)} ended with {process.returncode}.")


if __name__ == "__main__":
  main(*sys.argv[1:])
