#include "byte_pair_tokenizer.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "json_values.h"
#include "unicode/unicode_table.h"

namespace bert_span {
namespace {

// The bytes that GPT-2's alphabet shows as they are; the others follow U+0100.
bool IsPrintable(int byte) {
  return (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
}

// The byte of each character of GPT-2's alphabet.
std::unordered_map<char32_t, char> ByteAlphabet() {
  std::unordered_map<char32_t, char> bytes;
  char32_t other = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t code = IsPrintable(byte) ? byte : other++;
    bytes[code] = static_cast<char>(byte);
  }
  return bytes;
}

// What a word consists of, apart from a space before it.
enum class Class { kWhite, kLetter, kNumber, kOther };

Class ClassOf(char32_t code) {
  const unsigned short kind = KindOf(code);
  if (kind & unicode::kLetter) return Class::kLetter;
  if (kind & unicode::kNumber) return Class::kNumber;
  return IsWhite(code) ? Class::kWhite : Class::kOther;
}

// The end of a contraction that begins at a character; the same if none does.
size_t ContractionEnd(std::u32string_view codes, size_t begin) {
  for (const std::u32string_view ending :
       {U"'s", U"'t", U"'re", U"'ve", U"'m", U"'ll", U"'d"}) {
    if (codes.compare(begin, ending.size(), ending) == 0) {
      return begin + ending.size();
    }
  }
  return begin;
}

// The end of the word that begins at a character: 's or another contraction;
// letters, numbers or other characters, with one space before them; or white
// space, but for the last of several characters before a word.
size_t WordEnd(std::u32string_view codes, size_t begin) {
  const size_t contraction = ContractionEnd(codes, begin);
  if (contraction > begin) return contraction;
  const auto end_of_run = [&codes](size_t first) {
    const Class run = ClassOf(codes[first]);
    size_t end = first + 1;
    while (end < codes.size() && ClassOf(codes[end]) == run) ++end;
    return end;
  };
  const size_t end = end_of_run(begin);
  if (ClassOf(codes[begin]) != Class::kWhite || end == codes.size()) return end;
  if (end - begin > 1) return end - 1;
  return codes[begin] == ' ' ? end_of_run(end) : end;
}

}  // namespace

BytePairTokenizer::BytePairTokenizer(const BytePairs& pairs) {
  const auto id_of = [&pairs](const std::string& token) {
    const auto found = pairs.ids.find(token);
    if (found == pairs.ids.end()) {
      throw Error(pairs.file + " has no " + token +
                  ", a byte, the result of a merge or a special token of " +
                  pairs.family + ": export the file again");
    }
    return found->second;
  };
  const auto wrong = [&pairs](const std::string& rule,
                              const std::string& merge) {
    return Error(pairs.merges_name + " must have " + rule + ". Received: " +
                 merge + ". Export the file again");
  };
  const auto alphabet = ByteAlphabet();
  for (const auto& [code, byte] : alphabet) {
    pieces_[{byte}] = {id_of(Encode({&code, 1})), -1};
  }
  int32_t rank = 0;
  for (const std::string& merge : pairs.merges) {
    const size_t space = merge.find(' ');
    if (space == 0 || space >= merge.size() - 1 ||
        merge.find(' ', space + 1) != merge.npos) {
      throw wrong("two tokens with a space between them", merge);
    }
    const std::string token = merge.substr(0, space) + merge.substr(space + 1);
    std::string bytes;
    for (const char32_t code : Decode(token).codes) {
      const auto byte = alphabet.find(code);
      if (byte == alphabet.end()) {
        throw wrong("bytes in the alphabet of GPT-2", merge);
      }
      bytes += byte->second;
    }
    pieces_.emplace(bytes, Piece{id_of(token), rank++});  // Keeps the first.
  }
  for (const AddedToken& token : pairs.added_tokens) {
    added_[token.codes.at(0)].push_back(token);
  }
  for (auto& [first, tokens] : added_) {
    std::stable_sort(tokens.begin(), tokens.end(),
                     [](const AddedToken& a, const AddedToken& b) {
                       return a.codes.size() > b.codes.size();
                     });
  }
  cls_id = id_of(pairs.cls);
  sep_id = id_of(pairs.sep);
  num_separators = pairs.num_separators;
}

Tokens BytePairTokenizer::Tokenize(const std::u32string& codes) const {
  const std::string text = Encode(codes);
  const std::vector<size_t> ends = CharacterEnds(codes);
  const auto byte_of = [&ends](size_t i) { return i > 0 ? ends[i - 1] : 0; };
  Tokens tokens;
  // Adds a token of the bytes from one to another.
  const auto add = [&](int32_t id, size_t byte_start, size_t byte_end) {
    const std::string_view piece =
        std::string_view(text).substr(byte_start, byte_end - byte_start);
    // The characters of the first and of the last byte.
    const size_t first =
        std::upper_bound(ends.begin(), ends.end(), byte_start) - ends.begin();
    size_t char_end =
        std::lower_bound(ends.begin(), ends.end(), byte_end) - ends.begin() + 1;
    const size_t leading = std::min(piece.find_first_not_of(' '), piece.size());
    const size_t trailing = piece.size() - 1 - piece.find_last_not_of(' ');
    const size_t char_start = std::min(first + leading, char_end);
    char_end = std::max(char_end - std::min(trailing, char_end), char_start);
    tokens.ids.push_back(id);
    tokens.char_starts.push_back(char_start);
    tokens.char_ends.push_back(char_end);
  };
  for (size_t begin = 0; begin < codes.size();) {
    const AddedToken* added = nullptr;
    size_t end = begin;  // Of what is before the next added token.
    while (end < codes.size() && !(added = FindAdded(codes, end))) ++end;
    const auto words = std::u32string_view(codes).substr(0, end);
    while (begin < end) {
      const size_t word_end = WordEnd(words, begin);
      const size_t first_byte = byte_of(begin);
      const std::string_view word = std::string_view(text).substr(
          first_byte, byte_of(word_end) - first_byte);
      size_t piece_begin = 0;
      for (const size_t piece_end : PieceEnds(word)) {
        const auto piece = word.substr(piece_begin, piece_end - piece_begin);
        add(Find(piece)->id, first_byte + piece_begin, first_byte + piece_end);
        piece_begin = piece_end;
      }
      begin = word_end;
    }
    if (added != nullptr) {
      begin = end + added->codes.size();
      // Offsets leave out the white space at its ends.
      size_t first = end, last = begin;
      while (first < last && ClassOf(codes[first]) == Class::kWhite) ++first;
      while (first < last && ClassOf(codes[last - 1]) == Class::kWhite) --last;
      tokens.ids.push_back(added->id);
      tokens.char_starts.push_back(first);
      tokens.char_ends.push_back(last);
    }
  }
  return tokens;
}

// The longest added token that begins at a character, or null.
const AddedToken* BytePairTokenizer::FindAdded(
    const std::u32string& codes, size_t begin) const {
  const auto found = added_.find(codes[begin]);
  if (found == added_.end()) return nullptr;
  for (const AddedToken& token : found->second) {
    if (codes.compare(begin, token.codes.size(), token.codes) == 0) {
      return &token;
    }
  }
  return nullptr;
}

const BytePairTokenizer::Piece* BytePairTokenizer::Find(
    std::string_view bytes) const {
  const auto found = pieces_.find(std::string(bytes));
  return found == pieces_.end() ? nullptr : &found->second;
}

// Where the tokens of a word end, in bytes.
std::vector<size_t> BytePairTokenizer::PieceEnds(std::string_view word) const {
  // Of the token that begins at a byte: its end, and where the one before it
  // begins. Bytes within tokens have the end 0.
  std::vector<size_t> ends(word.size()), before(word.size());
  for (size_t i = 0; i < word.size(); ++i) {
    ends[i] = i + 1, before[i] = i - 1;
  }
  // Rank, begin, end. Of equal ranks the first.
  using Merge = std::tuple<int32_t, size_t, size_t>;
  std::priority_queue<Merge, std::vector<Merge>, std::greater<Merge>> merges;
  const auto consider = [&](size_t left) {  // And the token after it.
    const size_t right = ends[left];
    if (right >= word.size()) return;
    const Piece* piece = Find(word.substr(left, ends[right] - left));
    if (piece != nullptr) merges.emplace(piece->rank, left, ends[right]);
  };
  for (size_t i = 0; i + 1 < word.size(); ++i) consider(i);
  while (!merges.empty()) {
    const auto [rank, left, end] = merges.top();
    merges.pop();
    // Another merge may have taken one of the two.
    const size_t right = ends[left];
    if (right == 0 || right >= word.size() || ends[right] != end) continue;
    ends[left] = end, ends[right] = 0;
    if (end < word.size()) before[end] = left;
    if (left > 0) consider(before[left]);
    consider(left);
  }
  std::vector<size_t> found;
  for (size_t i = 0; i < word.size(); i = ends[i]) found.push_back(ends[i]);
  return found;
}

}  // namespace bert_span
