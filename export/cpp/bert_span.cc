#include "bert_span.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <locale>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "unicode_table.h"

// The part of LiteRT's C API that is used below, version 2.3. Its library is in
// the wheel ai-edge-litert, its headers are in no package.
extern "C" {
typedef int LiteRtStatus;  // 0 for success.
typedef struct LiteRtEnvironmentT* LiteRtEnvironment;
typedef struct LiteRtModelT* LiteRtModel;
typedef struct LiteRtSignatureT* LiteRtSignature;
typedef struct LiteRtOptionsT* LiteRtOptions;
typedef struct LiteRtOpaqueOptionsT* LiteRtOpaqueOptions;
typedef struct LiteRtCompiledModelT* LiteRtCompiledModel;
typedef struct LiteRtTensorBufferT* LiteRtTensorBuffer;

typedef struct {
  int tag;
  struct {
    int type;
    int64_t value;
  } value;
} LiteRtEnvOption;
typedef struct {
  unsigned int rank : 7;
  unsigned int has_strides : 1;
  int32_t dimensions[8];
  uint32_t strides[8];
} LiteRtLayout;
typedef struct {
  int element_type;
  LiteRtLayout layout;
} LiteRtRankedTensorType;

LiteRtStatus LiteRtCreateEnvironment(int, const LiteRtEnvOption*,
                                     LiteRtEnvironment*);
void LiteRtDestroyEnvironment(LiteRtEnvironment);
LiteRtStatus LiteRtCreateModelFromBuffer(LiteRtEnvironment, const void*, size_t,
                                         LiteRtModel*);
void LiteRtDestroyModel(LiteRtModel);
LiteRtStatus LiteRtGetModelSignature(LiteRtModel, size_t, LiteRtSignature*);
LiteRtStatus LiteRtGetNumSignatureInputs(LiteRtSignature, size_t*);
LiteRtStatus LiteRtGetNumSignatureOutputs(LiteRtSignature, size_t*);
LiteRtStatus LiteRtGetSignatureInputName(LiteRtSignature, size_t, const char**);
LiteRtStatus LiteRtGetSignatureOutputName(LiteRtSignature, size_t,
                                          const char**);
LiteRtStatus LiteRtCreateOptions(LiteRtOptions*);
void LiteRtDestroyOptions(LiteRtOptions);
LiteRtStatus LiteRtSetOptionsHardwareAccelerators(LiteRtOptions, int);
LiteRtStatus LiteRtCreateOpaqueOptions(const char*, void*, void (*)(void*),
                                       LiteRtOpaqueOptions*);
LiteRtStatus LiteRtAddOpaqueOptions(LiteRtOptions, LiteRtOpaqueOptions);
LiteRtStatus LiteRtCreateCompiledModel(LiteRtEnvironment, LiteRtModel,
                                       LiteRtOptions, LiteRtCompiledModel*);
void LiteRtDestroyCompiledModel(LiteRtCompiledModel);
LiteRtStatus LiteRtCompiledModelResizeInputTensor(LiteRtCompiledModel, size_t,
                                                  size_t, const int*, size_t);
LiteRtStatus LiteRtGetCompiledModelInputTensorLayout(LiteRtCompiledModel, size_t,
                                                     size_t, LiteRtLayout*);
LiteRtStatus LiteRtGetCompiledModelOutputTensorLayouts(LiteRtCompiledModel,
                                                       size_t, size_t,
                                                       LiteRtLayout*, bool);
LiteRtStatus LiteRtRunCompiledModel(LiteRtCompiledModel, size_t, size_t,
                                    LiteRtTensorBuffer*, size_t,
                                    LiteRtTensorBuffer*);
LiteRtStatus LiteRtCreateManagedTensorBuffer(LiteRtEnvironment, int,
                                             const LiteRtRankedTensorType*,
                                             size_t, LiteRtTensorBuffer*);
LiteRtStatus LiteRtGetTensorBufferHostMemory(LiteRtTensorBuffer, void**);
void LiteRtDestroyTensorBuffer(LiteRtTensorBuffer);
}

namespace bert_span {
namespace {

constexpr char32_t kReplacementCharacter = 0xFFFD;
constexpr char32_t kCapitalSigma = 0x3A3, kFinalSigma = 0x3C2;
constexpr size_t kMaxWordCharacters = 200;
constexpr size_t kSpecialTokens = 3;  // [CLS] question [SEP] passage [SEP]
constexpr size_t kMaxWindow = 1000000;
// null_odds where no span is possible.
constexpr double kNoSpanNullOdds = 1e6;
// The runtime plans its memory once for each length: few lengths. At least one
// [PAD] follows a window that is shorter than the longest.
constexpr size_t kLengthMultiple = 32;

// The file

std::runtime_error Error(const std::string& message) {
  return std::runtime_error("bert_span: " + message);
}

std::runtime_error Damaged() {
  return Error("the file is damaged: copy or export it again");
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

uint32_t Crc32(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

// The files, not compressed, of the ZIP archive at the end of some bytes.
std::map<std::string, std::string_view> ReadArchive(std::string_view bytes) {
  const auto check = [](bool is_archive) {
    if (!is_archive) {
      throw Error("the file ends in no archive: export it with export_tflite");
    }
  };
  const auto part = [&](uint64_t at, uint64_t size) {
    check(at + size <= bytes.size());
    return bytes.substr(at, size);
  };
  // The lowest byte comes first.
  const auto number = [&](uint64_t at, int size) {
    uint64_t value = 0;
    for (int i = size - 1; i >= 0; --i) {
      value = value << 8 | static_cast<unsigned char>(part(at + i, 1)[0]);
    }
    return value;
  };
  constexpr uint64_t kEndSize = 22, kEntrySize = 46, kHeaderSize = 30;
  constexpr uint64_t kEnd = 0x06054B50, kEntry = 0x02014B50, kStored = 0;
  check(bytes.size() >= kEndSize);
  const uint64_t end = bytes.size() - kEndSize;
  check(number(end, 4) == kEnd);
  std::map<std::string, std::string_view> files;
  uint64_t entry = number(end + 16, 4);
  for (uint64_t count = number(end + 10, 2); count > 0; --count) {
    check(number(entry, 4) == kEntry && number(entry + 10, 2) == kStored);
    const uint64_t name = number(entry + 28, 2), header = number(entry + 42, 4);
    const uint64_t data = header + kHeaderSize + number(header + 26, 2) +
                          number(header + 28, 2);
    const std::string_view content = part(data, number(entry + 20, 4));
    if (Crc32(content) != number(entry + 16, 4)) throw Damaged();
    files[std::string(part(entry + kEntrySize, name))] = content;
    entry += kEntrySize + name + number(entry + 30, 2) + number(entry + 32, 2);
  }
  return files;
}

// The values of a JSON object by their path: {"a": {"b": 1}} is "a.b": "1".
// Strings keep their quotes; escapes, which no option has, stay as they are. Of
// lists and objects the first character is kept.
class JsonValues {
 public:
  explicit JsonValues(std::string_view text) : rest_(text) {
    ReadValue("", 0);
    if (Next() != '\0') Fail();
  }

  bool Has(const std::string& path) const { return values_.count(path) > 0; }

  bool IsNull(const std::string& path) const { return Value(path) == "null"; }

  std::string Text(const std::string& path) const {
    const std::string& value = Value(path);
    if (value[0] != '"') throw Wrong(path, "a string");
    return value.substr(1, value.size() - 2);
  }

  bool IsTrue(const std::string& path) const {
    const std::string& value = Value(path);
    if (value != "true" && value != "false") throw Wrong(path, "true or false");
    return value == "true";
  }

  double Number(const std::string& path) const {
    std::istringstream stream(Value(path));
    stream.imbue(std::locale::classic());
    double number;
    if (!(stream >> number) || !stream.eof()) throw Wrong(path, "a number");
    return number;
  }

  size_t Count(const std::string& path, size_t least,
               size_t most = std::numeric_limits<int32_t>::max()) const {
    const double number = Number(path);
    if (!(number >= static_cast<double>(least) &&
          number <= static_cast<double>(most)) ||
        number != std::floor(number)) {
      throw Wrong(path, "an integer from " + std::to_string(least) + " to " +
                            std::to_string(most));
    }
    return static_cast<size_t>(number);
  }

  // The error about a value that breaks a rule.
  std::runtime_error Wrong(const std::string& path,
                           const std::string& rule) const {
    return Error("span_config.json: " + path + " must be " + rule +
                 ". Received: " + Value(path) + ". Export the file again");
  }

 private:
  [[noreturn]] static void Fail() {
    throw Error("span_config.json is damaged: export the file again");
  }

  const std::string& Value(const std::string& path) const {
    const auto found = values_.find(path);
    if (found == values_.end()) {
      throw Error("span_config.json has no " + path + ": export again");
    }
    return found->second;
  }

  // The next character that is no white space; 0 at the end.
  char Next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"),
                                 rest_.size()));
    return rest_.empty() ? '\0' : rest_[0];
  }

  bool Take(char character) {
    if (Next() != character) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string TakeUntil(size_t end) {
    if (end > rest_.size()) Fail();
    std::string taken(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return taken;
  }

  std::string TakeString() {
    if (!Take('"')) Fail();
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"') {
      end += rest_[end] == '\\' ? 2 : 1;
    }
    std::string taken = TakeUntil(end);
    if (!Take('"')) Fail();
    return taken;
  }

  void ReadValue(const std::string& path, int depth) {
    constexpr int kMaxDepth = 20;
    if (depth > kMaxDepth) Fail();
    const char first = Next();
    if (first == '"') {
      values_[path] = '"' + TakeString() + '"';
    } else if (Take('{') || Take('[')) {
      values_[path] = first;
      const char close = first == '{' ? '}' : ']';
      if (Take(close)) return;
      do {
        std::string name = path + "[]";
        if (first == '{') {
          name = path + (path.empty() ? "" : ".") + TakeString();
          if (!Take(':')) Fail();
        }
        ReadValue(name, depth + 1);
      } while (Take(','));
      if (!Take(close)) Fail();
    } else {
      const size_t end = std::min(rest_.find_first_of(",]} \t\r\n"),
                                  rest_.size());
      if (end == 0) Fail();
      values_[path] = TakeUntil(end);
    }
  }

  std::string_view rest_;
  std::map<std::string, std::string> values_;
};

// The SHA-256 of some bytes, in hexadecimal digits.
std::string Sha256(std::string_view bytes) {
  // The constants are digits of roots of the first primes.
  std::array<uint32_t, 64> constants;
  std::array<uint32_t, 8> state;
  const auto digits = [](double root) {
    return static_cast<uint32_t>((root - std::floor(root)) * 0x1p32);
  };
  for (int prime = 2, i = 0; i < 64; ++prime) {
    bool is_prime = true;
    for (int d = 2; d * d <= prime; ++d) is_prime &= prime % d != 0;
    if (!is_prime) continue;
    if (i < 8) state[i] = digits(std::sqrt(prime));
    constants[i++] = digits(std::cbrt(prime));
  }
  const auto rotated = [](uint32_t x, int n) { return x >> n | x << (32 - n); };
  const auto add_block = [&](const char* block) {
    std::array<uint32_t, 64> w;
    for (int i = 0; i < 64; ++i) {
      if (i < 16) {
        w[i] = 0;
        for (int k = 0; k < 4; ++k) {
          w[i] = w[i] << 8 | static_cast<unsigned char>(block[4 * i + k]);
        }
        continue;
      }
      const uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] +
             (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) +
             (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
    std::array<uint32_t, 8> s = state;
    for (int i = 0; i < 64; ++i) {
      const uint32_t sum1 = rotated(s[4], 6) ^ rotated(s[4], 11) ^
                            rotated(s[4], 25);
      const uint32_t sum0 = rotated(s[0], 2) ^ rotated(s[0], 13) ^
                            rotated(s[0], 22);
      const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
      const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
      const uint32_t sum = s[7] + sum1 + choice + constants[i] + w[i];
      s = {sum + sum0 + majority, s[0], s[1], s[2], s[3] + sum, s[4], s[5],
           s[6]};
    }
    for (int i = 0; i < 8; ++i) state[i] += s[i];
  };
  size_t at = 0;
  for (; at + 64 <= bytes.size(); at += 64) add_block(bytes.data() + at);
  std::string rest(bytes.substr(at));
  rest += '\x80';
  rest.append((120 - rest.size() % 64) % 64, '\0');
  for (int i = 7; i >= 0; --i) {
    rest += static_cast<char>(uint64_t{bytes.size()} * 8 >> 8 * i);
  }
  for (size_t i = 0; i < rest.size(); i += 64) add_block(rest.data() + i);
  std::string hex;
  for (const uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      hex += "0123456789abcdef"[word >> shift & 15];
    }
  }
  return hex;
}

// Text

// The characters of a text, and the bytes before each and before the end.
struct Characters {
  std::u32string codes;
  std::vector<size_t> bytes;
};

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

unsigned char KindOf(char32_t code) {
  const auto* range = std::upper_bound(
      std::begin(unicode::kRanges), std::end(unicode::kRanges), code,
      [](char32_t c, const unicode::Range& range) { return c < range.first; });
  if (range == std::begin(unicode::kRanges)) return 0;
  --range;
  return code <= range->last ? range->kind : 0;
}

// A character in lower case and without accents: one to three characters.
std::u32string Lowered(char32_t code) {
  constexpr char32_t kSyllables = 0xAC00, kNumSyllables = 11172;
  if (code >= kSyllables && code < kSyllables + kNumSyllables) {
    const char32_t index = code - kSyllables, last = index % 28;
    std::u32string letters = {0x1100 + index / 588, 0x1161 + index % 588 / 28};
    if (last > 0) letters += 0x11A7 + last;
    return letters;
  }
  const auto* found = std::lower_bound(
      std::begin(unicode::kReplacements), std::end(unicode::kReplacements),
      code, [](const unicode::Replacement& replacement, char32_t c) {
        return replacement.from < c;
      });
  if (found == std::end(unicode::kReplacements) || found->from != code) {
    return {code};
  }
  const auto begin = std::begin(found->to), end = std::end(found->to);
  return {begin, std::find(begin, end, char32_t{0})};
}

// Whether the capital sigma at a position becomes the one that ends words: a
// cased letter comes before it and none after it, but for ignorable characters.
bool IsFinalSigma(const std::u32string& codes, size_t position) {
  const auto is_cased = [&codes](size_t from, size_t step) {
    // Unsigned: before 0 comes a huge number.
    for (size_t i = from + step; i < codes.size(); i += step) {
      const unsigned char kind = KindOf(codes[i]);
      if (kind & unicode::kCaseIgnorable) continue;
      return (kind & unicode::kCased) != 0;
    }
    return false;
  };
  return is_cased(position, static_cast<size_t>(-1)) && !is_cased(position, 1);
}

class WordPieceTokenizer {
 public:
  WordPieceTokenizer(std::string_view vocabulary, bool lower_case)
      : lower_case_(lower_case) {
    if (!vocabulary.empty() && vocabulary.back() == '\n') {
      vocabulary.remove_suffix(1);
    }
    for (int32_t id = 0;; ++id) {
      const size_t end = std::min(vocabulary.find('\n'), vocabulary.size());
      const std::string token(vocabulary.substr(0, end));
      if (!ids_.emplace(token, id).second) {
        throw Error("vocab.txt has a token twice: " + token);
      }
      longest_ = std::max(longest_, token.size());
      if (end == vocabulary.size()) break;
      vocabulary.remove_prefix(end + 1);
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

  Tokens Tokenize(const std::u32string& codes) const {
    Tokens tokens;
    Word word;
    for (size_t i = 0; i < codes.size(); ++i) {
      const unsigned char kind = KindOf(codes[i]);
      if (kind & unicode::kDropped || IsMark(kind)) continue;
      for (const char32_t part : PartsOf(codes, i)) {
        const unsigned char part_kind = KindOf(part);
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

  int32_t cls_id = 0;
  int32_t sep_id = 0;

 private:
  // Normalized characters, and the character that each was made from.
  struct Word {
    std::u32string parts;
    std::vector<size_t> origins;
  };

  bool IsMark(unsigned char kind) const {
    return lower_case_ && kind & unicode::kMark;
  }

  std::u32string PartsOf(const std::u32string& codes, size_t i) const {
    if (!lower_case_) return {codes[i]};
    if (codes[i] == kCapitalSigma && IsFinalSigma(codes, i)) {
      return {kFinalSigma};
    }
    return Lowered(codes[i]);
  }

  // Adds the WordPieces of a word, and empties it.
  void Finish(const std::u32string& codes, Word& word, Tokens& tokens) const {
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

  bool IsAccent(char32_t code) const {
    const unsigned char kind = KindOf(code);
    return IsMark(kind) && !(kind & unicode::kDropped);
  }

  // The id and the end of the longest token that begins at a part of a word; an
  // end equal to the beginning if there is none.
  std::pair<int32_t, size_t> LongestPiece(const std::u32string& parts,
                                          size_t first) const {
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

  std::unordered_map<std::string, int32_t> ids_;
  size_t longest_ = 0;  // Bytes of the longest token.
  bool lower_case_;
  int32_t unknown_id_ = 0;
};

// Windows

// Cuts a passage into windows. With windows of 10, a stride of 2 and a question
// of two tokens there is room for 5 tokens t0 .. t7 of the passage:
//
//   [CLS] q0 q1 [SEP] t0 t1 t2 t3 t4 [SEP]
//   [CLS] q0 q1 [SEP] t2 t3 t4 t5 t6 [SEP]
//   [CLS] q0 q1 [SEP] t4 t5 t6 t7 [SEP]
class Windows {
 public:
  // A longer question is cut off. The tokens must outlive the object.
  Windows(const WordPieceTokenizer& tokenizer, std::vector<int32_t> question,
          const std::vector<int32_t>& context, size_t max_seq_length,
          size_t doc_stride)
      : question_(std::move(question)),
        context_(context),
        cls_id_(tokenizer.cls_id),
        sep_id_(tokenizer.sep_id),
        room_(max_seq_length - question_.size() - kSpecialTokens),
        step_(std::min(room_, doc_stride)) {
    if (context.empty()) return;
    const size_t further = std::max(context.size(), room_) - room_;
    count_ = 1 + (further + step_ - 1) / step_;
  }

  size_t count() const { return count_; }

  Window operator[](size_t index) const {
    Window window;
    window.context_start = index * step_;
    window.context_length =
        std::min(room_, context_.size() - window.context_start);
    window.first_context_position = question_.size() + 2;
    window.ids = {cls_id_};
    window.ids.insert(window.ids.end(), question_.begin(), question_.end());
    window.ids.push_back(sep_id_);
    const auto begin = context_.begin() + window.context_start;
    window.ids.insert(window.ids.end(), begin, begin + window.context_length);
    window.ids.push_back(sep_id_);
    for (size_t i = 0; i < window.context_length; ++i) {
      // From window to window the score of a token rises and then falls, so its
      // neighbours are enough to compare with. The first window wins a tie.
      const size_t token = window.context_start + i;
      const double score = ContextScore(index, token);
      window.is_max_context.push_back(
          !(index > 0 && ContextScore(index - 1, token) >= score) &&
          !(index + 1 < count_ && ContextScore(index + 1, token) > score));
    }
    return window;
  }

 private:
  // How much of what surrounds a token a window shows. Equal scores depend on
  // the rounding of float64: compile with -ffp-contract=off.
  double ContextScore(size_t index, size_t token) const {
    const size_t start = index * step_;
    const size_t length = std::min(room_, context_.size() - start);
    if (token < start || token >= start + length) return -1;
    const size_t left = token - start;
    return std::min(left, length - left - 1) + 0.01 * length;
  }

  const std::vector<int32_t> question_;
  const std::vector<int32_t>& context_;
  const int32_t cls_id_, sep_id_;
  const size_t room_, step_;
  size_t count_ = 0;
};

// Answers

struct DecoderOptions {
  explicit DecoderOptions(const JsonValues& config)
      : n_best_size(config.Count("decoder.n_best_size", 1, 10000)),
        max_answer_length(config.Count("decoder.max_answer_length", 1)),
        version_2_with_negative(
            config.IsTrue("decoder.version_2_with_negative")),
        null_score_diff_threshold(
            config.Number("decoder.null_score_diff_threshold")),
        is_logit_sum(config.Text("decoder.span_score") == "logit_sum"),
        has_temperature(!config.IsNull("decoder.temperature")),
        temperature(has_temperature ? config.Number("decoder.temperature")
                                    : 1),
        // Files of earlier versions have none.
        log_odds_shift(config.Has("decoder.log_odds_shift")
                           ? config.Number("decoder.log_odds_shift")
                           : 0) {
    if (!is_logit_sum &&
        config.Text("decoder.span_score") != "mean_probability") {
      throw config.Wrong("decoder.span_score", "logit_sum or mean_probability");
    }
    if (!(temperature > 0)) {
      throw config.Wrong("decoder.temperature", "null or above 0");
    }
  }

  size_t n_best_size, max_answer_length;
  bool version_2_with_negative;
  double null_score_diff_threshold;
  bool is_logit_sum;  // Otherwise the mean of two probabilities.
  bool has_temperature;
  double temperature;
  double log_odds_shift;
};

// Log of the sum of the exponentials; -infinity for nothing.
double LogSumExp(const std::vector<double>& values) {
  double highest = -std::numeric_limits<double>::infinity();
  for (const double value : values) highest = std::max(highest, value);
  if (std::isinf(highest)) return highest;
  double total = 0;
  for (const double value : values) total += std::exp(value - highest);
  return highest + std::log(total);
}

// Positions of the `count` highest logits, best first; of equal ones the lower.
std::vector<size_t> BestPositions(const std::vector<float>& logits,
                                  size_t count) {
  std::vector<size_t> positions(logits.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(),
                   [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  positions.resize(std::min(count, positions.size()));
  return positions;
}

// A span of tokens of the passage, or "no answer".
struct Candidate {
  bool is_span = false;
  size_t first = 0;
  size_t last = 0;  // Inclusive.
  float start_logit = 0;
  float end_logit = 0;
  double start_score = 0;
  double end_score = 0;

  double score() const { return start_score + end_score; }
  double logit_sum() const { return double{start_logit} + double{end_logit}; }
};

// Chooses answers from the logits of all windows, as run_squad does. Sums are
// in float64, as there. It keeps n_best_size candidates.
class SpanDecoder {
 public:
  // Compares candidates by their texts: equal texts are listed once.
  using TextOf = std::function<std::u32string_view(const Candidate&)>;

  SpanDecoder(const DecoderOptions& options, TextOf text_of)
      : options_(options), text_of_(std::move(text_of)) {}

  // Reads the next window.
  void Add(const Window& window, const Logits& logits) {
    const std::vector<double> starts = Scores(logits.start);
    const std::vector<double> ends = Scores(logits.end);
    const Candidate none{false,         0,         0,      logits.start[0],
                         logits.end[0], starts[0], ends[0]};
    if (!has_window_ || none.score() < none_.score()) none_ = none;
    has_window_ = true;
    const size_t offset = window.first_context_position;
    const size_t end_of_context = offset + window.context_length;
    const auto best_ends = BestPositions(logits.end, options_.n_best_size);
    for (const size_t start :
         BestPositions(logits.start, options_.n_best_size)) {
      if (start < offset || start >= end_of_context ||
          !window.is_max_context[start - offset]) {
        continue;
      }
      for (const size_t end : best_ends) {
        if (end < start || end >= end_of_context ||
            end - start >= options_.max_answer_length) {
          continue;
        }
        const size_t first = window.context_start + start - offset;
        spans_.push_back({true, first, first + end - start, logits.start[start],
                          logits.end[end], starts[start], ends[end]});
      }
    }
    KeepBest();
    if (options_.has_temperature) log_sums_.push_back(LogSum(window, logits));
  }

  struct Decision {
    bool is_answerable;
    double null_odds;
    Candidate best;
    std::vector<Candidate> n_best;
    std::function<double(const Candidate&)> probability_of;
  };

  Decision Decide() const {
    Decision decision;
    decision.n_best = spans_;
    if (options_.version_2_with_negative) {
      AddNone(decision.n_best);
    } else if (spans_.empty()) {
      decision.n_best = {Candidate()};
    }
    decision.null_odds = kNoSpanNullOdds;
    if (!spans_.empty()) {
      decision.null_odds =
          none_.score() - spans_[0].start_score - spans_[0].end_score;
    }
    decision.is_answerable =
        !spans_.empty() &&
        !(options_.version_2_with_negative &&
          decision.null_odds > options_.null_score_diff_threshold);
    if (decision.is_answerable) {
      decision.best = spans_[0];
    } else if (options_.version_2_with_negative) {
      decision.best = none_;
    }
    decision.probability_of = Probabilities(decision.n_best, decision.best);
    return decision;
  }

 private:
  // What each position adds to the score of a span.
  std::vector<double> Scores(const std::vector<float>& logits) const {
    std::vector<double> scores(logits.begin(), logits.end());
    if (options_.is_logit_sum) return scores;
    const double log_sum = LogSumExp(scores);
    for (double& score : scores) score = std::exp(score - log_sum) / 2;
    return scores;
  }

  // Of the candidates so far, the best that differ in text.
  void KeepBest() {
    // Stable: of equal scores the earlier window comes first.
    std::stable_sort(spans_.begin(), spans_.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return a.score() > b.score();
                     });
    std::unordered_set<std::u32string_view> texts;
    std::vector<Candidate> best;
    for (const Candidate& span : spans_) {
      if (best.size() == options_.n_best_size) break;
      if (texts.insert(text_of_(span)).second) best.push_back(span);
    }
    spans_ = std::move(best);
  }

  // Puts "no answer" where its score belongs, after spans of equal score. It
  // may be the last but not one more, unless all spans are better.
  void AddNone(std::vector<Candidate>& entries) const {
    const auto place =
        std::find_if(entries.begin(), entries.end(), [this](const auto& span) {
          return span.score() < none_.score();
        });
    const size_t index = place - entries.begin();
    entries.insert(place, none_);
    if (index < options_.n_best_size && entries.size() > options_.n_best_size) {
      entries.pop_back();
    }
  }

  std::function<double(const Candidate&)> Probabilities(
      const std::vector<Candidate>& entries, const Candidate& answer) const {
    if (options_.has_temperature) {
      // Among all spans of the passage and "no answer".
      const double temperature = options_.temperature;
      const double factor = std::exp(-options_.log_odds_shift);
      double none = none_.logit_sum();
      if (options_.version_2_with_negative && options_.is_logit_sum) {
        none -= options_.null_score_diff_threshold;
      }
      std::vector<double> logits = log_sums_;
      logits.push_back(none / temperature);
      const double log_z = LogSumExp(logits);
      const auto share = [=](const Candidate& entry) {
        const double logit = entry.is_span ? entry.logit_sum() : none;
        return std::exp(logit / temperature - log_z);
      };
      // The others share what the answer, with its higher log-odds, leaves.
      const double p = share(answer);
      const double total = p + (1 - p) * factor;
      return [=](const Candidate& entry) {
        const bool is_answer =
            entry.is_span == answer.is_span &&
            (!entry.is_span ||
             (entry.first == answer.first && entry.last == answer.last));
        return share(entry) * (is_answer ? 1 : factor) / total;
      };
    }
    if (!options_.is_logit_sum) {
      const bool has_span = !spans_.empty();
      return [has_span](const Candidate& entry) {
        return has_span ? entry.score() : 1;
      };
    }
    std::vector<double> scores;
    for (const Candidate& entry : entries) scores.push_back(entry.score());
    const double log_z = LogSumExp(scores);
    return [log_z](const Candidate& entry) {
      return std::exp(entry.score() - log_z);
    };
  }

  // Log of the sum over all spans that begin in a window.
  double LogSum(const Window& window, const Logits& logits) const {
    const size_t end_of_context =
        window.first_context_position + window.context_length;
    std::vector<double> sums;
    for (size_t i = 0; i < window.context_length; ++i) {
      if (!window.is_max_context[i]) continue;
      const size_t start = window.first_context_position + i;
      const size_t end =
          std::min(start + options_.max_answer_length, end_of_context);
      std::vector<double> ends(logits.end.begin() + start,
                               logits.end.begin() + end);
      for (double& logit : ends) logit /= options_.temperature;
      sums.push_back(logits.start[start] / options_.temperature +
                     LogSumExp(ends));
    }
    return LogSumExp(sums);
  }

  const DecoderOptions& options_;
  const TextOf text_of_;
  std::vector<Candidate> spans_;  // Best first.
  bool has_window_ = false;
  Candidate none_;
  std::vector<double> log_sums_;
};

// The model

void Check(LiteRtStatus status, const char* what) {
  if (status != 0) {
    throw Error(std::string("LiteRT cannot ") + what + ": status " +
                std::to_string(status));
  }
}

// A handle of LiteRT with the function that destroys it.
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, void (*)(Handle)>;

// Runs the model on one window at a time.
class Runner {
 public:
  // The bytes of the model must outlive the object.
  Runner(std::string_view model, int num_threads, size_t max_length,
         bool is_dynamic)
      : max_length_(max_length), is_dynamic_(is_dynamic) {
    // It looks for GPUs and reports every step otherwise.
    constexpr int kAccelerators = 24, kLogSeverity = 25, kInteger = 2;
    constexpr int kCpu = 1, kErrors = 3;
    const LiteRtEnvOption settings[] = {{kAccelerators, {kInteger, kCpu}},
                                        {kLogSeverity, {kInteger, kErrors}}};
    Check(LiteRtCreateEnvironment(2, settings, Out(environment_)), "start");
    Check(LiteRtCreateModelFromBuffer(environment_.get(), model.data(),
                                      model.size(), Out(model_)),
          "read the model");
    Owned<LiteRtOptions> options(nullptr, LiteRtDestroyOptions);
    Check(LiteRtCreateOptions(Out(options)), "make options");
    Check(LiteRtSetOptionsHardwareAccelerators(options.get(), kCpu),
          "choose the processor");
    // The options of its processor kernels are TOML.
    const std::string threads =
        "num_threads = " + std::to_string(num_threads) + "\n";
    char* payload = static_cast<char*>(std::malloc(threads.size() + 1));
    if (payload == nullptr) throw std::bad_alloc();
    std::memcpy(payload, threads.c_str(), threads.size() + 1);
    LiteRtOpaqueOptions cpu_options = nullptr;
    Check(LiteRtCreateOpaqueOptions("xnnpack", payload, std::free,
                                    &cpu_options),
          "make options");
    Check(LiteRtAddOpaqueOptions(options.get(), cpu_options), "set threads");
    Check(LiteRtCreateCompiledModel(environment_.get(), model_.get(),
                                    options.get(), Out(compiled_)),
          "compile the model");
    FindTensors();
    LiteRtLayout layout;
    Check(LiteRtGetCompiledModelInputTensorLayout(compiled_.get(), 0, 0,
                                                  &layout),
          "find the length of windows");
    // Windows of any length have 1 until they are resized.
    const int32_t length = layout.dimensions[1];
    if (length != (is_dynamic_ ? 1 : static_cast<int32_t>(max_length_))) {
      throw Error("span_config.json: tflite.max_length and dynamic_length are " +
                  std::to_string(max_length_) + " and " +
                  (is_dynamic_ ? "true" : "false") +
                  ", but the windows of the model have the length " +
                  std::to_string(length) + ". Export the file again");
    }
    if (!is_dynamic_) MakeBuffers(max_length_);
  }

  Logits Run(const Window& window) {
    const size_t size = window.ids.size();
    size_t length = max_length_;
    if (is_dynamic_) {
      length = (size / kLengthMultiple + 1) * kLengthMultiple;
      length = std::min(length, max_length_);
    }
    if (length != length_) Resize(length);
    std::fill(ids_, ids_ + length, 0);
    std::copy(window.ids.begin(), window.ids.end(), ids_);
    for (size_t i = 0; i < length; ++i) {
      mask_[i] = i < size;
      segment_ids_[i] = i < size && i >= window.first_context_position;
    }
    Check(LiteRtRunCompiledModel(compiled_.get(), 0, inputs_.size(),
                                 inputs_.data(), outputs_.size(),
                                 outputs_.data()),
          "run the model");
    Logits logits{{start_logits_, start_logits_ + size},
                  {end_logits_, end_logits_ + size}};
    for (const auto* row : {&logits.start, &logits.end}) {
      for (const float logit : *row) {
        if (!std::isfinite(logit)) {
          throw Error("the model gives numbers that are not finite");
        }
      }
    }
    return logits;
  }

 private:
  // The place for the result of a function that makes a handle.
  template <typename Handle, typename Deleter>
  class OutHandle {
   public:
    explicit OutHandle(std::unique_ptr<Handle, Deleter>& owner)
        : owner_(owner) {}
    ~OutHandle() { owner_.reset(made_); }
    operator Handle**() { return &made_; }

   private:
    std::unique_ptr<Handle, Deleter>& owner_;
    Handle* made_ = nullptr;
  };

  template <typename Handle, typename Deleter>
  static OutHandle<Handle, Deleter> Out(
      std::unique_ptr<Handle, Deleter>& owner) {
    return OutHandle<Handle, Deleter>(owner);
  }

  // Finds the order of the inputs and outputs, which the converter chose.
  void FindTensors() {
    LiteRtSignature signature;
    size_t num_inputs, num_outputs;
    Check(LiteRtGetModelSignature(model_.get(), 0, &signature),
          "find a signature");
    Check(LiteRtGetNumSignatureInputs(signature, &num_inputs), "count inputs");
    Check(LiteRtGetNumSignatureOutputs(signature, &num_outputs),
          "count outputs");
    if (num_inputs != inputs_.size() || num_outputs != outputs_.size()) {
      throw Error("the model has other inputs or outputs");
    }
    const char* name;
    for (size_t i = 0; i < num_inputs; ++i) {
      Check(LiteRtGetSignatureInputName(signature, i, &name), "name an input");
      input_names_.push_back(name);
    }
    for (size_t i = 0; i < num_outputs; ++i) {
      Check(LiteRtGetSignatureOutputName(signature, i, &name),
            "name an output");
      output_names_.push_back(name);
    }
  }

  void Resize(size_t length) {
    const int shape[] = {1, static_cast<int>(length)};
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Check(LiteRtCompiledModelResizeInputTensor(compiled_.get(), 0, i, shape,
                                                 2),
            "change the length of windows");
    }
    std::array<LiteRtLayout, 2> layouts;
    Check(LiteRtGetCompiledModelOutputTensorLayouts(
              compiled_.get(), 0, layouts.size(), layouts.data(), true),
          "plan its memory");
    MakeBuffers(length);
  }

  void MakeBuffers(size_t length) {
    constexpr int kFloat32 = 1, kInt32 = 2, kHostMemory = 1;
    buffers_.clear();
    const auto make = [&](int element_type) {
      LiteRtRankedTensorType type{};
      type.element_type = element_type;
      type.layout.rank = 2;
      type.layout.dimensions[0] = 1;
      type.layout.dimensions[1] = static_cast<int32_t>(length);
      buffers_.emplace_back(nullptr, LiteRtDestroyTensorBuffer);
      Check(LiteRtCreateManagedTensorBuffer(environment_.get(), kHostMemory,
                                            &type, 4 * length,
                                            Out(buffers_.back())),
            "make a buffer");
      void* address;
      Check(LiteRtGetTensorBufferHostMemory(buffers_.back().get(), &address),
            "find a buffer");
      return std::make_pair(buffers_.back().get(), address);
    };
    const auto place_of = [](const std::vector<std::string>& names,
                             const char* name) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) {
        throw Error(std::string("the model has no ") + name);
      }
      return found - names.begin();
    };
    const auto input = [&](const char* name) {
      const auto [buffer, address] = make(kInt32);
      inputs_[place_of(input_names_, name)] = buffer;
      return static_cast<int32_t*>(address);
    };
    const auto output = [&](const char* name) {
      const auto [buffer, address] = make(kFloat32);
      outputs_[place_of(output_names_, name)] = buffer;
      return static_cast<const float*>(address);
    };
    ids_ = input("ids");
    mask_ = input("mask");
    segment_ids_ = input("segment_ids");
    start_logits_ = output("start_logits");
    end_logits_ = output("end_logits");
    length_ = length;
  }

  const size_t max_length_;
  const bool is_dynamic_;
  // In this order: what is made last is destroyed first.
  Owned<LiteRtEnvironment> environment_{nullptr, LiteRtDestroyEnvironment};
  Owned<LiteRtModel> model_{nullptr, LiteRtDestroyModel};
  Owned<LiteRtCompiledModel> compiled_{nullptr, LiteRtDestroyCompiledModel};
  std::vector<std::string> input_names_, output_names_;
  std::vector<Owned<LiteRtTensorBuffer>> buffers_;
  std::array<LiteRtTensorBuffer, 3> inputs_{};
  std::array<LiteRtTensorBuffer, 2> outputs_{};
  size_t length_ = 0;
  int32_t *ids_ = nullptr, *mask_ = nullptr, *segment_ids_ = nullptr;
  const float *start_logits_ = nullptr, *end_logits_ = nullptr;
};

}  // namespace

struct SpanExtractor::Parts {
  // `content` holds the whole file.
  Parts(std::string file_content, int num_threads)
      : content(std::move(file_content)),
        files(ReadArchive(content)),
        config(CheckedConfig()),
        decoder(config),
        tokenizer(File("vocab.txt"), config.IsTrue("do_lower_case")),
        max_seq_length(
            config.Count("window.max_seq_length", 1, kMaxWindow)),
        doc_stride(config.Count("window.doc_stride", 1)),
        max_query_length(config.Count("window.max_query_length", 0)),
        runner(CheckedModel(), num_threads, max_length(),
               config.IsTrue("tflite.dynamic_length")) {}

  size_t max_length() const {
    return config.Count("tflite.max_length", 1, kMaxWindow);
  }

  std::string_view File(const std::string& name) const {
    if (files.count("vocabulary.spm")) {
      throw Error("the file has SentencePieces, which this runner cannot read: "
                  "answer with TFLiteSpanExtractor in Python");
    }
    const auto found = files.find(name);
    if (found == files.end()) {
      throw Error("the file has no " + name + ": export it with export_tflite");
    }
    return found->second;
  }

  // Of another head, other fields would be missing.
  JsonValues CheckedConfig() const {
    JsonValues values(File("span_config.json"));
    values.Count("format", 1, 1);
    if (values.Text("head") != "span") throw values.Wrong("head", "span");
    if (values.IsTrue("tflite.with_tokenizer")) {  // of bert_span 0.1.0
      throw Error("the file contains its tokenizer: export it again");
    }
    return values;
  }

  // The bytes of the model. The runtime does not check them: damaged ones would
  // end the process.
  std::string_view CheckedModel() const {
    if (max_seq_length <= max_query_length + kSpecialTokens ||
        max_seq_length > max_length()) {
      throw config.Wrong(
          "window.max_seq_length",
          "more than max_query_length + 3 (" +
              std::to_string(max_query_length + kSpecialTokens) +
              ") and at most tflite.max_length (" +
              std::to_string(max_length()) + ")");
    }
    const size_t size = config.Count("tflite.model_bytes", 1);
    const std::string_view model = std::string_view(content).substr(0, size);
    if (Sha256(model) != config.Text("tflite.model_sha256")) throw Damaged();
    const std::string hash = "tflite.vocabulary_sha256";  // Not in old files.
    if (config.Has(hash) && Sha256(File("vocab.txt")) != config.Text(hash)) {
      throw Damaged();
    }
    return model;
  }

  const std::string content;
  const std::map<std::string, std::string_view> files;
  const JsonValues config;
  const DecoderOptions decoder;
  const WordPieceTokenizer tokenizer;
  const size_t max_seq_length, doc_stride, max_query_length;
  Runner runner;
};

SpanExtractor::SpanExtractor(const std::string& path, int num_threads)
    : parts_(std::make_unique<Parts>(ReadFile(path), num_threads)) {}

SpanExtractor::~SpanExtractor() = default;

Tokens SpanExtractor::Tokenize(std::string_view text) const {
  return parts_->tokenizer.Tokenize(Decode(text).codes);
}

Answer SpanExtractor::Ask(std::string_view question, std::string_view context,
                          const Observer& observer) {
  const Characters characters = Decode(context);
  const Tokens tokens = parts_->tokenizer.Tokenize(characters.codes);
  std::vector<int32_t> question_ids = Tokenize(question).ids;
  question_ids.resize(std::min(question_ids.size(), parts_->max_query_length));
  const Windows windows(parts_->tokenizer, std::move(question_ids), tokens.ids,
                        parts_->max_seq_length, parts_->doc_stride);
  const auto text_of = [&](const Candidate& span) -> std::u32string_view {
    if (!span.is_span) return {};
    const size_t start = tokens.char_starts[span.first];
    return std::u32string_view(characters.codes)
        .substr(start, tokens.char_ends[span.last] - start);
  };
  SpanDecoder decoder(parts_->decoder, text_of);
  for (size_t i = 0; i < windows.count(); ++i) {
    const Window window = windows[i];
    const Logits logits = parts_->runner.Run(window);
    decoder.Add(window, logits);
    if (observer) observer(window, logits, i, windows.count());
  }
  const SpanDecoder::Decision decision = decoder.Decide();
  const auto span_of = [&](const Candidate& candidate) {
    Span span;
    if (candidate.is_span) {
      span.text = Encode(text_of(candidate));
      span.char_start = tokens.char_starts[candidate.first];
      span.char_end = tokens.char_ends[candidate.last];
      span.byte_start = characters.bytes[span.char_start];
      span.byte_end = characters.bytes[span.char_end];
    }
    span.start_logit = candidate.start_logit;
    span.end_logit = candidate.end_logit;
    span.score = candidate.score();
    span.probability = decision.probability_of(candidate);
    return span;
  };
  Answer answer;
  answer.is_answerable = decision.is_answerable;
  answer.best = span_of(decision.best);
  answer.null_odds = decision.null_odds;
  for (const Candidate& entry : decision.n_best) {
    answer.n_best.push_back(span_of(entry));
  }
  return answer;
}

std::string ToJson(const Answer& answer) {
  std::ostringstream json;
  json.imbue(std::locale::classic());
  json.precision(17);
  json << std::boolalpha;
  const auto write_text = [&json](const std::string& text) {
    json << '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        json << '\\' << c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        json << "\\u00" << "01"[c >> 4] << "0123456789abcdef"[c & 15];
      } else {
        json << c;
      }
    }
    json << '"';
  };
  const auto write_span = [&](const Span& span) {
    json << "\"text\": ";
    write_text(span.text);
    json << ", \"char_start\": " << span.char_start
         << ", \"char_end\": " << span.char_end
         << ", \"byte_start\": " << span.byte_start
         << ", \"byte_end\": " << span.byte_end
         << ", \"start_logit\": " << span.start_logit
         << ", \"end_logit\": " << span.end_logit
         << ", \"score\": " << span.score
         << ", \"probability\": " << span.probability;
  };
  json << "{\"is_answerable\": " << answer.is_answerable << ", ";
  write_span(answer.best);
  json << ", \"null_odds\": " << answer.null_odds << ", \"n_best\": [";
  const char* separator = "{";
  for (const Span& span : answer.n_best) {
    json << separator;
    write_span(span);
    json << "}";
    separator = ", {";
  }
  json << "]}";
  return json.str();
}

}  // namespace bert_span
