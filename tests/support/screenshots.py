"""Writes the pictures of docs/: the pages of serve, in headless Chromium.

With `python -m bert_span.serve --model=minilm_squad` and, on port 8502,
`python -m bert_span.serve --web --tflite=qa.tflite --port=8502` running:

  PYTHONPATH=tests/support python tests/support/screenshots.py
"""

import argparse
import pathlib
import tempfile

from browser import open_browser
from PIL import Image

_FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "images"
_WIDTHS = {"desktop": 1280, "phone": 375}


def main():
  """Asks each page the first example, at each width and in each scheme."""
  parser = argparse.ArgumentParser()
  parser.add_argument("--server", default="http://127.0.0.1:8501/")
  parser.add_argument("--web", default="http://127.0.0.1:8502/")
  parser.add_argument("--output", type=pathlib.Path, default=_FOLDER)
  arguments = parser.parse_args()
  arguments.output.mkdir(parents=True, exist_ok=True)
  with (
    tempfile.TemporaryDirectory() as profile,
    open_browser(profile) as browser,
  ):
    for page in ("server", "web"):
      for screen, width in _WIDTHS.items():
        for scheme in ("light", "dark"):
          browser.open(getattr(arguments, page), width, dark=scheme == "dark")
          browser.wait_for("!document.getElementById('examples').hidden")
          browser.run("document.querySelector('#topics button').click()")
          browser.wait_for("document.getElementById('waiting').hidden")
          browser.run("scrollTo(0, 0)")
          path = arguments.output / f"{page}_{screen}_{scheme}.png"
          browser.screenshot(path)
          # A palette: less than half the bytes.
          Image.open(path).quantize(128).save(path, optimize=True)


if __name__ == "__main__":
  main()
