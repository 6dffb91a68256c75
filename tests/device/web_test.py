"""The JavaScript of bert_span/web gives what `TFLiteSpanExtractor` gives."""

import contextlib
import json
import shutil
import subprocess
import threading
import time

import pytest
import uvicorn
from conftest import SCORE_TOLERANCE, hostile_texts

from bert_span.serving import local_server
from bert_span.tflite import file as tflite_file

_TOKENIZE = """
import fs from "fs";
import {WordPieceTokenizer} from "%s";
const {vocabulary, texts} = JSON.parse(fs.readFileSync(process.argv[1]));
const rows = [true, false].map((lower) => {
  const tokenizer = new WordPieceTokenizer(vocabulary, lower);
  return texts.map((text) => {
    const {ids, starts, ends} = tokenizer.tokenize(text);
    return [ids, starts, ends];
  });
});
process.stdout.write(JSON.stringify(rows));
"""
_ASK = """(async () => {
  const results = [];
  for (const [question, context] of %s) {
    const begin = performance.now();
    asked += 1;
    const answer = await new Promise((resolve, reject) => {
      settle = {resolve, reject};
      worker.postMessage({ask: {id: asked, question, context}});
    });
    results.push([answer, performance.now() - begin]);
  }
  return results;
})()"""


@pytest.mark.large
def test_tokens_are_those_of_python(
  repository, real_texts, device_files, tokens_of, tmp_path
):
  node = shutil.which("node")
  if not node:
    pytest.skip("needs node")
  module = repository / "bert_span" / "web" / "tokenizer.js"
  texts = real_texts + hostile_texts()
  vocabulary = tflite_file.read_vocabulary(device_files["uncased"].path)
  given = tmp_path / "texts.json"
  given.write_text(json.dumps({"vocabulary": vocabulary, "texts": texts}))
  run = subprocess.run(
    [node, "--input-type=module", "-e", _TOKENIZE % module.as_uri(), given],
    capture_output=True,
    check=True,
  )
  for do_lower_case, rows in zip(
    (True, False), json.loads(run.stdout), strict=True
  ):
    expected = tokens_of(texts, do_lower_case)
    differ = [
      text
      for text, row, other in zip(texts, rows, expected, strict=True)
      if row != other
    ]
    assert not differ


@contextlib.contextmanager
def _running(app):
  """Runs an application in a thread; gives its address."""
  server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
  thread = threading.Thread(target=server.run)
  thread.start()
  try:
    while not server.started:
      time.sleep(0.02)
    host, port = server.servers[0].sockets[0].getsockname()
    yield f"http://{host}:{port}/"
  finally:
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def litert(repository):
  """The folder of LiteRT.js, or a skip."""
  folder = repository / "node_modules" / "@litertjs"
  if not folder.is_dir():
    pytest.skip("needs LiteRT.js: npm install @litertjs/core")
  return folder


@pytest.mark.large
@pytest.mark.parametrize("name", ["minilm", "uncased", "cased", "temperature"])
def test_answers_are_those_of_python(
  browser, litert, device_files, expected_answers, name
):
  path, examples = device_files[name]
  asked = [(example.question, example.context) for example in examples]
  with _running(local_server.file_app(path, litert)) as address:
    browser.open(f"{address}file.html?accelerator=wasm")
    browser.run("ready")
    milliseconds = 0.0
    for row, prediction in zip(
      asked, expected_answers[name].predictions, strict=True
    ):
      ((answer, spent),) = browser.run(_ASK % json.dumps([row]))
      milliseconds += spent
      _check(answer, prediction)
  print(
    f"{name}: {milliseconds / len(asked):.1f} ms a question in Chromium, "
    f"{expected_answers[name].ms_per_question:.1f} ms in Python"
  )


def _check(answer, prediction):
  best = answer["answer"]
  found = (best["charStart"], best["charEnd"])
  assert found == (prediction.char_start, prediction.char_end)
  assert (best["start"] <= best["end"]) and answer["isAnswerable"] == bool(
    prediction.text
  )
  for value, expected in (
    (best["score"], prediction.score),
    (best["probability"], prediction.probability),
    (answer["nullOdds"], prediction.null_odds),
  ):
    assert value == pytest.approx(expected, abs=SCORE_TOLERANCE)
  assert len(answer["nBest"]) == len(prediction.n_best)
  for one, other in zip(answer["nBest"], prediction.n_best, strict=True):
    assert one["score"] == pytest.approx(other.score, abs=SCORE_TOLERANCE)
