// Logits of a span head into answers.

#ifndef BERT_SPAN_DECODER_H_
#define BERT_SPAN_DECODER_H_

#include <array>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "json_values.h"
#include "windows.h"

namespace bert_span {

// The logits of a window, one a token: of a span head, or of a B/I/O head.
struct Logits {
  std::vector<float> start;
  std::vector<float> end;
  std::vector<std::array<float, 3>> tags;
};

struct DecoderOptions {
  explicit DecoderOptions(const JsonValues& config);

  size_t n_best_size, max_answer_length;
  bool version_2_with_negative;
  double null_score_diff_threshold;
  bool is_logit_sum;  // Otherwise the mean of two probabilities.
  bool has_temperature;
  double temperature;
  double log_odds_shift;
};

// A span of tokens of the passage, or "no answer".
struct Candidate {
  bool is_span = false;
  size_t first = 0;
  size_t last = 0;  // Inclusive.
  float start_logit = 0;
  float end_logit = 0;
  double start_score = 0;
  double end_score = 0;
  double probability = 0;  // Of a decision.

  double score() const { return start_score + end_score; }
  double logit_sum() const { return double{start_logit} + double{end_logit}; }
};

// What is answered.
struct Decision {
  bool is_answerable = false;
  double null_odds = 1e6;  // Where no span is possible.
  Candidate best;
  std::vector<Candidate> n_best;  // Best first.
  std::vector<Candidate> spans;   // By position, what the answer consists of.
};

// Chooses answers from the logits of all windows. Sums are in float64.
class Decoder {
 public:
  // Compares candidates by their texts: equal texts are listed once.
  using TextOf = std::function<std::u32string_view(const Candidate&)>;

  virtual ~Decoder() = default;

  // Reads the next window.
  virtual void Add(const Window& window, const Logits& logits) = 0;

  virtual Decision Decide() const = 0;
};

// Log of the sum of the exponentials; -infinity for nothing.
double LogSumExp(const std::vector<double>& values);

// Chooses as run_squad does. It keeps n_best_size candidates.
class SpanDecoder : public Decoder {
 public:
  SpanDecoder(const DecoderOptions& options, TextOf text_of)
      : options_(options), text_of_(std::move(text_of)) {}

  void Add(const Window& window, const Logits& logits) override;
  Decision Decide() const override;

 private:
  std::vector<double> Scores(const std::vector<float>& logits) const;
  void KeepBest();
  void AddNone(std::vector<Candidate>& entries) const;
  std::function<double(const Candidate&)> Probabilities(
      const std::vector<Candidate>& entries, const Candidate& answer) const;
  double LogSum(const Window& window, const Logits& logits) const;

  const DecoderOptions& options_;
  const TextOf text_of_;
  std::vector<Candidate> spans_;  // Best first.
  bool has_window_ = false;
  Candidate none_;
  std::vector<double> log_sums_;
};

}  // namespace bert_span

#endif  // BERT_SPAN_DECODER_H_
