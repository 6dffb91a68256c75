// Text into byte pairs, as bert_span.text.byte_pair_tokenizer in Python.

#ifndef BERT_SPAN_BYTE_PAIR_TOKENIZER_H_
#define BERT_SPAN_BYTE_PAIR_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer.h"

namespace bert_span {

// A token that is found in a text before it is divided into words.
struct AddedToken {
  std::u32string codes;
  int32_t id;
};

// The vocabulary of byte pairs, by default RoBERTa's.
struct BytePairs {
  // Of tokens in GPT-2's alphabet of bytes, and of other tokens as they are.
  std::unordered_map<std::string, int32_t> ids;
  // By rank, two tokens with a space between.
  std::vector<std::string> merges;
  std::vector<AddedToken> added_tokens;
  std::string cls = "<s>", sep = "</s>";
  size_t num_separators = 2;
  // For messages: the file of the tokens, and what has the merges.
  std::string family = "RoBERTa", file = "vocab.txt";
  std::string merges_name = "span_config.json: tflite.merges";
};

// Splits a text into words, and the bytes of a word into tokens. Of neighbouring
// tokens those of the lowest merge are joined, until none applies.
//
// Offsets leave out the spaces at both ends of a token.
class BytePairTokenizer : public Tokenizer {
 public:
  // Throws `Error` if tokens and merges do not fit.
  explicit BytePairTokenizer(const BytePairs& pairs);

  Tokens Tokenize(const std::u32string& codes) const override;

 private:
  struct Piece {
    int32_t id;
    int32_t rank;  // Of its merge, the lowest first; -1 for a byte.
  };

  const Piece* Find(std::string_view bytes) const;
  const AddedToken* FindAdded(const std::u32string& codes, size_t begin) const;
  std::vector<size_t> PieceEnds(std::string_view word) const;

  std::unordered_map<std::string, Piece> pieces_;  // By their bytes.
  // By their first characters, the longest first.
  std::unordered_map<char32_t, std::vector<AddedToken>> added_;
};

}  // namespace bert_span

#endif  // BERT_SPAN_BYTE_PAIR_TOKENIZER_H_
