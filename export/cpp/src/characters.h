// Characters of texts: UTF-8, their kinds, lower case and NFC.

#ifndef BERT_SPAN_CHARACTERS_H_
#define BERT_SPAN_CHARACTERS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bert_span {

// The characters of a text, and the bytes before each and before the end.
struct Characters {
  std::u32string codes;
  std::vector<size_t> bytes;
};

// Reads UTF-8. Each longest part of a character that is not UTF-8 is a U+FFFD.
Characters Decode(std::string_view text);

std::string Encode(std::u32string_view codes);

// Bytes in UTF-8 up to the end of each character.
std::vector<size_t> CharacterEnds(const std::u32string& codes);

// The bits of a character in unicode/unicode_table.h.
unsigned short KindOf(char32_t code);

// White space of any kind.
bool IsWhite(char32_t code);

// A character in lower case: one or two characters.
std::u32string Lowered(char32_t code);

// A character after NFD: one to four characters.
std::u32string Decomposed(char32_t code);

// A character after NFKD: one to eighteen characters.
std::u32string Compatible(char32_t code);

// A text in NFC, and where in the text before it each character comes from.
struct NfcText {
  std::u32string codes;
  // Half-open offsets in characters.
  std::vector<size_t> starts;
  std::vector<size_t> ends;
};

// Normalizes a text by NFC. It is divided into clusters, a character and what
// can combine with it. A character of a cluster that NFC changes comes from the
// whole cluster.
NfcText ToNfc(const std::u32string& codes);

}  // namespace bert_span

#endif  // BERT_SPAN_CHARACTERS_H_
