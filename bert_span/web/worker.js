/**
 * Answers in the background, so that the page never freezes. A classic worker:
 * LiteRT.js loads its WebAssembly by importScripts, which module workers lack.
 *
 * In:  {load: {buffer, packages, accelerator}}, {ask: {id, question, context}},
 *      {stop: id}
 * Out: {loaded: config}, {progress: {id, done, total}}, {answered: {id, answer}},
 *      {failed: {id, message}}; id is null for a failure to load.
 */

"use strict";

/** @type {Promise<import("./span_extractor.js").SpanExtractor>} */
let extractor;
/** @type {Map<number, AbortController>} */
const asked = new Map();

addEventListener("message", async ({data}) => {
  if (data.load) await load(data.load);
  if (data.ask) await ask(data.ask);
  if (data.stop !== undefined) asked.get(data.stop)?.abort();
});

async function load({buffer, packages, accelerator}) {
  try {
    extractor = (async () => {
      const {SpanExtractor} = await import("./span_extractor.js");
      const {loadRuntime} = await import("./litert.js");
      return SpanExtractor.load(
        buffer, await loadRuntime(packages, accelerator));
    })();
    postMessage({loaded: (await extractor).config});
  } catch (error) {
    postMessage({failed: {id: null, message: error.message}});
  }
}

async function ask({id, question, context}) {
  const controller = new AbortController();
  asked.set(id, controller);
  try {
    const answer = await (await extractor).answer(question, context, {
      signal: controller.signal,
      onProgress: (done, total) => {
        postMessage({progress: {id, done, total}});
        // Lets {stop} in: a model that runs on the processor leaves no gap.
        return new Promise((resolve) => setTimeout(resolve));
      },
    });
    postMessage({answered: {id, answer}});
  } catch (error) {
    postMessage({failed: {id, message: error.message}});
  } finally {
    asked.delete(id);
  }
}
