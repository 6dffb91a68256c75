#include "windows.h"

#include <algorithm>
#include <utility>

namespace bert_span {

Windows::Windows(const Tokenizer& tokenizer, std::vector<int32_t> question,
                 const Tokens& context, size_t max_seq_length,
                 size_t doc_stride)
    : tokenizer_(tokenizer),
      question_(std::move(question)),
      context_(context),
      // Without [CLS] and the last [SEP].
      room_(max_seq_length - question_.size() - tokenizer.num_separators - 2),
      step_(std::min(room_, doc_stride)) {
  const size_t size = context.ids.size();
  if (size == 0) return;
  const size_t further = std::max(size, room_) - room_;
  count_ = 1 + (further + step_ - 1) / step_;
}

Window Windows::operator[](size_t index) const {
  Window window;
  window.context_start = index * step_;
  window.context_length =
      std::min(room_, context_.ids.size() - window.context_start);
  window.ids = {tokenizer_.cls_id};
  window.ids.insert(window.ids.end(), question_.begin(), question_.end());
  window.ids.insert(window.ids.end(), tokenizer_.num_separators,
                    tokenizer_.sep_id);
  window.first_context_position = window.ids.size();
  const auto begin = context_.ids.begin() + window.context_start;
  window.ids.insert(window.ids.end(), begin, begin + window.context_length);
  window.ids.push_back(tokenizer_.sep_id);
  for (size_t i = 0; i < window.context_length; ++i) {
    // From window to window the score of a token rises and then falls, so its
    // neighbours are enough to compare with. The first window wins a tie.
    const size_t token = window.context_start + i;
    const double score = ContextScore(index, token);
    window.is_max_context.push_back(
        !(index > 0 && ContextScore(index - 1, token) >= score) &&
        !(index + 1 < count_ && ContextScore(index + 1, token) > score));
    window.has_characters.push_back(context_.char_starts[token] <
                                    context_.char_ends[token]);
  }
  return window;
}

// How much of what surrounds a token a window shows. Equal scores depend on
// the rounding of float64: compile with -ffp-contract=off.
double Windows::ContextScore(size_t index, size_t token) const {
  const size_t start = index * step_;
  const size_t length = std::min(room_, context_.ids.size() - start);
  if (token < start || token >= start + length) return -1;
  const size_t left = token - start;
  return std::min(left, length - left - 1) + 0.01 * length;
}

}  // namespace bert_span
