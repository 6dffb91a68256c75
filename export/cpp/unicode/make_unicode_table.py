"""Writes unicode_table.h: every character as the package's tokenizer reads it.

  python export/cpp/unicode/make_unicode_table.py

The table is not made of Unicode's files, but by asking the tokenizer about each
code point: so both agree whatever Unicode versions TensorFlow was built with.
"""

import itertools
import pathlib
import unicodedata

import tensorflow as tf
import tensorflow_text as tf_text

from bert_span.text.added_tokens import WHITE_SPACE
from bert_span.text.modernbert_tokenizer import COMBINING
from bert_span.text.tokenizer import WordPieceTokenizer

_PATH = pathlib.Path(__file__).with_name("unicode_table.h")
_SURROGATES = range(0xD800, 0xE000)
_CODES = [code for code in range(0x110000) if code not in _SURROGATES]
_BATCH = 100_000
# The bits of a range, which unicode_table.h explains.
_SPACE, _BREAK, _DROPPED, _MARK, _CASED, _IGNORABLE, _LETTER, _NUMBER = (
  1 << i for i in range(8)
)
_COMBINES, _ANY_MARK, _ORDER = 1 << 8, 1 << 9, 1 << 10
# White space that is dropped by WordPieces.
_DROPPED_SPACES = {0xB, 0xC, 0x85}
# Syllables and their letters are computed, they fill 11,172 lines otherwise.
_SYLLABLES = range(0xAC00, 0xD7A4)
_LONGEST = 4  # Characters of a row.
_HEADER = """\
// Written by make_unicode_table.py: do not edit.
//
// Every character as bert_span.text reads it with TensorFlow {tensorflow} and
// tensorflow-text {text}. They lower-case by Unicode 13 (ICU) and know the
// categories of Unicode 15 (RE2).

#ifndef BERT_SPAN_UNICODE_TABLE_H_
#define BERT_SPAN_UNICODE_TABLE_H_

namespace bert_span {{
namespace unicode {{

enum Kind : unsigned short {{
  kSpace = {_SPACE},  // Separates words.
  kBreak = {_BREAK},  // Is a word: punctuation and CJK ideographs.
  kDropped = {_DROPPED},  // Vanishes: control and format characters.
  kMark = {_MARK},  // Vanishes where text is lower-cased: accents.
  kCased = {_CASED},  // Decides on the small sigma after it or before it.
  kCaseIgnorable = {_IGNORABLE},  // Is passed over in that decision.
  kLetter = {_LETTER},  // What byte pairs make words of.
  kNumber = {_NUMBER},
  kCombining = {_COMBINES},  // NFC may join it to the character before it.
  kAnyMark = {_ANY_MARK},  // Of Unicode's category M.
  kOrder = {_ORDER},  // Times the place of its combining class, from 0.
}};

struct Range {{
  char32_t first;
  char32_t last;
  unsigned short kind;
}};

// Ascending; characters in no range have no kind.
constexpr Range kRanges[] = {{
{ranges}
}};

struct Replacement {{
  char32_t from;
  char32_t to[{_LONGEST}];  // Ends with 0 if it is shorter.
}};

// Lower case of the characters that it changes, ascending. Longer replacements
// have several rows.
constexpr Replacement kLowerCase[] = {{
{lower}
}};

// NFD of the characters that it changes. Hangul syllables are missing, they are
// computed.
constexpr Replacement kDecompositions[] = {{
{decompositions}
}};

// NFKD where it is not NFD.
constexpr Replacement kCompatible[] = {{
{compatible}
}};

struct Composition {{
  char32_t first;
  char32_t second;
  char32_t to;
}};

// The characters that NFC joins, ascending; without the syllables.
constexpr Composition kCompositions[] = {{
{compositions}
}};

}}  // namespace unicode
}}  // namespace bert_span

#endif  // BERT_SPAN_UNICODE_TABLE_H_
"""


def main():
  """Asks the tokenizer about all characters and writes the header."""
  vocabulary = ["[UNK]", "[CLS]", "[SEP]", "a", "##a"]
  uncased, cased = (WordPieceTokenizer(vocabulary, c) for c in (True, False))
  folded, is_mark = _normalized(uncased, "{}")
  # A capital sigma becomes the final one after a cased character, and cases
  # ignore what is ignorable.
  after, _ = _normalized(uncased, "{}Σ")
  after_cased, _ = _normalized(uncased, "a{}Σ")
  is_letter, is_number, is_any_mark, is_white, combines = (
    _matches(group)
    for group in (r"\p{L}", r"\p{N}", r"\p{M}", f"[{WHITE_SPACE}]", COMBINING)
  )
  orders = _orders([*itertools.compress(map(chr, _CODES), combines)])
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
      | _COMBINES * combines[i]
      | _ANY_MARK * is_any_mark[i]
      | _ORDER * orders.get(chr(_CODES[i]), 0)
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
  decomposed = _normal_forms("NFD")
  for syllable in _SYLLABLES:
    assert decomposed[syllable] == _letters(syllable), hex(syllable)
  lower = _lower_case()
  marks = {chr(code) for code in itertools.compress(_CODES, is_mark)}
  for code, text, kind in zip(_CODES, folded, kinds, strict=True):
    parts = (part for c in lower[code] for part in decomposed[ord(c)])
    is_kept = chr(code) not in marks and not kind & _DROPPED
    expected = "".join(part for part in parts if part not in marks)
    assert not is_kept or text == expected, hex(code)
  compatible = {
    code: text
    for code, text in _normal_forms("NFKD").items()
    if text != decomposed[code]
  }
  composed = _normal_forms("NFC")
  pairs = {}
  for code, parts in decomposed.items():
    is_changed = parts != chr(code) == composed[code]
    if is_changed and code not in _SYLLABLES:
      (first,) = _normalize([parts[:-1]], "NFC")
      pairs[ord(first), ord(parts[-1])] = code
  joined = _normalize([chr(a) + chr(b) for a, b in pairs], "NFC")
  assert joined == [chr(code) for code in pairs.values()]
  _PATH.write_text(
    _HEADER.format(
      **globals(),
      tensorflow=tf.__version__,
      text=tf_text.__version__,
      ranges="\n".join(ranges),
      lower=_rows(lower),
      decompositions=_rows(decomposed),
      compatible=_rows(compatible),
      compositions="\n".join(
        f"  {{0x{first:X}, 0x{second:X}, 0x{code:X}}},"
        for (first, second), code in sorted(pairs.items())
      ),
    )
  )


def _rows(replacements):
  """The rows of what characters are replaced by, those that stay left out."""
  changed = {
    code: [f"0x{ord(character):X}" for character in to]
    for code, to in replacements.items()
    if to != chr(code) and code not in _SYLLABLES
  }
  return "\n".join(
    f"  {{0x{code:X}, {{{', '.join(to[begin : begin + _LONGEST])}}}}},"
    for code, to in changed.items()
    for begin in range(0, len(to), _LONGEST)
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


def _lower_case():
  """Each code point and its lower case."""
  lowered = (tf.strings.lower(b, "utf-8") for b in _batches("{}"))
  texts = (text.decode() for batch in lowered for text in batch.numpy())
  return dict(zip(_CODES, texts, strict=True)) | {0: "\0"}  # The op drops it.


def _normal_forms(name):
  """Each code point and its NFC or NFD, the name of a normal form."""
  characters = map(chr, _CODES)
  return dict(zip(_CODES, _normalize(characters, name), strict=True))


def _normalize(texts, name):
  texts = [text.encode() for text in texts]
  return [text.decode() for text in tf_text.normalize_utf8(texts, name).numpy()]


def _orders(characters):
  """The place of each character's combining class, from 1; 0 of class 0.

  NFD exchanges two characters if the class of the first one is higher, and
  neither is 0.
  """
  orders = {
    character: 0
    for character, nfd in zip(
      characters, _normalize(characters, "NFD"), strict=True
    )
    if character == nfd
  }
  first = {}  # The first character of each class.
  for code in _CODES:
    first.setdefault(unicodedata.combining(chr(code)), chr(code))
  _, *first = (character for _, character in sorted(first.items()))
  higher = [("{0}{1}", other, order) for order, other in enumerate(first, 2)]
  for template, other, order in (("{1}{0}", first[-1], 1), *higher):
    texts = [template.format(character, other) for character in orders]
    for character, text, nfd in zip(
      orders, texts, _normalize(texts, "NFD"), strict=True
    ):
      if text != nfd:
        orders[character] = order
  return orders


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
