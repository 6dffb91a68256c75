/** The files that export_tflite packs into a .tflite file, as a ZIP archive. */

const END_OF_ARCHIVE = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const END_LENGTH = 22;
const VOCABULARY = "vocab.txt";
const CONFIG = "span_config.json";

/**
 * A model with all that text and answers need.
 * @typedef {object} TfliteFile
 * @property {Uint8Array} model the FlatBuffer.
 * @property {string[]} vocabulary the index of a token is its id.
 * @property {object} config span_config.json.
 */

/**
 * Reads and checks a file.
 * @param {ArrayBuffer} buffer
 * @return {Promise<TfliteFile>}
 * @throws {Error} the file is damaged, or was not written by export_tflite.
 */
export async function readTfliteFile(buffer) {
  const files = readArchive(new Uint8Array(buffer));
  for (const name of [VOCABULARY, CONFIG]) {
    if (!files.has(name)) {
      throw new Error(`The file has no ${name}: export it with export_tflite.`);
    }
  }
  const text = (name) =>
    new TextDecoder("utf-8", {fatal: true}).decode(files.get(name));
  const config = JSON.parse(text(CONFIG));
  const {model_bytes: size, model_sha256: sha256} = config.tflite;
  const model = new Uint8Array(buffer, 0, size);
  if (await sha256Of(model) !== sha256) {
    throw new Error("The file is damaged: copy or export it again.");
  }
  if (config.head !== "span") throw new Error("A span head is needed.");
  if (config.tflite.with_tokenizer) {  // of bert_span 0.1.0
    throw new Error("The file contains its tokenizer: export it again.");
  }
  if (config.tflite.dynamic_length) {
    throw new Error(
      "LiteRT.js runs windows of one length: export without --dynamic_length.");
  }
  const vocabulary = text(VOCABULARY).replace(/\n$/, "").split("\n");
  return {model, vocabulary, config};
}

/**
 * The stored (not compressed) files of a ZIP archive at the end of some bytes.
 * @param {Uint8Array} bytes
 * @return {Map<string, Uint8Array>}
 */
function readArchive(bytes) {
  const damaged = new Error("The file ends in no archive: export it again.");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length - END_LENGTH;
  if (end < 0 || view.getUint32(end, true) !== END_OF_ARCHIVE) throw damaged;
  const files = new Map();
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  for (let i = 0; i < count; i += 1) {
    if (at + 46 > end || view.getUint32(at, true) !== DIRECTORY_ENTRY) {
      throw damaged;
    }
    const size = view.getUint32(at + 20, true);
    const lengths = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const header = view.getUint32(at + 42, true);
    if (view.getUint16(at + 10, true) !== 0 || header + 30 > end) throw damaged;
    const data = header + 30 + view.getUint16(header + 26, true) +
      view.getUint16(header + 28, true);
    if (data + size > end) throw damaged;
    const name = new TextDecoder().decode(
      bytes.subarray(at + 46, at + 46 + lengths[0]));
    files.set(name, bytes.subarray(data, data + size));
    at += 46 + lengths[0] + lengths[1] + lengths[2];
  }
  return files;
}

async function sha256Of(bytes) {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) =>
    byte.toString(16).padStart(2, "0")).join("");
}
