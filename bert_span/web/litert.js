/**
 * Compiles .tflite models by LiteRT.js (npm package @litertjs/core).
 *
 * Its module imports @litertjs/wasm-utils by name. Workers have no import maps,
 * so the name is replaced by an address here, and nothing has to be built.
 */

const UTILS = "@litertjs/wasm-utils";

/**
 * Loads the runtime.
 * @param {string} packages address of the folder that holds core/ and
 *     wasm-utils/, as node_modules/@litertjs does; ends with "/".
 * @param {"wasm"|"webgpu"} accelerator WebGPU needs a browser with JSPI, by which
 *     WebAssembly waits for promises.
 * @return {Promise<function(Uint8Array, number):
 *     Promise<import("./span_extractor.js").Runner>>} for SpanExtractor.load.
 */
export async function loadRuntime(packages, accelerator = "wasm") {
  const response = await fetch(`${packages}core/dist/index.js`);
  if (!response.ok) {
    throw new Error(`There is no LiteRT.js at ${packages} (${response.status}).`);
  }
  const source = (await response.text()).replaceAll(
    `"${UTILS}"`, `"${packages}wasm-utils/dist/index.js"`);
  const address = URL.createObjectURL(
    new Blob([source], {type: "text/javascript"}));
  const litert = await import(address);
  URL.revokeObjectURL(address);
  const folder = `${packages}core/wasm/`;
  // Else the WebAssembly is looked for beside the worker.
  self.Module = {locateFile: (name) => folder + name};
  await litert.loadLiteRt(folder, {jspi: accelerator === "webgpu"});
  return (model, length) => compile(litert, model, length, accelerator);
}

async function compile(litert, bytes, length, accelerator) {
  const model = await litert.loadAndCompile(bytes, {accelerator});
  for (const {shape} of model.getInputDetails()) {
    if (shape[1] !== length) {
      throw new Error(`span_config.json: tflite.max_length must be ${shape[1]}, ` +
        `as the model has it. Received: ${length}. Export the file again.`);
    }
  }
  return async (ids, mask, segmentIds) => {
    const shape = [1, ids.length];
    const inputs = {
      ids: new litert.Tensor(ids, shape),
      mask: new litert.Tensor(mask, shape),
      segment_ids: new litert.Tensor(segmentIds, shape),
    };
    const outputs = await model.run(inputs);
    const logits = {};
    for (const [name, tensor] of Object.entries(outputs)) {
      logits[name] = await tensor.data();
    }
    for (const tensor of [...Object.values(inputs), ...Object.values(outputs)]) {
      tensor.delete();
    }
    return logits;
  };
}
