#include "tokenizer.h"

#include <algorithm>

#include "json_values.h"
#include "unicode/unicode_table.h"

namespace bert_span {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kFinalSigma = 0x3C2;
constexpr size_t kMaxWordCharacters = 200;

// Whether the capital sigma at a position becomes the one that ends words: a
// cased letter comes before it and none after it, but for ignorable characters.
bool IsFinalSigma(const std::u32string& codes, size_t position) {
  const auto is_cased = [&codes](size_t from, size_t step) {
    // Unsigned: before 0 comes a huge number.
    for (size_t i = from + step; i < codes.size(); i += step) {
      const unsigned short kind = KindOf(codes[i]);
      if (kind & unicode::kCaseIgnorable) continue;
      return (kind & unicode::kCased) != 0;
    }
    return false;
  };
  return is_cased(position, static_cast<size_t>(-1)) && !is_cased(position, 1);
}

}  // namespace

std::unordered_map<std::string, int32_t> ReadVocabulary(
    std::string_view vocabulary) {
  if (!vocabulary.empty() && vocabulary.back() == '\n') {
    vocabulary.remove_suffix(1);
  }
  std::unordered_map<std::string, int32_t> ids;
  for (int32_t id = 0;; ++id) {
    const size_t end = std::min(vocabulary.find('\n'), vocabulary.size());
    const std::string token(vocabulary.substr(0, end));
    if (!ids.emplace(token, id).second) {
      throw Error("vocab.txt has a token twice: " + token);
    }
    if (end == vocabulary.size()) return ids;
    vocabulary.remove_prefix(end + 1);
  }
}

WordPieceTokenizer::WordPieceTokenizer(std::string_view vocabulary,
                                       bool lower_case)
    : ids_(ReadVocabulary(vocabulary)), lower_case_(lower_case) {
  for (const auto& [token, id] : ids_) {
    longest_ = std::max(longest_, token.size());
  }
  const auto special = [this](const std::string& token) {
    const auto found = ids_.find(token);
    if (found == ids_.end()) {
      throw Error("vocab.txt has no " + token +
                  ": a model with BERT's WordPieces is needed");
    }
    return found->second;
  };
  cls_id = special("[CLS]");
  sep_id = special("[SEP]");
  unknown_id_ = special("[UNK]");
}

Tokens WordPieceTokenizer::Tokenize(const std::u32string& codes) const {
  Tokens tokens;
  Word word;
  for (size_t i = 0; i < codes.size(); ++i) {
    const unsigned short kind = KindOf(codes[i]);
    if (kind & unicode::kDropped || IsMark(kind)) continue;
    for (const char32_t part : PartsOf(codes, i)) {
      const unsigned short part_kind = KindOf(part);
      const bool is_word = part_kind & unicode::kBreak;
      if (is_word || part_kind & unicode::kSpace) Finish(codes, word, tokens);
      if (part_kind & unicode::kSpace) continue;
      word.parts += part;
      word.origins.push_back(i);
      if (is_word) Finish(codes, word, tokens);
    }
  }
  Finish(codes, word, tokens);
  return tokens;
}

bool WordPieceTokenizer::IsMark(unsigned short kind) const {
  return lower_case_ && kind & unicode::kMark;
}

bool WordPieceTokenizer::IsAccent(char32_t code) const {
  const unsigned short kind = KindOf(code);
  return IsMark(kind) && !(kind & unicode::kDropped);
}

std::u32string WordPieceTokenizer::PartsOf(const std::u32string& codes,
                                           size_t i) const {
  if (!lower_case_) return {codes[i]};
  if (codes[i] == kCapitalSigma && IsFinalSigma(codes, i)) {
    return {kFinalSigma};
  }
  std::u32string parts;
  for (const char32_t code : Lowered(codes[i])) {
    for (const char32_t part : Decomposed(code)) {
      if (!(KindOf(part) & unicode::kMark)) parts += part;
    }
  }
  return parts;
}

// Adds the WordPieces of a word, and empties it.
void WordPieceTokenizer::Finish(const std::u32string& codes, Word& word,
                                Tokens& tokens) const {
  // Accents that vanished right after a token belong to it.
  const auto add = [&](int32_t id, size_t first, size_t end) {
    size_t char_end = word.origins[end - 1] + 1;
    while (char_end < codes.size() && IsAccent(codes[char_end])) ++char_end;
    tokens.ids.push_back(id);
    tokens.char_starts.push_back(word.origins[first]);
    tokens.char_ends.push_back(char_end);
  };
  const size_t size = word.parts.size();
  std::vector<std::pair<int32_t, size_t>> pieces;  // Id and end.
  size_t first = 0;
  while (first < size && size <= kMaxWordCharacters) {
    const auto piece = LongestPiece(word.parts, first);
    if (piece.second == first) break;
    pieces.push_back(piece);
    first = piece.second;
  }
  if (first < size) {
    add(unknown_id_, 0, size);
  } else {
    first = 0;
    for (const auto& [id, end] : pieces) {
      add(id, first, end);
      first = end;
    }
  }
  word = {};
}

// The id and the end of the longest token that begins at a part of a word; an
// end equal to the beginning if there is none.
std::pair<int32_t, size_t> WordPieceTokenizer::LongestPiece(
    const std::u32string& parts, size_t first) const {
  std::string text = first > 0 ? "##" : "";
  std::vector<size_t> sizes;  // Bytes up to the end of each part.
  for (size_t i = first; i < parts.size() && text.size() <= longest_; ++i) {
    text += Encode({&parts[i], 1});
    sizes.push_back(text.size());
  }
  for (size_t count = sizes.size(); count > 0; --count) {
    text.resize(sizes[count - 1]);
    const auto found = ids_.find(text);
    if (found != ids_.end()) return {found->second, first + count};
  }
  return {unknown_id_, first};
}

}  // namespace bert_span
