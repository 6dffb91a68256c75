// A passage in windows, each of which the model reads at once.

#ifndef BERT_SPAN_WINDOWS_H_
#define BERT_SPAN_WINDOWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bert_span {

constexpr size_t kSpecialTokens = 3;  // [CLS] question [SEP] passage [SEP]

// [CLS] question [SEP] part of the passage [SEP].
struct Window {
  size_t context_start = 0;           // First token of the passage in it.
  size_t context_length = 0;          // Tokens of the passage in it.
  size_t first_context_position = 0;  // Position of the first of them.
  std::vector<int32_t> ids;
  // For each of these tokens: whether an answer may begin at it. It may only in
  // the window that shows most of what surrounds the token.
  std::vector<bool> is_max_context;
};

// Cuts a passage into windows. With windows of 10, a stride of 2 and a question
// of two tokens there is room for 5 tokens t0 .. t7 of the passage:
//
//   [CLS] q0 q1 [SEP] t0 t1 t2 t3 t4 [SEP]
//   [CLS] q0 q1 [SEP] t2 t3 t4 t5 t6 [SEP]
//   [CLS] q0 q1 [SEP] t4 t5 t6 t7 [SEP]
class Windows {
 public:
  // The tokens of the passage must outlive the object.
  Windows(int32_t cls_id, int32_t sep_id, std::vector<int32_t> question,
          const std::vector<int32_t>& context, size_t max_seq_length,
          size_t doc_stride);

  size_t count() const { return count_; }
  Window operator[](size_t index) const;

 private:
  double ContextScore(size_t index, size_t token) const;

  const int32_t cls_id_, sep_id_;
  const std::vector<int32_t> question_;
  const std::vector<int32_t>& context_;
  const size_t room_, step_;
  size_t count_ = 0;
};

}  // namespace bert_span

#endif  // BERT_SPAN_WINDOWS_H_
