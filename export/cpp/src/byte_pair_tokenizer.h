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

// Splits a text into words, and the bytes of a word into tokens. Of neighbouring
// tokens those of the lowest merge are joined, until none applies.
//
// Offsets leave out the spaces at both ends of a token.
class BytePairTokenizer : public Tokenizer {
 public:
  // `vocabulary` has a token a line, in GPT-2's alphabet of bytes, and a merge
  // is two of them with a space between. Throws `Error` if they do not fit.
  BytePairTokenizer(std::string_view vocabulary,
                    const std::vector<std::string>& merges);

  Tokens Tokenize(const std::u32string& codes) const override;

 private:
  struct Piece {
    int32_t id;
    int32_t rank;  // Of its merge, the lowest first; -1 for a byte.
  };

  const Piece* Find(std::string_view bytes) const;
  std::vector<size_t> PieceEnds(std::string_view word) const;

  std::unordered_map<std::string, Piece> pieces_;  // By their bytes.
};

}  // namespace bert_span

#endif  // BERT_SPAN_BYTE_PAIR_TOKENIZER_H_
