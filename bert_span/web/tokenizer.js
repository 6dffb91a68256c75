/**
 * WordPiece tokens with character offsets, as bert_span.text.tokenizer makes
 * them: the tokens of the original BERT, and places in the text as it was given.
 */

// Characters that vanish: U+0000, U+FFFD, categories Cc and Cf, but not tab,
// newline and carriage return.
const DROPPED =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffd\p{Cf}]/u;
const MARK = /\p{Mn}/gu;
const SPACE = /[\t\n\r\p{Z}]/u;
const PUNCTUATION_OR_CJK = new RegExp(
  "[!-/:-@\\[-`{-~\\p{P}" +
    "\\u{4e00}-\\u{9fff}\\u{3400}-\\u{4dbf}\\u{20000}-\\u{2a6df}" +
    "\\u{2a700}-\\u{2b73f}\\u{2b740}-\\u{2b81f}\\u{2b820}-\\u{2ceaf}" +
    "\\u{f900}-\\u{faff}\\u{2f800}-\\u{2fa1f}]",
  "u",
);
const LONE_SURROGATE =
  /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const UNKNOWN = "[UNK]";
const MAX_WORD_CHARACTERS = 200;

/**
 * Replaces lone surrogates, which UTF-8 cannot hold, by U+FFFD.
 * @param {string} text
 * @return {string} as many UTF-16 units and code points as before.
 */
export function wellFormed(text) {
  return text.replace(LONE_SURROGATE, "\ufffd");
}

/**
 * The tokens of a text.
 * @typedef {object} Tokens
 * @property {number[]} ids vocabulary ids.
 * @property {number[]} starts code points before each token.
 * @property {number[]} ends code points up to the end of each token.
 */

/** Splits texts into WordPieces. */
export class WordPieceTokenizer {
  /**
   * @param {string[]} vocabulary the index of a token is its id.
   * @param {boolean} doLowerCase lower-case and strip accents.
   */
  constructor(vocabulary, doLowerCase) {
    this.ids = new Map();
    vocabulary.forEach((token, id) => {
      if (this.ids.has(token)) {
        throw new Error(`vocab.txt has a token twice: ${token}`);
      }
      this.ids.set(token, id);
    });
    for (const token of ["[CLS]", "[SEP]", UNKNOWN]) {
      if (!this.ids.has(token)) {
        throw new Error(`vocab.txt has no ${token}: use that of a BERT model.`);
      }
    }
    this.clsId = this.ids.get("[CLS]");
    this.sepId = this.ids.get("[SEP]");
    this.unknownId = this.ids.get(UNKNOWN);
    this.doLowerCase = doLowerCase;
    /** @type {Map<string, string>} a character to what is left of it. */
    this.normalized = new Map();
    this.maxTokenLength =
      vocabulary.reduce((most, token) => Math.max(most, token.length), 0);
  }

  /**
   * @param {string} text lone surrogates count as U+FFFD.
   * @return {Tokens}
   */
  tokenize(text) {
    const tokens = {ids: [], starts: [], ends: []};
    const characters = this.characters_(text);
    const isMark = characters.map(
      (c) => this.normalize_(c) === "" && !DROPPED.test(c));
    let word = {parts: [], origins: []};
    const finish = () => {
      this.addWord_(word, isMark, tokens);
      word = {parts: [], origins: []};
    };
    characters.forEach((character, index) => {
      for (const part of this.normalize_(character)) {
        const isSpace = SPACE.test(part);
        const isWord = PUNCTUATION_OR_CJK.test(part);
        if (isSpace || isWord) finish();
        if (isSpace) continue;
        word.parts.push(part);
        word.origins.push(index);
        if (isWord) finish();
      }
    });
    finish();
    return tokens;
  }

  /** The code points of a text, lower-cased where the model wants it. */
  characters_(text) {
    text = wellFormed(text);
    if (this.doLowerCase) {
      // In one go, for a final sigma depends on its neighbours. U+0130 alone
      // would become two code points.
      text = text.replaceAll("\u0130", "i").toLowerCase();
    }
    return Array.from(text);
  }

  /** What the tokenizer sees of a character; "" where it vanishes. */
  normalize_(character) {
    let kept = this.normalized.get(character);
    if (kept === undefined) {
      kept = DROPPED.test(character) ? "" : character;
      if (this.doLowerCase) kept = kept.normalize("NFD").replace(MARK, "");
      this.normalized.set(character, kept);
    }
    return kept;
  }

  /**
   * Adds the tokens of a word.
   * @param {{parts: string[], origins: number[]}} word its normalized code
   *     points and the character that each comes from.
   * @param {boolean[]} isMark accents, which belong to the letter before them.
   * @param {Tokens} tokens what is added to.
   */
  addWord_({parts, origins}, isMark, tokens) {
    for (const {id, first, end} of this.pieces_(parts)) {
      let stop = origins[end - 1] + 1;
      while (isMark[stop]) stop += 1;
      tokens.ids.push(id);
      tokens.starts.push(origins[first]);
      tokens.ends.push(stop);
    }
  }

  /** The longest tokens from the left of a word, or [UNK] for all of it. */
  pieces_(parts) {
    const unknown = {id: this.unknownId, first: 0, end: parts.length};
    if (parts.length > MAX_WORD_CHARACTERS) return [unknown];
    const pieces = [];
    for (let first = 0; first < parts.length; first = pieces.at(-1).end) {
      const piece = this.longest_(parts, first);
      if (!piece) return [unknown];
      pieces.push(piece);
    }
    return pieces;
  }

  /** The longest token that begins at a code point of a word, or null. */
  longest_(parts, first) {
    const prefix = first ? "##" : "";
    let end = Math.min(parts.length, first + this.maxTokenLength);
    for (; end > first; end -= 1) {
      const id = this.ids.get(prefix + parts.slice(first, end).join(""));
      if (id !== undefined) return {id, first, end};
    }
    return null;
  }
}
