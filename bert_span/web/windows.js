/**
 * Overlapping windows of a passage, as bert_span.text.windows cuts them.
 *
 * With windows of 10, a stride of 2 and a question of two tokens there is room
 * for 5 tokens t0 .. t7 of the passage:
 *
 *     [CLS] q0 q1 [SEP] t0 t1 t2 t3 t4 [SEP]
 *     [CLS] q0 q1 [SEP] t2 t3 t4 t5 t6 [SEP]
 *     [CLS] q0 q1 [SEP] t4 t5 t6 t7 [SEP]
 */

const SPECIAL_TOKENS = 3;

/**
 * @typedef {object} Window
 * @property {number} first token of the passage that it begins with.
 * @property {number} length tokens of the passage that it holds.
 * @property {number} offset position of the first of them.
 * @property {number[]} ids [CLS] question [SEP] passage [SEP].
 * @property {boolean[]} isMaxContext whether an answer may begin at each of the
 *     passage's tokens in it: only where the window shows most of the
 *     surroundings of the token.
 */

/**
 * Cuts a passage.
 * @param {number[]} questionIds
 * @param {number[]} contextIds
 * @param {{max_seq_length: number, doc_stride: number,
 *     max_query_length: number}} options
 * @param {number} clsId
 * @param {number} sepId
 * @return {Window[]} none for a passage without tokens.
 */
export function makeWindows(questionIds, contextIds, options, clsId, sepId) {
  const question = questionIds.slice(0, options.max_query_length);
  const room = options.max_seq_length - question.length - SPECIAL_TOKENS;
  const step = Math.min(room, options.doc_stride);
  const windows = [];
  for (let first = 0; first < contextIds.length; first += step) {
    const length = Math.min(room, contextIds.length - first);
    const part = contextIds.slice(first, first + length);
    windows.push({
      first,
      length,
      offset: question.length + 2,
      ids: [clsId, ...question, sepId, ...part, sepId],
      isMaxContext: [],
    });
    if (first + length === contextIds.length) break;
  }
  windows.forEach((window, i) => {
    const [before, after] = [windows[i - 1], windows[i + 1]];
    for (let k = 0; k < window.length; k += 1) {
      const token = window.first + k;
      const score = contextScore(window, token);
      // The first window wins a tie.
      window.isMaxContext.push(
        !(before && contextScore(before, token) >= score) &&
        !(after && contextScore(after, token) > score));
    }
  });
  return windows;
}

/** How much of a token's surroundings a window shows. */
function contextScore(window, token) {
  const left = token - window.first;
  const least = Math.min(left, window.length - left - 1);
  return least < 0 ? -Infinity : least + 0.01 * window.length;
}
