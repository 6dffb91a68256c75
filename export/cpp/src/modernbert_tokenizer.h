// Text into ModernBERT's byte pairs, as bert_span.text.modernbert_tokenizer in
// Python.

#ifndef BERT_SPAN_MODERNBERT_TOKENIZER_H_
#define BERT_SPAN_MODERNBERT_TOKENIZER_H_

#include <string>

#include "byte_pair_tokenizer.h"
#include "json_values.h"

namespace bert_span {

// Byte pairs of a text after NFC, and tokens such as that of three blanks.
//
// Offsets are into the text before NFC: a token ends after all marks of its last
// letter.
class ModernBertTokenizer : public BytePairTokenizer {
 public:
  // Takes the values of a tokenizer.json. Throws `Error` if they give other
  // tokens.
  explicit ModernBertTokenizer(const JsonValues& values);

  Tokens Tokenize(const std::u32string& codes) const override;
};

}  // namespace bert_span

#endif  // BERT_SPAN_MODERNBERT_TOKENIZER_H_
