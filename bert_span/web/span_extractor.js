/**
 * Answers questions from a .tflite file: tokens, windows, model, decoding, as
 * TFLiteSpanExtractor in Python.
 */

import {SpanDecoder} from "./decoder.js";
import {readTfliteFile} from "./tflite_file.js";
import {WordPieceTokenizer, wellFormed} from "./tokenizer.js";
import {makeWindows} from "./windows.js";

/**
 * A span of the passage, or "no answer".
 * @typedef {object} Span
 * @property {string} text "" for no answer.
 * @property {number} charStart code points before it.
 * @property {number} charEnd code points up to its end.
 * @property {number} start the same in UTF-16 units: context.slice(start, end).
 * @property {number} end
 * @property {number} startLogit
 * @property {number} endLogit
 * @property {number} score
 * @property {number} probability
 */

/**
 * @typedef {object} Answer
 * @property {boolean} isAnswerable
 * @property {Span} answer
 * @property {number} nullOdds score of "no answer" less the best span's.
 * @property {boolean} questionTruncated whether max_query_length cut a question
 *     that was read.
 * @property {Span[]} nBest best first.
 * @property {{charStart: number, charEnd: number, start: number,
 *     end: number}[]} windows what each window held of the passage, counted as
 *     in Span.
 */

/**
 * Runs the model on one window.
 * @callback Runner
 * @param {Int32Array} ids of one length, padded with 0.
 * @param {Int32Array} mask 1 for tokens, 0 for padding.
 * @param {Int32Array} segmentIds 1 for the passage and its [SEP].
 * @return {Promise<{start_logits: Float32Array, end_logits: Float32Array}>}
 */

/** A model with all that it takes to answer. */
export class SpanExtractor {
  /**
   * @param {ArrayBuffer} buffer the .tflite file.
   * @param {function(Uint8Array, number): Promise<Runner>} compile makes a
   *     runner of the model with windows of a length, see litert.js.
   * @return {Promise<SpanExtractor>}
   */
  static async load(buffer, compile) {
    const {model, vocabulary, config} = await readTfliteFile(buffer);
    const run = await compile(model, config.tflite.max_length);
    return new SpanExtractor(vocabulary, config, run);
  }

  /**
   * @param {string[]} vocabulary
   * @param {object} config span_config.json.
   * @param {Runner} run
   */
  constructor(vocabulary, config, run) {
    this.tokenizer = new WordPieceTokenizer(vocabulary, config.do_lower_case);
    this.config = config;
    this.run = run;
  }

  /**
   * @param {string} question
   * @param {string} context the passage, of any length.
   * @param {{onProgress?: function(number, number): (Promise<void>|void),
   *     signal?: AbortSignal}} options onProgress gets the windows that were
   *     read and their number; it is waited for.
   * @return {Promise<Answer>}
   */
  async answer(question, context, {onProgress, signal} = {}) {
    for (const [name, text] of Object.entries({question, context})) {
      if (typeof text !== "string") {
        throw new TypeError(`${name} must be a string. Received: ${text}`);
      }
    }
    context = wellFormed(context);
    const tokens = this.tokenizer.tokenize(context);
    const units = unitOffsets(context);
    const slice = (start, end) => context.slice(units[start], units[end]);
    const {clsId, sepId} = this.tokenizer;
    const questionIds = this.tokenizer.tokenize(question).ids;
    const windows = makeWindows(
      questionIds, tokens.ids, this.config.window, clsId, sepId);
    const decoder = new SpanDecoder(this.config.decoder, (start, end) =>
      slice(tokens.starts[start], tokens.ends[end]));
    for (const [number, window] of windows.entries()) {
      signal?.throwIfAborted();
      const logits = await this.run(...this.inputs_(window));
      decoder.add(window, logits.start_logits, logits.end_logits);
      await onProgress?.(number + 1, windows.length);
    }
    const spanOf = ({start, end, startLogit, endLogit, score, probability}) => {
      const charStart = start < 0 ? 0 : tokens.starts[start];
      const charEnd = start < 0 ? 0 : tokens.ends[end];
      return {
        text: slice(charStart, charEnd),
        charStart,
        charEnd,
        start: units[charStart],
        end: units[charEnd],
        startLogit,
        endLogit,
        score,
        probability,
      };
    };
    const {isAnswerable, answer, nullOdds, nBest} = decoder.decide();
    return {
      isAnswerable,
      answer: spanOf(answer),
      nullOdds,
      questionTruncated: windows.length > 0 &&
        questionIds.length > this.config.window.max_query_length,
      nBest: nBest.map(spanOf),
      windows: windows.map(({first, length}) => {
        const charStart = tokens.starts[first];
        const charEnd = tokens.ends[first + length - 1];
        return {
          charStart, charEnd, start: units[charStart], end: units[charEnd],
        };
      }),
    };
  }

  /** ids, mask and segment ids of a window, padded as the file wants it. */
  inputs_(window) {
    const size = window.ids.length;
    const length = this.config.tflite.max_length;
    const arrays = [0, 1, 2].map(() => new Int32Array(length));
    arrays[0].set(window.ids);
    arrays[1].fill(1, 0, size);
    arrays[2].fill(1, window.offset, size);
    return arrays;
  }
}

/** UTF-16 units before each code point of a text, and before its end. */
function unitOffsets(text) {
  const offsets = [];
  for (let unit = 0; unit < text.length;) {
    offsets.push(unit);
    unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
  }
  offsets.push(text.length);
  return offsets;
}
