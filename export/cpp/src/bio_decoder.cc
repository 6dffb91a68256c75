#include "bio_decoder.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>

namespace bert_span {
namespace {

constexpr int kB = 0, kI = 1, kO = 2;
// States of a labelling: before its first span, B, I, and O after a span.
constexpr int kNumStates = 4, kAfter = 3;
constexpr int kStateTags[] = {kO, kB, kI, kO};
// What may follow: row by column.
constexpr bool kMayFollow[kNumStates][kNumStates] = {
    {true, true, false, false},  // Before.
    {false, true, true, true},   // B.
    {false, true, true, true},   // I.
    {false, true, false, true},  // After.
};
// In the place of log 0: far below all sums of logits, and finite.
constexpr double kNever = -1e18;

}  // namespace

BioDecoderOptions::BioDecoderOptions(const JsonValues& config)
    : is_viterbi(config.Text("decoder.decoding") == "viterbi"),
      threshold(config.Number("decoder.threshold")),
      version_2_with_negative(
          config.IsTrue("decoder.version_2_with_negative")),
      null_score_diff_threshold(
          config.Number("decoder.null_score_diff_threshold")) {
  if (!is_viterbi && config.Text("decoder.decoding") != "greedy") {
    throw config.Wrong("decoder.decoding", "viterbi or greedy");
  }
  if (!(threshold >= 0 && threshold <= 1)) {
    throw config.Wrong("decoder.threshold", "from 0 to 1");
  }
}

void BioDecoder::Add(const Window& window, const Logits& logits) {
  logits_.resize(
      std::max(logits_.size(), window.context_start + window.context_length));
  log_p_.resize(logits_.size());
  for (size_t i = 0; i < window.context_length; ++i) {
    if (!window.is_max_context[i]) continue;
    const auto& [b, in, o] = logits.tags[window.first_context_position + i];
    const size_t token = window.context_start + i;
    logits_[token] = {b, in, o};
    const double log_sum = LogSumExp({b, in, o});
    log_p_[token] = {b - log_sum, in - log_sum, o - log_sum};
  }
}

Decision BioDecoder::Decide() const {
  Decision decision;
  double p_all_o = 0;
  for (const Tags& log_p : log_p_) p_all_o += log_p[kO];
  decision.best.probability = std::exp(p_all_o);
  if (logits_.empty()) return decision;
  auto [path, odds] = BestSpanPath();
  decision.null_odds = -odds;
  std::vector<Candidate> spans = Spans(Labels(std::move(path)));
  double highest = 0;
  for (const Candidate& span : spans) highest = std::max(highest, span.score());
  const auto is_dropped = [&](const Candidate& span) {
    const bool is_below = span.score() < options_.threshold;
    // The best span is an answer, however low its score.
    if (!options_.version_2_with_negative) {
      return is_below && span.score() < highest;
    }
    return is_below || decision.null_odds > options_.null_score_diff_threshold;
  };
  spans.erase(std::remove_if(spans.begin(), spans.end(), is_dropped),
              spans.end());
  decision.spans = BestOfEachText(std::move(spans));
  decision.is_answerable = !decision.spans.empty();
  if (!decision.is_answerable) return decision;
  decision.n_best = decision.spans;
  std::stable_sort(decision.n_best.begin(), decision.n_best.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.score() > b.score();
                   });
  decision.best = decision.n_best[0];
  return decision;
}

// The most probable labelling with a span, by Viterbi's algorithm, and the log
// of its probability less that of all O.
std::pair<std::vector<int>, double> BioDecoder::BestSpanPath() const {
  std::array<double, kNumStates> scores = {0, kNever, kNever, kNever};
  std::vector<std::array<int, kNumStates>> came_from;
  // A labelling with a span ends after its span: one more step.
  for (size_t t = 0; t <= logits_.size(); ++t) {
    const bool is_token = t < logits_.size();
    std::array<double, kNumStates> next;
    auto& from = came_from.emplace_back();
    for (int to = 0; to < kNumStates; ++to) {
      next[to] = -INFINITY;
      for (int state = 0; state < kNumStates; ++state) {
        const double score =
            scores[state] + (kMayFollow[state][to] ? 0 : kNever);
        if (score > next[to]) next[to] = score, from[to] = state;
      }
      const int tag = kStateTags[to];
      if (tag == kO) continue;
      next[to] += is_token ? logits_[t][tag] - logits_[t][kO] : kNever;
    }
    scores = next;
  }
  std::vector<int> tags(logits_.size());
  int state = kAfter;
  for (size_t t = logits_.size(); t > 0; --t) {
    state = came_from[t][state];
    tags[t - 1] = kStateTags[state];
  }
  return {tags, scores[kAfter]};
}

// The tags of the passage, from the best ones with a span.
std::vector<int> BioDecoder::Labels(std::vector<int> path) const {
  if (options_.is_viterbi) return path;
  std::vector<int> tags;
  for (const Tags& logits : logits_) {
    const auto best = std::max_element(logits.begin(), logits.end());
    tags.push_back(static_cast<int>(best - logits.begin()));
  }
  const bool has_span = std::any_of(tags.begin(), tags.end(),
                                    [](int tag) { return tag != kO; });
  return has_span ? tags : path;
}

// The spans of a labelling, by position.
std::vector<Candidate> BioDecoder::Spans(const std::vector<int>& tags) const {
  std::vector<double> sums = {0};  // Of log P before each token.
  for (size_t i = 0; i < tags.size(); ++i) {
    sums.push_back(sums.back() + log_p_[i][tags[i]]);
  }
  std::vector<Candidate> spans;
  for (size_t i = 0; i < tags.size();) {
    if (tags[i] == kO) {
      ++i;
      continue;
    }
    // An I after an O begins a span, too.
    size_t end = i + 1;
    while (end < tags.size() && tags[end] == kI) ++end;
    const double log_p = sums[end] - sums[i + 1] + log_p_[i][tags[i]];
    const double next_is_i = end < tags.size() ? std::exp(log_p_[end][kI]) : 0;
    Candidate span;
    span.is_span = true;
    span.first = i;
    span.last = end - 1;
    span.start_score = std::exp(log_p / static_cast<double>(end - i));
    span.probability = std::exp(log_p) * (1 - next_is_i);
    spans.push_back(span);
    i = end;
  }
  return spans;
}

// Of spans of equal text the one with the best score, by position.
std::vector<Candidate> BioDecoder::BestOfEachText(
    std::vector<Candidate> spans) const {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.score() > b.score();
                   });
  std::unordered_set<std::u32string_view> texts;
  std::vector<Candidate> kept;
  for (const Candidate& span : spans) {
    if (texts.insert(text_of_(span)).second) kept.push_back(span);
  }
  std::sort(kept.begin(), kept.end(),
            [](const Candidate& a, const Candidate& b) {
              return a.first < b.first;
            });
  return kept;
}

}  // namespace bert_span
