"""Writes the screenshots of docs/images, in headless Chromium.

A page is taken if its address is given:

  python -m bert_span.serve --model=minilm_squad
  python -m bert_span.serve --web --tflite=qa.tflite --port=8502
  tensorboard --logdir=OUTPUT_DIR --port=6006
  python -m docs.take_screenshots \
    --server=http://127.0.0.1:8501/ --web=http://127.0.0.1:8502/ \
    --report=file:///tmp/report.html \
    --tensorboard='http://127.0.0.1:6006/?tagFilter=loss%7Clearning_rate'
"""

import argparse
import pathlib
import tempfile
import time

from PIL import Image

from tests.support.servers import open_browser

_FOLDER = pathlib.Path(__file__).parent / "images"
_WIDTHS = {"desktop": 1280, "phone": 375}
_HEIGHTS = {"report": 1600, "tensorboard": 620}  # pixels; the rest is cut off
_MAX_BYTES = 200_000


def main():
  """Takes the pages whose addresses are given."""
  parser = argparse.ArgumentParser()
  pages = {
    "server": _ask_example,
    "web": _ask_example,
    "report": None,
    "tensorboard": _open_charts,
  }
  for page in pages:
    parser.add_argument(f"--{page}", help=f"address of the page of {page}")
  parser.add_argument("--output", type=pathlib.Path, default=_FOLDER)
  arguments = parser.parse_args()
  with (
    tempfile.TemporaryDirectory() as profile,
    open_browser(profile) as browser,
  ):
    for page, prepare in pages.items():
      address = getattr(arguments, page)
      if address is None:
        continue
      for name, width, is_dark in _views(page):
        browser.open(address, width, dark=is_dark)
        if prepare:
          prepare(browser)
        path = arguments.output / f"{name}.png"
        browser.screenshot(path)
        _shrink(path, _HEIGHTS.get(page))


def _views(page):
  """Yields file name, width and color scheme of each picture of a page."""
  if page == "tensorboard":
    yield page, 1280, False
    return
  for screen, width in _WIDTHS.items():
    for scheme in ("light", "dark"):
      if page != "report" or scheme == "light":
        yield f"{page}_{screen}_{scheme}", width, scheme == "dark"


def _ask_example(browser):
  browser.wait_for("!document.getElementById('examples').hidden")
  browser.run(
    "[...document.querySelectorAll('#topics button')]"
    ".find((topic) => topic.textContent.trim() === 'Lighthouse').click()"
  )
  browser.wait_for("document.getElementById('waiting').hidden")
  browser.run("scrollTo(0, 0)")


def _open_charts(browser):
  """Waits until TensorBoard has drawn two curves."""
  browser.wait_for("document.querySelectorAll('scalar-card svg').length > 1")
  time.sleep(5)  # They grow.


def _shrink(path, max_height):
  """Cuts a picture to a height, if any, and writes it with a palette."""
  picture = Image.open(path)
  height = min(picture.height, max_height or picture.height)
  picture = picture.crop((0, 0, picture.width, height))
  picture.quantize(128).save(path, optimize=True)
  if path.stat().st_size > _MAX_BYTES:
    raise ValueError(f"{path} has {path.stat().st_size} bytes, over 200 kB.")


if __name__ == "__main__":
  main()
