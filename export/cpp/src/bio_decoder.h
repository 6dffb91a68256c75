// Logits of a B/I/O head into answers.

#ifndef BERT_SPAN_BIO_DECODER_H_
#define BERT_SPAN_BIO_DECODER_H_

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "decoder.h"
#include "json_values.h"
#include "windows.h"

namespace bert_span {

struct BioDecoderOptions {
  explicit BioDecoderOptions(const JsonValues& config);

  bool is_viterbi;  // Otherwise the best tag of each token.
  double threshold;
  bool version_2_with_negative;
  double null_score_diff_threshold;
};

// Labels a passage as one sequence, each token as its max-context window reads
// it. Every run "B I I .." is a span; see bert_span's BioDecoder in Python.
class BioDecoder : public Decoder {
 public:
  BioDecoder(const BioDecoderOptions& options, TextOf text_of)
      : options_(options), text_of_(std::move(text_of)) {}

  void Add(const Window& window, const Logits& logits) override;
  Decision Decide() const override;

 private:
  using Tags = std::array<double, 3>;  // Of B, I and O.

  std::pair<std::vector<int>, double> BestSpanPath() const;
  std::vector<int> Labels(std::vector<int> path) const;
  std::vector<Candidate> Spans(const std::vector<int>& tags) const;
  std::vector<Candidate> BestOfEachText(std::vector<Candidate> spans) const;

  const BioDecoderOptions& options_;
  const TextOf text_of_;
  std::vector<Tags> logits_;  // Of each token of the passage.
  std::vector<Tags> log_p_;
};

}  // namespace bert_span

#endif  // BERT_SPAN_BIO_DECODER_H_
