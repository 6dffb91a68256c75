"""Writes unicode_table.h: every character as the package's tokenizer reads it.

  python export/cpp/unicode/make_unicode_table.py

The table is not made of Unicode's files, but by asking the tokenizer about each
code point: so both agree whatever Unicode versions TensorFlow was built with.
"""

import itertools
import pathlib

import tensorflow as tf
import tensorflow_text as tf_text

from bert_span.text.tokenizer import WHITE_SPACE, WordPieceTokenizer

_PATH = pathlib.Path(__file__).with_name("unicode_table.h")
_SURROGATES = range(0xD800, 0xE000)
_CODES = [code for code in range(0x110000) if code not in _SURROGATES]
_BATCH = 100_000
# The bits of a range, which unicode_table.h explains.
_SPACE, _BREAK, _DROPPED, _MARK, _CASED, _IGNORABLE, _LETTER, _NUMBER = (
  1 << i for i in range(8)
)
# White space that is dropped by WordPieces.
_DROPPED_SPACES = {0xB, 0xC, 0x85}
# Syllables and their letters are computed, they fill 11,172 lines otherwise.
_SYLLABLES = range(0xAC00, 0xD7A4)
_HEADER = """\
// Written by make_unicode_table.py: do not edit.
//
// Every character as bert_span.text.tokenizer reads it with TensorFlow
// {tensorflow} and tensorflow-text {text}. They lower-case by Unicode 13 (ICU)
// and know the categories of Unicode 15 (RE2).

#ifndef BERT_SPAN_UNICODE_TABLE_H_
#define BERT_SPAN_UNICODE_TABLE_H_

namespace bert_span {{
namespace unicode {{

enum Kind : unsigned char {{
  kSpace = {_SPACE},  // Separates words.
  kBreak = {_BREAK},  // Is a word: punctuation and CJK ideographs.
  kDropped = {_DROPPED},  // Vanishes: control and format characters.
  kMark = {_MARK},  // Vanishes where text is lower-cased: accents.
  kCased = {_CASED},  // Decides on the small sigma after it or before it.
  kCaseIgnorable = {_IGNORABLE},  // Is passed over in that decision.
  kLetter = {_LETTER},  // What byte pairs make words of.
  kNumber = {_NUMBER},
}};

struct Range {{
  char32_t first;
  char32_t last;
  unsigned char kind;
}};

// Ascending; characters in no range have no kind.
constexpr Range kRanges[] = {{
{ranges}
}};

struct Replacement {{
  char32_t from;
  char32_t to[{longest}];  // Ends with 0 if it is shorter.
}};

// Lower case without accents, of the characters that change and do not vanish;
// ascending. Hangul syllables are missing: they fall into their letters.
constexpr Replacement kReplacements[] = {{
{replacements}
}};

}}  // namespace unicode
}}  // namespace bert_span

#endif  // BERT_SPAN_UNICODE_TABLE_H_
"""


def main():
  """Asks the tokenizer about all characters and writes the header."""
  vocabulary = ["[UNK]", "[CLS]", "[SEP]", "a", "##a"]
  uncased, cased = (WordPieceTokenizer(vocabulary, c) for c in (True, False))
  lower, is_mark = _normalized(uncased, "{}")
  # A capital sigma becomes the final one after a cased character, and cases
  # ignore what is ignorable.
  after, _ = _normalized(uncased, "{}Σ")
  after_cased, _ = _normalized(uncased, "a{}Σ")
  is_letter, is_number, is_white = (
    _matches(group) for group in (r"\p{L}", r"\p{N}", f"[{WHITE_SPACE}]")
  )
  kinds = []
  for i, kind in enumerate(_word_kinds(cased)):
    is_cased = after[i].endswith("ς")
    is_ignorable = after_cased[i].endswith("ς") and not is_cased
    kinds.append(
      kind
      | _MARK * is_mark[i]
      | _CASED * is_cased
      | _IGNORABLE * is_ignorable
      | _LETTER * is_letter[i]
      | _NUMBER * is_number[i]
    )
    is_space = kind == _SPACE or _CODES[i] in _DROPPED_SPACES
    assert is_white[i] == is_space, hex(_CODES[i])
  ranges = []
  # A range ends at the surrogates, too: code - index changes there.
  for (kind, _), group in itertools.groupby(
    range(len(_CODES)), key=lambda i: (kinds[i], _CODES[i] - i)
  ):
    indices = list(group)
    if kind:
      first, last = _CODES[indices[0]], _CODES[indices[-1]]
      ranges.append(f"  {{0x{first:X}, 0x{last:X}, {kind}}},")
  replacements = {
    code: lower[i]
    for i, code in enumerate(_CODES)
    if lower[i] not in ("", chr(code)) and code not in _SYLLABLES
  }
  longest = max(map(len, replacements.values()))
  for syllable in _SYLLABLES:
    assert lower[syllable] == _letters(syllable), hex(syllable)
  rows = (
    f"  {{0x{code:X}, {{{', '.join(f'0x{ord(c):X}' for c in to)}}}}},"
    for code, to in replacements.items()
  )
  _PATH.write_text(
    _HEADER.format(
      **globals(),
      tensorflow=tf.__version__,
      text=tf_text.__version__,
      ranges="\n".join(ranges),
      longest=longest,
      replacements="\n".join(rows),
    )
  )


def _normalized(tokenizer, template):
  """Each code point within a template: its normalized text, whether a mark."""
  texts, marks = [], []
  for batch in _batches(template):
    found = tokenizer.normalized_characters(batch)
    joined = tf.strings.reduce_join(
      tf.RaggedTensor.from_row_splits(found.normalized, found.row_splits), -1
    )
    texts += [text.decode("utf-8") for text in joined.numpy()]
    marks += tf.gather(found.is_mark, found.row_splits[:-1]).numpy().tolist()
  return texts, marks


def _word_kinds(tokenizer):
  """What each code point does between two letters: a kind, or 0 for a letter.

  The vocabulary knows "a" and "##a": "a.a" is a, [UNK], a; "a a" is a, a;
  "aa" is a, ##a; and "aba" is [UNK].
  """
  kinds = {(0,): 0, (3, 0, 3): _BREAK, (3, 3): _SPACE, (3, 4): _DROPPED}
  kinds[3, 4, 4] = 0  # the letter itself
  for batch in _batches("a{}a"):
    for ids in tokenizer(batch).ids.to_list():
      yield kinds[tuple(ids)]


def _matches(pattern):
  """Whether each code point is of a class of RE2's."""
  found = (tf.strings.regex_full_match(b, pattern) for b in _batches("{}"))
  return [matches for batch in found for matches in batch.numpy().tolist()]


def _batches(template):
  for begin in range(0, len(_CODES), _BATCH):
    batch = (chr(code) for code in _CODES[begin : begin + _BATCH])
    yield tf.constant([template.format(c).encode() for c in batch])


def _letters(syllable):
  """The two or three letters of a Hangul syllable, as Unicode composes them."""
  index = syllable - _SYLLABLES.start
  last = index % 28
  letters = chr(0x1100 + index // 588) + chr(0x1161 + index % 588 // 28)
  return letters + (chr(0x11A7 + last) if last else "")


if __name__ == "__main__":
  main()
