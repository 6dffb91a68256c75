// Text into tokens, as bert_span.text.tokenizer in Python.

#ifndef BERT_SPAN_TOKENIZER_H_
#define BERT_SPAN_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "characters.h"

namespace bert_span {

// The ids of a vocabulary with a token a line. Throws `Error` if one is twice.
std::unordered_map<std::string, int32_t> ReadVocabulary(
    std::string_view vocabulary);

// The tokens of a text.
struct Tokens {
  std::vector<int32_t> ids;
  // Half-open offsets into the text, in characters (code points). A token
  // without characters neither starts nor ends an answer.
  std::vector<size_t> char_starts;
  std::vector<size_t> char_ends;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual Tokens Tokenize(const std::u32string& codes) const = 0;

  int32_t cls_id = 0;
  int32_t sep_id = 0;
  size_t num_separators = 1;  // Between question and passage.
};

class WordPieceTokenizer : public Tokenizer {
 public:
  // `vocabulary` has a token a line. Throws `Error` if one is missing or twice.
  WordPieceTokenizer(std::string_view vocabulary, bool lower_case);

  Tokens Tokenize(const std::u32string& codes) const override;

 private:
  // Normalized characters, and the character that each was made from.
  struct Word {
    std::u32string parts;
    std::vector<size_t> origins;
  };

  bool IsMark(unsigned short kind) const;
  bool IsAccent(char32_t code) const;
  std::u32string PartsOf(const std::u32string& codes, size_t i) const;
  void Finish(const std::u32string& codes, Word& word, Tokens& tokens) const;
  std::pair<int32_t, size_t> LongestPiece(const std::u32string& parts,
                                          size_t first) const;

  std::unordered_map<std::string, int32_t> ids_;
  size_t longest_ = 0;  // Bytes of the longest token.
  bool lower_case_;
  int32_t unknown_id_ = 0;
};

}  // namespace bert_span

#endif  // BERT_SPAN_TOKENIZER_H_
