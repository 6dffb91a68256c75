"""The page and modules of bert_span/web give what TFLiteSpanExtractor gives."""

import base64
import contextlib
import json
import pathlib
import re
import shutil
import subprocess

import pytest

from bert_span.serving import local_server
from bert_span.storage.files import encodable
from bert_span.tflite import file as tflite_file
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor
from tests.support.models import (
  BYTE_PAIRS,
  MODERNBERT_PAIRS,
  exported_tflite,
  tiny_pieces,
  with_files_of,
  with_wrong_values,
)
from tests.support.servers import find_browser, open_browser, running_app
from tests.support.squad import assert_answer

pytestmark = pytest.mark.large
_LOAD_TOKENIZERS = """(async () => {
  const {WordPieceTokenizer} = await import("%s/tokenizer.js");
  const [uncased, cased] =
    [true, false].map((lower) => new WordPieceTokenizer(%s, lower));
  globalThis.tokenizers = {uncased, cased, broken: uncased};
})()"""
_READ_FILE = """(async () => {
  const {readTfliteFile} = await import("%s/tflite_file.js");
  const bytes = Uint8Array.from(atob("%s"), (c) => c.charCodeAt(0));
  const read = readTfliteFile(bytes.buffer);
  return read.then(() => null, (error) => error.message);
})()"""
_TOKENIZE = """%s.map((text) => {
  if (typeof text !== "string") {
    const decoder = new TextDecoder("utf-8", {ignoreBOM: true});
    text = decoder.decode(Uint8Array.from(text));
  }
  const {ids, starts, ends} = tokenizers.%s.tokenize(text);
  return [ids, starts, ends];
})"""
_REFUSED = """
import {SpanExtractor} from "./span_extractor.js";
const extractor = new SpanExtractor(["[UNK]", "[CLS]", "[SEP]"], {}, null);
for (const texts of [[null, ""], [undefined, ""], ["", null], [3, ["a"]]]) {
  await extractor.answer(...texts).catch((error) => console.log(`${error}`));
}
"""
_ADAPTER = """(async () => {
  const adapter = await navigator.gpu?.requestAdapter();
  return adapter && `${adapter.info.vendor} ${adapter.info.architecture}`;
})()"""
_MEASURE_PAUSES = """(() => {
  const begin = performance.now();
  let last = begin;
  globalThis.longestPause = 0;
  globalThis.seconds = () => (performance.now() - begin) / 1000;
  setInterval(() => {
    const now = performance.now();
    longestPause = Math.max(longestPause, (now - last) / 1000);
    last = now;
  }, 5);
})()"""
_BATCH = 2000


@pytest.fixture(scope="module")
def tokens_in_browser(browser, repository, device_files):
  """A function of JSON, a list of strings and lists of bytes, and a name."""
  path = device_files["uncased"].path
  vocabulary = tflite_file.read_vocabulary(path)
  # Without LiteRT.js: tokens need none.
  with running_app(local_server.file_app(path, repository)) as port:
    address = f"http://127.0.0.1:{port}"
    browser.open(f"{address}/demo.html")
    browser.run(_LOAD_TOKENIZERS % (address, json.dumps(vocabulary)))
    yield lambda texts, name: browser.run(_TOKENIZE % (texts, name))


@pytest.mark.parametrize("name", ["uncased", "cased", "broken"])
def test_tokens_of_all_texts(name, tokens_in_browser, texts, token_rows):
  rows = token_rows(name)
  for begin in range(0, len(texts[name]), _BATCH):
    batch = texts[name][begin : begin + _BATCH]
    tokens = tokens_in_browser(json.dumps(batch, default=list), name)
    pairs = zip(batch, tokens, strict=True)
    assert not [text for text, given in pairs if given != next(rows)]


def test_what_is_no_text_is_refused_by_its_name(repository, tmp_path):
  node = shutil.which("node") or pytest.skip("needs node")
  for path in (repository / "bert_span/web").glob("*.js"):
    shutil.copy(path, tmp_path)
  (tmp_path / "package.json").write_text('{"type": "module"}')
  (tmp_path / "main.js").write_text(_REFUSED)
  run = subprocess.run(
    [node, tmp_path / "main.js"], capture_output=True, text=True, check=True
  )
  assert run.stdout.splitlines() == [
    "TypeError: question must be a string. Received: null",
    "TypeError: question must be a string. Received: undefined",
    "TypeError: context must be a string. Received: null",
    "TypeError: question must be a string. Received: 3",
  ]


@pytest.fixture
def load_error(browser, repository, device_files):
  """A function of a file's bytes: why tflite_file.js refuses it, or None."""
  app = local_server.file_app(device_files["uncased"].path, repository)
  with running_app(app) as port:
    address = f"http://127.0.0.1:{port}"
    browser.open(f"{address}/demo.html")

    def load(content):
      encoded = base64.b64encode(content).decode()
      return browser.run(_READ_FILE % (address, encoded))

    yield load


def test_a_wrong_value_in_the_metadata_is_refused_by_its_name(load_error):
  path, _ = exported_tflite()
  assert load_error(pathlib.Path(path).read_bytes()) is None
  for name, content in with_wrong_values(path):
    message = load_error(content)
    assert message, name
    assert name in message or "tokenizer" in message, (name, message)


def test_a_flipped_bit_in_what_is_packed_is_refused(load_error):
  path, _ = exported_tflite()
  content = pathlib.Path(path).read_bytes()
  size = tflite_file.read_packed_config(path)["tflite"]["model_bytes"]
  for text in (b"[UNK]", b"near", b'"n_best_size"', b'"doc_stride": 8'):
    place = content.index(text, size) + len(text) - 2
    damaged = bytearray(content)
    damaged[place] ^= 1
    assert "damaged" in load_error(damaged), text


@pytest.mark.parametrize(
  ("vocabulary", "named"),
  [
    (tiny_pieces("xlm-roberta"), "vocabulary.spm"),
    (MODERNBERT_PAIRS, "tokenizer.json"),
    (BYTE_PAIRS, "tflite.merges"),
  ],
  ids=["pieces", "modernbert", "roberta"],
)
def test_other_vocabularies_are_refused_by_name(vocabulary, named, load_error):
  files, about = tflite_file.vocabulary_files(vocabulary)
  path = exported_tflite()[0]
  about = tflite_file.read_packed_config(path)["tflite"] | about
  content = with_files_of(path, tflite=about)
  if named != "tflite.merges":
    content = tflite_file.with_files(content, files)
  assert named in load_error(content)


@pytest.fixture
def open_page(repository, device_files):
  """A function of a browser that shows file.html with a `device_files`."""
  packages = repository / "tests/device/node_modules/@litertjs"
  if not packages.is_dir():
    pytest.skip("needs LiteRT.js: npm install --prefix tests/device")
  with contextlib.ExitStack() as stack:

    def open_file(browser, name, accelerator="wasm"):
      app = local_server.file_app(device_files[name].path, packages)
      port = stack.enter_context(running_app(app))
      page = f"http://127.0.0.1:{port}/file.html?accelerator={accelerator}"
      browser.open(page)
      if accelerator == "webgpu" and not browser.run(_ADAPTER):
        pytest.skip("needs a WebGPU adapter")
      browser.run("ready")

    yield open_file


@pytest.mark.parametrize("name", ["minilm", "uncased", "cased", "temperature"])
def test_answers(name, browser, open_page, device_files, expected_answers):
  open_page(browser, name)
  _assert_answers(browser, device_files[name].examples, expected_answers[name])


def test_answers_by_webgpu(tmp_path, open_page, device_files, expected_answers):
  if not find_browser():
    pytest.skip("needs Chromium")
  with open_browser(tmp_path, gpu="--enable-unsafe-webgpu") as browser:
    open_page(browser, "minilm", "webgpu")
    examples, expected = device_files["minilm"].examples, expected_answers
    _assert_answers(browser, examples[:3], expected["minilm"][:3])


def _assert_answers(browser, examples, predictions):
  """Asks the page and compares."""
  for example, wanted in zip(examples, predictions, strict=True):
    question, context = map(json.dumps, (example.question, example.context))
    given = browser.run(f"askWorker({question}, {context})")
    given = json.loads(json.dumps(given), object_hook=_snake_case)
    given |= given["answer"]
    assert_answer(given, wanted)
    units = encodable(example.context).encode("utf-16-le")
    span = units[2 * given["start"] : 2 * given["end"]]
    assert span.decode("utf-16-le") == given["text"]


def _snake_case(values):
  """A dict with keys like char_start instead of charStart."""
  keys = (re.sub("[A-Z]", r"_\g<0>", key).lower() for key in values)
  return dict(zip(keys, values.values(), strict=True))


def test_a_long_article_is_answered_while_the_page_responds(
  browser, open_page, device_files
):
  contexts = [example.context for example in device_files["uncased"].examples]
  article = "\n".join(dict.fromkeys(contexts))[:60_000]
  question = "What is the incubation period of the virus?"
  wanted = TFLiteSpanExtractor(device_files["minilm"].path).answer(
    question, article
  )
  open_page(browser, "minilm")
  _fill(browser, question, article)
  browser.run(_MEASURE_PAUSES)
  browser.run("byId('ask').click()")
  browser.wait_for("byId('progress').value > 0")
  browser.run("byId('question').focus()")
  browser.type(" Typed while it reads.")
  typed, read, windows = browser.run(
    "[byId('question').value, byId('progress').value, byId('progress').max]"
  )
  assert typed.endswith(" Typed while it reads.")
  assert 0 < read < windows
  browser.wait_for("!byId('result').hidden")
  seconds, pause = browser.run("[seconds(), longestPause]")
  assert browser.run("byId('decision').textContent") == wanted.text
  assert f"characters {wanted.char_start} to {wanted.char_end}" in browser.run(
    "byId('facts').textContent"
  )
  assert browser.run("byId('window-list').children.length") == windows
  assert browser.run("byId('progress').hidden && byId('stop').hidden")
  assert pause < seconds / 5


def test_a_long_article_can_be_stopped(browser, open_page):
  open_page(browser, "minilm")
  _fill(browser, "Who?", "Anna built the mill. " * 3000)
  browser.run("byId('ask').click()")
  browser.wait_for("byId('progress').value > 0")
  browser.run("byId('stop').click()")
  browser.wait_for("!byId('error').hidden")
  assert browser.run("byId('progress').value < byId('progress').max")
  assert not browser.run("byId('ask').disabled")


def test_a_dropped_text_file_becomes_the_passage(browser, open_page, tmp_path):
  open_page(browser, "uncased")
  path = tmp_path / "passage.txt"
  path.write_bytes("\ufeffThe mill 😀\n".encode() + b"caf\xe9")
  _drop(browser, path)
  browser.wait_for("byId('context').value")
  assert browser.run("byId('context').value") == "The mill 😀\ncaf\ufffd"
  with path.open("wb") as file:
    file.truncate(10_000_001)
  _drop(browser, path)
  browser.wait_for("!byId('error').hidden")
  assert "passage.txt" in browser.run("byId('error-text').textContent")


def _fill(browser, question, context):
  browser.run(
    f"byId('question').value = {json.dumps(question)};"
    f"byId('context').value = {json.dumps(context)};"
  )


def _drop(browser, path):
  """Drops a file on the headline: all of the page takes it."""
  data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
  for kind in ("dragEnter", "dragOver", "drop"):
    browser.send("Input.dispatchDragEvent", type=kind, x=40, y=30, data=data)
