// Answers from a question, a passage and the logits of windows.

#ifndef BERT_SPAN_ANSWERS_H_
#define BERT_SPAN_ANSWERS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bert_span.h"
#include "bio_decoder.h"
#include "decoder.h"
#include "file.h"
#include "tokenizer.h"
#include "windows.h"

namespace bert_span {

// An answer with the memory that it points to.
struct Answer : bert_span_answer {
  std::vector<bert_span_span> n_best_list, span_list;
  std::deque<std::string> texts;
};

// Computes all of an answer but the logits.
class Answers {
 public:
  // The logits of a window, of its number from 0, and of how many there are.
  using LogitsOf = std::function<Logits(const Window&, size_t, size_t)>;

  // The options of a file, which must outlive the object; but the threshold
  // unless it is null.
  explicit Answers(const File& file,
                   const double* null_score_diff_threshold = nullptr);

  // 0 of a B/I/O head, whose answers have any number of spans.
  size_t n_best_size() const { return span_ ? span_->n_best_size : 0; }

  Tokens Tokenize(std::string_view text) const;

  // Reads one window after the other.
  std::unique_ptr<Answer> Ask(std::string_view question,
                              std::string_view context,
                              const LogitsOf& logits_of) const;

 private:
  const File& file_;
  // Of the head.
  std::optional<DecoderOptions> span_;
  std::optional<BioDecoderOptions> bio_;
  const std::unique_ptr<const Tokenizer> tokenizer_;
};

}  // namespace bert_span

#endif  // BERT_SPAN_ANSWERS_H_
