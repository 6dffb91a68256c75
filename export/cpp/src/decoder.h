// Logits into answers.

#ifndef BERT_SPAN_DECODER_H_
#define BERT_SPAN_DECODER_H_

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "json_values.h"
#include "windows.h"

namespace bert_span {

// The logits of a window, one a WordPiece.
struct Logits {
  std::vector<float> start;
  std::vector<float> end;
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

  double score() const { return start_score + end_score; }
  double logit_sum() const { return double{start_logit} + double{end_logit}; }
};

// Chooses answers from the logits of all windows, as run_squad does. Sums are
// in float64, as there. It keeps n_best_size candidates.
class SpanDecoder {
 public:
  // Compares candidates by their texts: equal texts are listed once.
  using TextOf = std::function<std::u32string_view(const Candidate&)>;

  SpanDecoder(const DecoderOptions& options, TextOf text_of)
      : options_(options), text_of_(std::move(text_of)) {}

  // Reads the next window.
  void Add(const Window& window, const Logits& logits);

  struct Decision {
    bool is_answerable;
    double null_odds;
    Candidate best;
    std::vector<Candidate> n_best;
    std::function<double(const Candidate&)> probability_of;
  };

  Decision Decide() const;

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
