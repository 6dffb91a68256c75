#include "characters.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "unicode/unicode_table.h"

namespace bert_span {
namespace {

constexpr char32_t kReplacementCharacter = 0xFFFD;
// Hangul syllables, which are computed, and their letters. The last letter 0 is
// none.
constexpr char32_t kSyllables = 0xAC00, kNumSyllables = 11172;
constexpr char32_t kFirstLetters = 0x1100, kNumFirst = 19;
constexpr char32_t kVowels = 0x1161, kNumVowels = 21;
constexpr char32_t kLastLetters = 0x11A7, kNumLast = 28;

// What a character is replaced by in a table, or itself.
template <size_t size>
std::u32string Replaced(const unicode::Replacement (&table)[size],
                        char32_t code) {
  const auto* found = std::lower_bound(
      std::begin(table), std::end(table), code,
      [](const unicode::Replacement& replacement, char32_t c) {
        return replacement.from < c;
      });
  std::u32string result;
  for (; found != std::end(table) && found->from == code; ++found) {
    const auto begin = std::begin(found->to), end = std::end(found->to);
    result.append(begin, std::find(begin, end, char32_t{0}));
  }
  if (result.empty()) result = {code};
  return result;
}

// The character that two are composed to; 0 for none.
char32_t Composed(char32_t first, char32_t second) {
  const char32_t first_letter = first - kFirstLetters;
  const char32_t vowel = second - kVowels;
  if (first_letter < kNumFirst && vowel < kNumVowels) {
    return kSyllables + (first_letter * kNumVowels + vowel) * kNumLast;
  }
  const char32_t syllable = first - kSyllables, last = second - kLastLetters;
  if (syllable < kNumSyllables && syllable % kNumLast == 0 && last > 0 &&
      last < kNumLast) {
    return first + last;
  }
  const auto pair = std::tie(first, second);
  const auto* found = std::lower_bound(
      std::begin(unicode::kCompositions), std::end(unicode::kCompositions),
      pair, [](const unicode::Composition& composition, const auto& other) {
        return std::tie(composition.first, composition.second) < other;
      });
  if (found == std::end(unicode::kCompositions) ||
      std::tie(found->first, found->second) != pair) {
    return 0;
  }
  return found->to;
}

// A character and what combines with it, after NFC.
std::u32string NfcOfCluster(std::u32string_view cluster) {
  struct Part {
    char32_t code;
    int order;  // Of its combining class; 0 for what begins a composition.
  };
  std::vector<Part> parts;
  for (const char32_t code : cluster) {
    for (const char32_t part : Decomposed(code)) {
      parts.push_back({part, KindOf(part) / unicode::kOrder});
    }
  }
  const auto begins = [](const Part& part) { return part.order == 0; };
  for (auto begin = parts.begin(); begin != parts.end();) {
    const auto end = std::find_if(begin + 1, parts.end(), begins);
    std::stable_sort(begin + (begins(*begin) ? 1 : 0), end,
                     [](const Part& a, const Part& b) {
                       return a.order < b.order;
                     });
    begin = end;
  }
  std::u32string result;
  size_t start = cluster.npos;  // Of what may be composed.
  int before = 0;  // The order of the last character.
  for (const auto& [code, order] : parts) {
    if (start != cluster.npos &&
        (before < order || result.size() == start + 1)) {
      const char32_t composed = Composed(result[start], code);
      if (composed != 0) {
        result[start] = composed;
        continue;
      }
    }
    if (order == 0) start = result.size();
    before = order;
    result += code;
  }
  return result;
}

}  // namespace

Characters Decode(std::string_view text) {
  Characters characters;
  for (size_t i = 0; i < text.size();) {
    characters.bytes.push_back(i);
    const auto lead = static_cast<unsigned char>(text[i++]);
    char32_t code = lead;
    int more = 0;
    // Bounds of the next byte: no surrogates, no longer form than necessary.
    unsigned char low = 0x80, high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
      code = lead & 0x1F, more = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      code = lead & 0x0F, more = 2;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      code = lead & 0x07, more = 3;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    } else if (lead >= 0x80) {
      code = kReplacementCharacter;
    }
    for (; more > 0; --more) {
      const auto next =
          static_cast<unsigned char>(i < text.size() ? text[i] : 0);
      if (next < low || next > high) {
        code = kReplacementCharacter;
        break;
      }
      code = code << 6 | (next & 0x3F);
      low = 0x80, high = 0xBF;
      ++i;
    }
    characters.codes += code;
  }
  characters.bytes.push_back(text.size());
  return characters;
}

std::string Encode(std::u32string_view codes) {
  std::string text;
  for (const char32_t code : codes) {
    const auto add = [&text](char32_t byte) {
      text += static_cast<char>(byte);
    };
    if (code < 0x80) {
      add(code);
      continue;
    }
    if (code < 0x800) {
      add(0xC0 | code >> 6);
    } else {
      if (code < 0x10000) {
        add(0xE0 | code >> 12);
      } else {
        add(0xF0 | code >> 18);
        add(0x80 | (code >> 12 & 0x3F));
      }
      add(0x80 | (code >> 6 & 0x3F));
    }
    add(0x80 | (code & 0x3F));
  }
  return text;
}

std::vector<size_t> CharacterEnds(const std::u32string& codes) {
  std::vector<size_t> ends;
  size_t bytes = 0;
  for (const char32_t code : codes) {
    bytes += 1 + (code >= 0x80) + (code >= 0x800) + (code >= 0x10000);
    ends.push_back(bytes);
  }
  return ends;
}

unsigned short KindOf(char32_t code) {
  const auto* range = std::upper_bound(
      std::begin(unicode::kRanges), std::end(unicode::kRanges), code,
      [](char32_t c, const unicode::Range& range) { return c < range.first; });
  if (range == std::begin(unicode::kRanges)) return 0;
  --range;
  return code <= range->last ? range->kind : 0;
}

bool IsWhite(char32_t code) {
  return KindOf(code) & unicode::kSpace || code == 0xB || code == 0xC ||
         code == 0x85;
}

std::u32string Lowered(char32_t code) {
  return Replaced(unicode::kLowerCase, code);
}

std::u32string Decomposed(char32_t code) {
  // Unsigned: before 0 comes a huge number.
  const char32_t syllable = code - kSyllables;
  if (syllable < kNumSyllables) {
    const char32_t pair = syllable / kNumLast, last = syllable % kNumLast;
    std::u32string letters = {kFirstLetters + pair / kNumVowels,
                              kVowels + pair % kNumVowels};
    if (last > 0) letters += kLastLetters + last;
    return letters;
  }
  return Replaced(unicode::kDecompositions, code);
}

std::u32string Compatible(char32_t code) {
  const std::u32string parts = Replaced(unicode::kCompatible, code);
  return parts[0] == code ? Decomposed(code) : parts;
}

NfcText ToNfc(const std::u32string& codes) {
  NfcText text;
  for (size_t begin = 0, end = 0; begin < codes.size(); begin = end) {
    ++end;
    while (end < codes.size() && KindOf(codes[end]) & unicode::kCombining) {
      ++end;
    }
    const std::u32string_view cluster(&codes[begin], end - begin);
    const std::u32string changed = NfcOfCluster(cluster);
    const bool is_same = changed == cluster;
    for (size_t i = 0; i < changed.size(); ++i) {
      text.starts.push_back(is_same ? begin + i : begin);
      text.ends.push_back(is_same ? begin + i + 1 : end);
    }
    text.codes += changed;
  }
  return text;
}

}  // namespace bert_span
