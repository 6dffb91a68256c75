/** Asks a .tflite file in a worker, see file.html. */

"use strict";

// Of a dropped file: its text is shown whole.
const MOST_BYTES = 10_000_000;

const worker = new Worker("worker.js");
let asked = 0;
let settle = {resolve: () => {}, reject: () => {}};

const loaded = new Promise((resolve, reject) => {
  worker.addEventListener("message", ({data}) => {
    if (data.loaded) resolve(data.loaded);
    if (data.failed?.id === null) reject(new Error(data.failed.message));
    if (data.progress?.id === asked) showProgress(data.progress);
    if (data.answered?.id === asked) settle.resolve(data.answered.answer);
    if (data.failed?.id === asked) {
      settle.reject(new Problem("There is no answer", data.failed.message));
    }
  });
  worker.addEventListener("error", (event) => reject(new Error(event.message)));
});

async function load() {
  const response = await fetch("model.tflite");
  if (!response.ok) throw new Error(`model.tflite: ${response.status}`);
  const buffer = await response.arrayBuffer();
  const packages = new URL("litertjs/", location.href).href;
  const hasGpu =
    "Suspending" in WebAssembly && await navigator.gpu?.requestAdapter();
  const accelerator = query.get("accelerator") ?? (hasGpu ? "webgpu" : "wasm");
  worker.postMessage({load: {buffer, packages, accelerator}}, [buffer]);
  const config = await loaded;
  byId("model").textContent = `The model runs in this page (${accelerator}, ` +
    `windows of ${config.window.max_seq_length} WordPieces). Nothing you ` +
    "type leaves it.";
}

function showProgress({done, total}) {
  byId("progress").max = total;
  byId("progress").value = done;
}

/**
 * @param {string} question
 * @param {string} context
 * @return {Promise<import("./span_extractor.js").Answer>}
 */
function askWorker(question, context) {
  asked += 1;
  return new Promise((resolve, reject) => {
    settle = {resolve, reject};
    worker.postMessage({ask: {id: asked, question, context}});
  });
}

/** Asks the worker; gives its answer as page.js shows it. */
async function askFile(question, context) {
  try {
    await ready;
  } catch (error) {
    throw new Problem("The model cannot be loaded", error.message);
  }
  byId("progress").hidden = false;
  byId("progress").removeAttribute("value");
  byId("stop").hidden = false;
  const answer = await askWorker(question, context);
  return {
    isAnswerable: answer.isAnswerable,
    probability: answer.answer.probability,
    nullOdds: answer.nullOdds,
    questionTruncated: answer.questionTruncated,
    spans: [answer.answer],
    entries: answer.nBest,
    areSpans: false,
    windows: answer.windows,
  };
}

function hideProgress() {
  byId("progress").hidden = true;
  byId("stop").hidden = true;
}

byId("stop").addEventListener("click", () => worker.postMessage({stop: asked}));
for (const kind of ["dragover", "dragleave", "drop"]) {
  addEventListener(kind, (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    byId("context").classList.toggle("dropping", kind === "dragover");
    if (kind === "drop") readFile(event.dataTransfer.files[0]);
  });
}

/** Makes a text file the passage; what is not UTF-8 becomes U+FFFD. */
async function readFile(file) {
  if (file.size > MOST_BYTES) {
    showError(new Problem("This file is too large",
      `${file.name} has ${file.size.toLocaleString()} bytes, more than ` +
      `${MOST_BYTES.toLocaleString()}: drop a part of it.`));
    return;
  }
  byId("context").value = await file.text();
}

const ready = load();
ready.catch((error) => showError(
  new Problem("The model cannot be loaded", error.message)));
startPage(askFile, hideProgress);
