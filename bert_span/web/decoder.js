/**
 * Answers from the logits of all windows, as bert_span's SpanDecoder chooses
 * them, which does as run_squad. Sums are in float64, as there.
 */

// null_odds where no span is possible.
const NO_SPAN_NULL_ODDS = 1e6;

/**
 * @typedef {object} Entry
 * @property {number} start token of the passage that it begins with; -1 for "no
 *     answer".
 * @property {number} end the last token, inclusive.
 * @property {number} startLogit
 * @property {number} endLogit
 * @property {number} score
 * @property {number} probability
 */

/**
 * @typedef {object} Decoded
 * @property {boolean} isAnswerable
 * @property {Entry} answer
 * @property {number} nullOdds score of "no answer" less the best span's.
 * @property {Entry[]} nBest best first.
 */

/** Collects windows one by one and decides after the last. */
export class SpanDecoder {
  /**
   * @param {object} options "decoder" of span_config.json.
   * @param {function(number, number): string} textOf the text of the tokens
   *     start..end of the passage: equal texts are listed once.
   */
  constructor(options, textOf) {
    this.options = options;
    this.textOf = textOf;
    /** @type {Entry[]} */
    this.candidates = [];
    /** @type {?Entry} */
    this.null = null;
    this.logSums = [];
  }

  /**
   * Reads the logits of the next window.
   * @param {import("./windows.js").Window} window
   * @param {Float32Array} startLogits a number for each of its ids at least.
   * @param {Float32Array} endLogits
   */
  add(window, startLogits, endLogits) {
    const size = window.ids.length;
    const starts = startLogits.subarray(0, size);
    const ends = endLogits.subarray(0, size);
    if (!starts.every(Number.isFinite) || !ends.every(Number.isFinite)) {
      throw new Error("The model gives numbers that are not finite.");
    }
    const startScores = this.scores_(starts);
    const endScores = this.scores_(ends);
    this.addNull_(starts[0], ends[0], startScores[0] + endScores[0]);
    const last = window.offset + window.length;
    const bestEnds = this.best_(ends).filter(
      (end) => end >= window.offset && end < last);
    for (const start of this.best_(starts)) {
      const token = start - window.offset;
      if (!window.isMaxContext[token]) continue;
      for (const end of bestEnds) {
        const length = end - start + 1;
        if (length < 1 || length > this.options.max_answer_length) continue;
        this.candidates.push({
          start: window.first + token,
          end: window.first + token + length - 1,
          startLogit: starts[start],
          endLogit: ends[end],
          startScore: startScores[start],
          endScore: endScores[end],
          score: startScores[start] + endScores[end],
        });
      }
    }
    if (this.options.temperature !== null) {
      this.logSums.push(this.logSum_(window, starts, ends));
    }
  }

  /** @return {Decoded} */
  decide() {
    const {options} = this;
    // Array.prototype.sort is stable: equal scores keep their order.
    const spans = this.distinct_(
      [...this.candidates].sort((a, b) => b.score - a.score));
    const none = this.null ??
      {start: -1, end: -2, startLogit: 0, endLogit: 0, score: 0};
    let entries = spans;
    if (options.version_2_with_negative) {
      entries = this.withNull_(spans, none);
    } else if (!spans.length) {
      entries = [{start: -1, end: -2, startLogit: 0, endLogit: 0, score: 0}];
    }
    const nullOdds = spans.length ?
      none.score - spans[0].startScore - spans[0].endScore : NO_SPAN_NULL_ODDS;
    const isAnswerable = spans.length > 0 &&
      !(options.version_2_with_negative &&
        nullOdds > options.null_score_diff_threshold);
    const noAnswer = options.version_2_with_negative ? none :
      {...none, score: 0};
    const answer = isAnswerable ? spans[0] : noAnswer;
    const probabilityOf = this.probabilities_(entries, spans, none, answer);
    const withProbability = (entry) =>
      ({...entry, probability: probabilityOf(entry)});
    return {
      isAnswerable,
      answer: withProbability(answer),
      nullOdds,
      nBest: entries.map(withProbability),
    };
  }

  /** What each position adds to the score of a span. */
  scores_(logits) {
    if (this.options.span_score === "logit_sum") return Array.from(logits);
    const highest = Math.max(...logits);
    const powers = Array.from(logits, (x) => Math.exp(x - highest));
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((x) => x / total / 2);
  }

  /** Positions of the highest logits, best first; ties to the lower one. */
  best_(logits) {
    const positions = Array.from(logits.keys());
    positions.sort((a, b) => logits[b] - logits[a]);
    return positions.slice(0, this.options.n_best_size);
  }

  /** Keeps the window in which "no answer" scores lowest, the first of equal. */
  addNull_(startLogit, endLogit, score) {
    if (this.null === null || score < this.null.score) {
      this.null = {start: -1, end: -2, startLogit, endLogit, score};
    }
  }

  /** The best n_best_size entries that differ in text. */
  distinct_(sorted) {
    const seen = new Set();
    const entries = [];
    for (const entry of sorted) {
      if (entries.length === this.options.n_best_size) break;
      const text = this.textOf(entry.start, entry.end);
      if (seen.has(text)) continue;
      seen.add(text);
      entries.push(entry);
    }
    return entries;
  }

  /** Puts "no answer" where its score does, after spans of equal score. */
  withNull_(spans, none) {
    const n = this.options.n_best_size;
    const place = spans.filter((span) => span.score >= none.score).length;
    const entries = [...spans.slice(0, place), none, ...spans.slice(place)];
    return place < n ? entries.slice(0, n) : entries;
  }

  /** A function from an entry to its probability. */
  probabilities_(entries, spans, none, answer) {
    const {temperature, span_score: spanScore} = this.options;
    if (temperature !== null) {
      const isShifted = this.options.version_2_with_negative &&
        spanScore === "logit_sum";
      const nullLogit = none.startLogit + none.endLogit -
        (isShifted ? this.options.null_score_diff_threshold : 0);
      const logZ = logSumExp([nullLogit / temperature, ...this.logSums]);
      const factor = Math.exp(-this.options.log_odds_shift);
      const share = (entry) => {
        const logit = entry.start < 0 ? nullLogit :
          entry.startLogit + entry.endLogit;
        return Math.exp(logit / temperature - logZ);
      };
      // The others share what the answer, with its higher log-odds, leaves.
      const total = share(answer) + (1 - share(answer)) * factor;
      return (entry) => {
        const isAnswer = entry.start === answer.start &&
          entry.end === answer.end;
        return share(entry) * (isAnswer ? 1 : factor) / total;
      };
    }
    if (spanScore === "mean_probability") {
      return (entry) => spans.length ? entry.score : 1;
    }
    const logZ = logSumExp(entries.map((entry) => entry.score));
    return (entry) => Math.exp(entry.score - logZ);
  }

  /** Log of the sum over all spans that begin in a window. */
  logSum_(window, starts, ends) {
    const {temperature, max_answer_length: longest} = this.options;
    const logits = [];
    for (let token = 0; token < window.length; token += 1) {
      if (!window.isMaxContext[token]) continue;
      const start = window.offset + token;
      const stop = Math.min(start + longest, window.offset + window.length);
      const run = Array.from(ends.subarray(start, stop), (x) => x / temperature);
      logits.push(starts[start] / temperature + logSumExp(run));
    }
    return logSumExp(logits);
  }
}

/** Log of the sum of the exponentials; -Infinity of nothing. */
function logSumExp(values) {
  let highest = -Infinity;
  for (const value of values) highest = Math.max(highest, value);
  if (highest === -Infinity) return highest;
  let total = 0;
  for (const value of values) total += Math.exp(value - highest);
  return highest + Math.log(total);
}
