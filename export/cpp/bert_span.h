// Answers questions from a .tflite file that export_tflite wrote, as
// TFLiteSpanExtractor does in Python: passages of any length, cased and
// uncased, accents, unanswerable questions.
//
//   bert_span::SpanExtractor extractor("qa.tflite");
//   bert_span::Answer answer = extractor.Ask("Who came?", "John Smith came.");
//   answer.best.text;        // "John Smith"
//   answer.best.byte_start;  // 0
//
// Any bytes may be a question or a passage. Bytes that are not UTF-8 count as
// U+FFFD, each longest part of a character as one.

#ifndef BERT_SPAN_BERT_SPAN_H_
#define BERT_SPAN_BERT_SPAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bert_span {

// The WordPieces of a text.
struct Tokens {
  std::vector<int32_t> ids;
  // Half-open offsets into the text, in characters (code points).
  std::vector<size_t> char_starts;
  std::vector<size_t> char_ends;
};

// What the model reads at once: [CLS] question [SEP] part of the passage [SEP].
struct Window {
  size_t context_start = 0;           // First token of the passage in it.
  size_t context_length = 0;          // Tokens of the passage in it.
  size_t first_context_position = 0;  // Position of the first of them.
  std::vector<int32_t> ids;
  // For each of these tokens: whether an answer may begin at it. It may only in
  // the window that shows most of what surrounds the token.
  std::vector<bool> is_max_context;
};

// The logits of a window, one a WordPiece.
struct Logits {
  std::vector<float> start;
  std::vector<float> end;
};

// A part of the passage, or "no answer" with an empty text.
struct Span {
  std::string text;       // Valid UTF-8.
  size_t char_start = 0;  // Half-open, in characters (code points).
  size_t char_end = 0;
  size_t byte_start = 0;  // Half-open, in bytes of the passage as given.
  size_t byte_end = 0;
  float start_logit = 0;
  float end_logit = 0;
  double score = 0;  // Start logit + end logit, or a mean probability.
  double probability = 0;
};

struct Answer {
  bool is_answerable = false;
  Span best;
  double null_odds = 0;  // Score of "no answer" less that of the best span.
  std::vector<Span> n_best;
};

// Called after each window with it, its logits, its number from 0, and how many
// windows the passage has.
using Observer =
    std::function<void(const Window&, const Logits&, size_t, size_t)>;

// A model with its tokenizer and options. Not for several threads at once.
//
// It keeps the model and a tokenized passage in memory; windows are read one
// after the other.
class SpanExtractor {
 public:
  // Reads a file. Throws std::runtime_error if it cannot be read, is damaged,
  // is not of a span head, or contains its tokenizer (as bert_span 0.1.0 wrote).
  explicit SpanExtractor(const std::string& path, int num_threads = 1);
  ~SpanExtractor();

  // Throws std::runtime_error if the runtime fails.
  Answer Ask(std::string_view question, std::string_view context,
             const Observer& observer = nullptr);

  Tokens Tokenize(std::string_view text) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// An answer as a line of JSON, with the names of the fields above.
std::string ToJson(const Answer& answer);

}  // namespace bert_span

#endif  // BERT_SPAN_BERT_SPAN_H_
