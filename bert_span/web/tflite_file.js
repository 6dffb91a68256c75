/** The files that export_tflite packs into a .tflite file, as a ZIP archive. */

const END_OF_ARCHIVE = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const END_LENGTH = 22;
const VOCABULARY = "vocab.txt";
// SentencePieces, and the byte pairs of ModernBERT.
const OTHER_VOCABULARIES = ["vocabulary.spm", "tokenizer.json"];
const CONFIG = "span_config.json";
const DAMAGED = "The file is damaged: copy or export it again.";
const MAX_WINDOW = 1e6;  // Memory is taken for so many WordPieces.

// What a field of span_config.json must be, in words and as a test.
const isNumber = (value) => Number.isFinite(value);
const NUMBER = ["a number", isNumber];
const isWithin = (value, least, most) =>
  isNumber(value) && value >= least && value <= most;
const BOOLEAN = ["true or false", (value) => typeof value === "boolean"];
const oneOf = (...values) =>
  [values.join(" or "), (value) => values.includes(value)];
const integer = (least, most = 2 ** 31 - 1) => [
  `an integer from ${least} to ${most}`,
  (value) => Number.isInteger(value) && value >= least && value <= most,
];
const FIELDS = {
  "format": oneOf(1),
  "head": oneOf("span"),
  "do_lower_case": BOOLEAN,
  "window.max_seq_length": integer(4, MAX_WINDOW),
  "window.doc_stride": integer(1),
  "window.max_query_length": integer(0),
  "decoder.n_best_size": integer(1, 10_000),
  "decoder.max_answer_length": integer(1),
  "decoder.version_2_with_negative": BOOLEAN,
  "decoder.null_score_diff_threshold": NUMBER,
  "decoder.span_score": oneOf("logit_sum", "mean_probability"),
  "decoder.temperature": ["null or from 0.001 to 1000",
    (value) => value === null || isWithin(value, 0.001, 1000)],
  "decoder.log_odds_shift": [
    "from -500 to 500", (value) => isWithin(value, -500, 500)],
  "tflite.quantization": ["a string", (value) => typeof value === "string"],
  "tflite.max_length": integer(1, MAX_WINDOW),
  "tflite.model_bytes": integer(1),
  "tflite.model_sha256": ["a string", (value) => typeof value === "string"],
  "tflite.vocabulary_sha256":
    ["a string", (value) => typeof value === "string"],
  "tflite.dynamic_length": BOOLEAN,
};

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
  for (const name of OTHER_VOCABULARIES) {
    if (files.has(name)) {
      throw new Error(`The file has ${name}, which the browser cannot read: ` +
        "answer with TFLiteSpanExtractor in Python.");
    }
  }
  for (const name of [VOCABULARY, CONFIG]) {
    if (!files.has(name)) {
      throw new Error(`The file has no ${name}: export it with export_tflite.`);
    }
  }
  const text = (name) =>
    new TextDecoder("utf-8", {fatal: true}).decode(files.get(name));
  const config = parseConfig(text(CONFIG));
  const {
    model_bytes: size,
    model_sha256: sha256,
    vocabulary_sha256: vocabularyHash,
  } = config.tflite;
  const model = new Uint8Array(buffer).subarray(0, size);
  if (await sha256Of(model) !== sha256 ||
      await sha256Of(files.get(VOCABULARY)) !== vocabularyHash) {
    throw new Error(DAMAGED);
  }
  if (config.tflite.dynamic_length) {
    throw new Error(
      "LiteRT.js runs windows of one length: export without --dynamic_length.");
  }
  const vocabulary = text(VOCABULARY).replace(/\n$/, "").split("\n");
  return {model, vocabulary, config};
}

/** The object in span_config.json, each field of it checked. */
function parseConfig(text) {
  let config;
  try {
    config = JSON.parse(text);
  } catch (error) {
    throw new Error(`${CONFIG} is damaged (${error.message}): export it again.`);
  }
  for (const [path, [rule, test]] of Object.entries(FIELDS)) {
    const value = path.split(".").reduce((part, name) => part?.[name], config);
    if (!test(value)) {
      throw new Error(`${CONFIG}: ${path} must be ${rule}. ` +
        `Received: ${JSON.stringify(value)}. Export the file again.`);
    }
  }
  // Merges of byte pairs, and what was not known yet, give other tokens.
  for (const name of Object.keys(config.tflite)) {
    if (!(`tflite.${name}` in FIELDS)) {
      throw new Error(`${CONFIG} has tflite.${name}, which the browser does ` +
        "not know: answer with TFLiteSpanExtractor in Python.");
    }
  }
  const {max_seq_length: length, max_query_length: question} = config.window;
  const longest = config.tflite.max_length;
  if (length <= question + 3 || length > longest) {
    throw new Error(`${CONFIG}: window.max_seq_length must exceed ` +
      `max_query_length + 3 (${question + 3}) and be at most tflite.max_length ` +
      `(${longest}). Received: ${length}. Export the file again.`);
  }
  return config;
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
    const content = bytes.subarray(data, data + size);
    if (crc32Of(content) !== view.getUint32(at + 16, true)) {
      throw new Error(DAMAGED);
    }
    files.set(name, content);
    at += 46 + lengths[0] + lengths[1] + lengths[2];
  }
  return files;
}

function crc32Of(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let i = 0; i < 8; i += 1) crc = crc >>> 1 ^ (crc & 1 && 0xedb88320);
  }
  return ~crc >>> 0;
}

async function sha256Of(bytes) {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) =>
    byte.toString(16).padStart(2, "0")).join("");
}
