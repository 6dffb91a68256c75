#include "decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace bert_span {

double LogSumExp(const std::vector<double>& values) {
  double highest = -std::numeric_limits<double>::infinity();
  for (const double value : values) highest = std::max(highest, value);
  if (std::isinf(highest)) return highest;
  double total = 0;
  for (const double value : values) total += std::exp(value - highest);
  return highest + std::log(total);
}

namespace {

// Positions of the `count` highest logits, best first; of equal ones the lower.
std::vector<size_t> BestPositions(const std::vector<float>& logits,
                                  size_t count) {
  std::vector<size_t> positions(logits.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(),
                   [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  positions.resize(std::min(count, positions.size()));
  return positions;
}

}  // namespace

DecoderOptions::DecoderOptions(const JsonValues& config)
    : n_best_size(config.Count("decoder.n_best_size", 1, 10000)),
      max_answer_length(config.Count("decoder.max_answer_length", 1)),
      version_2_with_negative(
          config.IsTrue("decoder.version_2_with_negative")),
      null_score_diff_threshold(
          config.Number("decoder.null_score_diff_threshold")),
      is_logit_sum(config.Text("decoder.span_score") == "logit_sum"),
      has_temperature(!config.IsNull("decoder.temperature")),
      temperature(has_temperature ? config.Number("decoder.temperature")
                                  : 1),
      log_odds_shift(config.Number("decoder.log_odds_shift")) {
  if (!is_logit_sum &&
      config.Text("decoder.span_score") != "mean_probability") {
    throw config.Wrong("decoder.span_score", "logit_sum or mean_probability");
  }
  if (!(temperature >= 0.001 && temperature <= 1000)) {
    throw config.Wrong("decoder.temperature", "null or from 0.001 to 1000");
  }
  if (!(std::abs(log_odds_shift) <= 500)) {
    throw config.Wrong("decoder.log_odds_shift", "from -500 to 500");
  }
}

void SpanDecoder::Add(const Window& window, const Logits& logits) {
  const std::vector<double> starts = Scores(logits.start);
  const std::vector<double> ends = Scores(logits.end);
  const Candidate none{false,         0,         0,       logits.start[0],
                       logits.end[0], starts[0], ends[0], 0};
  if (!has_window_ || none.score() < none_.score()) none_ = none;
  has_window_ = true;
  const size_t offset = window.first_context_position;
  const auto best_ends = BestPositions(logits.end, options_.n_best_size);
  for (const size_t start :
       BestPositions(logits.start, options_.n_best_size)) {
    if (!window.MayStart(start)) continue;
    for (const size_t end : best_ends) {
      if (end < start || !window.MayEnd(end) ||
          end - start >= options_.max_answer_length) {
        continue;
      }
      const size_t first = window.context_start + start - offset;
      spans_.push_back({true, first, first + end - start, logits.start[start],
                        logits.end[end], starts[start], ends[end], 0});
    }
  }
  KeepBest();
  if (options_.has_temperature) log_sums_.push_back(LogSum(window, logits));
}

Decision SpanDecoder::Decide() const {
  Decision decision;
  decision.n_best = spans_;
  if (options_.version_2_with_negative) {
    AddNone(decision.n_best);
  } else if (spans_.empty()) {
    decision.n_best = {Candidate()};
  }
  if (!spans_.empty()) {
    decision.null_odds =
        none_.score() - spans_[0].start_score - spans_[0].end_score;
  }
  decision.is_answerable =
      !spans_.empty() &&
      !(options_.version_2_with_negative &&
        decision.null_odds > options_.null_score_diff_threshold);
  if (decision.is_answerable) {
    decision.best = spans_[0];
  } else if (options_.version_2_with_negative) {
    decision.best = none_;
  }
  const auto probability_of = Probabilities(decision.n_best, decision.best);
  for (Candidate& entry : decision.n_best) {
    entry.probability = probability_of(entry);
  }
  decision.best.probability = probability_of(decision.best);
  if (decision.is_answerable) decision.spans = {decision.best};
  return decision;
}

// What each position adds to the score of a span.
std::vector<double> SpanDecoder::Scores(
    const std::vector<float>& logits) const {
  std::vector<double> scores(logits.begin(), logits.end());
  if (options_.is_logit_sum) return scores;
  const double log_sum = LogSumExp(scores);
  for (double& score : scores) score = std::exp(score - log_sum) / 2;
  return scores;
}

// Of the candidates so far, the best that differ in text.
void SpanDecoder::KeepBest() {
  // Stable: of equal scores the earlier window comes first.
  std::stable_sort(spans_.begin(), spans_.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.score() > b.score();
                   });
  std::unordered_set<std::u32string_view> texts;
  std::vector<Candidate> best;
  for (const Candidate& span : spans_) {
    if (best.size() == options_.n_best_size) break;
    if (texts.insert(text_of_(span)).second) best.push_back(span);
  }
  spans_ = std::move(best);
}

// Puts "no answer" where its score belongs, after spans of equal score. It
// may be the last but not one more, unless all spans are better.
void SpanDecoder::AddNone(std::vector<Candidate>& entries) const {
  const auto place =
      std::find_if(entries.begin(), entries.end(), [this](const auto& span) {
        return span.score() < none_.score();
      });
  const size_t index = place - entries.begin();
  entries.insert(place, none_);
  if (index < options_.n_best_size && entries.size() > options_.n_best_size) {
    entries.pop_back();
  }
}

std::function<double(const Candidate&)> SpanDecoder::Probabilities(
    const std::vector<Candidate>& entries, const Candidate& answer) const {
  if (options_.has_temperature) {
    // Among all spans of the passage and "no answer".
    const double temperature = options_.temperature;
    const double factor = std::exp(-options_.log_odds_shift);
    double none = none_.logit_sum();
    if (options_.version_2_with_negative && options_.is_logit_sum) {
      none -= options_.null_score_diff_threshold;
    }
    std::vector<double> logits = log_sums_;
    logits.push_back(none / temperature);
    const double log_z = LogSumExp(logits);
    const auto share = [=](const Candidate& entry) {
      const double logit = entry.is_span ? entry.logit_sum() : none;
      return std::exp(logit / temperature - log_z);
    };
    // The others share what the answer, with its higher log-odds, leaves.
    const double p = share(answer);
    const double total = p + (1 - p) * factor;
    return [=](const Candidate& entry) {
      const bool is_answer =
          entry.is_span == answer.is_span &&
          (!entry.is_span ||
           (entry.first == answer.first && entry.last == answer.last));
      return share(entry) * (is_answer ? 1 : factor) / total;
    };
  }
  if (!options_.is_logit_sum) {
    const bool has_span = !spans_.empty();
    return [has_span](const Candidate& entry) {
      return has_span ? entry.score() : 1;
    };
  }
  std::vector<double> scores;
  for (const Candidate& entry : entries) scores.push_back(entry.score());
  const double log_z = LogSumExp(scores);
  return [log_z](const Candidate& entry) {
    return std::exp(entry.score() - log_z);
  };
}

// Log of the sum over all spans that begin in a window.
double SpanDecoder::LogSum(const Window& window, const Logits& logits) const {
  const size_t end_of_context =
      window.first_context_position + window.context_length;
  std::vector<double> sums;
  for (size_t i = 0; i < window.context_length; ++i) {
    const size_t start = window.first_context_position + i;
    if (!window.MayStart(start)) continue;
    const size_t limit =
        std::min(start + options_.max_answer_length, end_of_context);
    std::vector<double> ends;
    for (size_t end = start; end < limit; ++end) {
      if (window.MayEnd(end)) {
        ends.push_back(logits.end[end] / options_.temperature);
      }
    }
    sums.push_back(logits.start[start] / options_.temperature +
                   LogSumExp(ends));
  }
  return LogSumExp(sums);
}

}  // namespace bert_span
