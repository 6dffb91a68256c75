// A passage in windows, each of which the model reads at once.

#ifndef BERT_SPAN_WINDOWS_H_
#define BERT_SPAN_WINDOWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer.h"

namespace bert_span {

// [CLS] question [SEP] part of the passage [SEP], some models with two [SEP]
// before the passage.
struct Window {
  size_t context_start = 0;           // First token of the passage in it.
  size_t context_length = 0;          // Tokens of the passage in it.
  size_t first_context_position = 0;  // Position of the first of them.
  std::vector<int32_t> ids;
  // For each of the passage's tokens: whether this window shows most of what
  // surrounds it, and whether it has characters.
  std::vector<bool> is_max_context, has_characters;

  // Whether an answer may begin, or end, at a position.
  bool MayStart(size_t position) const {
    return MayEnd(position) &&
           is_max_context[position - first_context_position];
  }
  bool MayEnd(size_t position) const {
    return position >= first_context_position &&
           position < first_context_position + context_length &&
           has_characters[position - first_context_position];
  }
};

// Cuts a passage into windows. With windows of 10, a stride of 2 and a question
// of two tokens there is room for 5 tokens t0 .. t7 of the passage:
//
//   [CLS] q0 q1 [SEP] t0 t1 t2 t3 t4 [SEP]
//   [CLS] q0 q1 [SEP] t2 t3 t4 t5 t6 [SEP]
//   [CLS] q0 q1 [SEP] t4 t5 t6 t7 [SEP]
class Windows {
 public:
  // The tokenizer and the tokens of the passage must outlive the object.
  Windows(const Tokenizer& tokenizer, std::vector<int32_t> question,
          const Tokens& context, size_t max_seq_length, size_t doc_stride);

  size_t count() const { return count_; }
  Window operator[](size_t index) const;

 private:
  double ContextScore(size_t index, size_t token) const;

  const Tokenizer& tokenizer_;
  const std::vector<int32_t> question_;
  const Tokens& context_;
  const size_t room_, step_;
  size_t count_ = 0;
};

}  // namespace bert_span

#endif  // BERT_SPAN_WINDOWS_H_
