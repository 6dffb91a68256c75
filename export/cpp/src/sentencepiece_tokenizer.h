// Text into SentencePieces, as bert_span.text.sentencepiece_tokenizer in
// Python.

#ifndef BERT_SPAN_SENTENCEPIECE_TOKENIZER_H_
#define BERT_SPAN_SENTENCEPIECE_TOKENIZER_H_

#include <memory>
#include <string>
#include <string_view>

#include "tokenizer.h"

namespace bert_span {

// The tokenizer of a SentencePiece model with the ids of a family of encoders.
//
// Offsets leave out the blanks that a piece starts with, and a piece that is
// only a blank has none: it is no token of an answer.
//
// Throws `Error` if the model cannot be read, or if the library is built
// without the option BERT_SPAN_SENTENCEPIECE.
std::unique_ptr<Tokenizer> MakeSentencePieceTokenizer(
    std::string_view model, const std::string& family);

}  // namespace bert_span

#endif  // BERT_SPAN_SENTENCEPIECE_TOKENIZER_H_
