#include "answers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "byte_pair_tokenizer.h"
#include "modernbert_tokenizer.h"
#include "sentencepiece_tokenizer.h"

namespace bert_span {
namespace {

// UTF-16 units of the first characters of a text.
size_t Utf16Size(const std::u32string& codes, size_t count) {
  return count + std::count_if(codes.begin(), codes.begin() + count,
                               [](char32_t code) { return code > 0xFFFF; });
}

// Refuses what this library does not know about a file: it may change tokens.
void CheckFields(const JsonValues& config) {
  constexpr std::string_view kKnown[] = {
      "quantization", "dynamic_length",    "max_length", "model_bytes",
      "model_sha256", "vocabulary_sha256", "family",     "merges"};
  for (const auto& [name, value] : config.Members("tflite")) {
    if (std::find(std::begin(kKnown), std::end(kKnown), name) ==
        std::end(kKnown)) {
      throw Error("span_config.json has tflite." + name +
                  ", which this library does not know: answer with "
                  "TFLiteSpanExtractor in Python, or build a newer library");
    }
  }
}

std::unique_ptr<Tokenizer> TokenizerOf(const File& file) {
  const JsonValues& config = file.config();
  CheckFields(config);
  const std::string name = file.vocabulary_name();
  if (name == kJsonFile) {
    return std::make_unique<ModernBertTokenizer>(
        JsonValues(file.vocabulary(), name));
  }
  if (name == kPiecesFile) {
    return MakeSentencePieceTokenizer(file.vocabulary(),
                                      config.Text("tflite.family"));
  }
  if (config.Has("tflite.merges")) {
    BytePairs pairs;
    pairs.ids = ReadVocabulary(file.vocabulary());
    pairs.merges = config.Texts("tflite.merges");
    return std::make_unique<BytePairTokenizer>(pairs);
  }
  return std::make_unique<WordPieceTokenizer>(file.vocabulary(),
                                              config.IsTrue("do_lower_case"));
}

}  // namespace

Answers::Answers(const File& file, const double* null_score_diff_threshold)
    : file_(file),
      tokenizer_(TokenizerOf(file)) {
  double* threshold;
  if (file.is_bio()) {
    threshold = &bio_.emplace(file.config()).null_score_diff_threshold;
  } else {
    threshold = &span_.emplace(file.config()).null_score_diff_threshold;
  }
  if (null_score_diff_threshold != nullptr) {
    *threshold = *null_score_diff_threshold;
    if (!std::isfinite(*threshold)) {
      throw Error("null_score_diff_threshold must be a finite number. "
                  "Received: " + std::to_string(*threshold));
    }
  }
  const size_t num_special = 2 + tokenizer_->num_separators;
  const size_t least = file.max_query_length() + num_special + 1;
  if (file.max_seq_length() < least ||
      file.max_seq_length() > file.max_length()) {
    throw file.config().Wrong(
        "window.max_seq_length",
        "at least max_query_length + " + std::to_string(num_special + 1) +
            " (" + std::to_string(least) + ") and at most tflite.max_length (" +
            std::to_string(file.max_length()) + ")");
  }
}

Tokens Answers::Tokenize(std::string_view text) const {
  return tokenizer_->Tokenize(Decode(text).codes);
}

std::unique_ptr<Answer> Answers::Ask(std::string_view question,
                                     std::string_view context,
                                     const LogitsOf& logits_of) const {
  const Characters characters = Decode(context);
  const Tokens tokens = tokenizer_->Tokenize(characters.codes);
  std::vector<int32_t> question_ids = Tokenize(question).ids;
  const bool is_cut = question_ids.size() > file_.max_query_length();
  question_ids.resize(std::min(question_ids.size(), file_.max_query_length()));
  const Windows windows(*tokenizer_, std::move(question_ids), tokens,
                        file_.max_seq_length(), file_.doc_stride());
  const auto text_of = [&](const Candidate& span) -> std::u32string_view {
    if (!span.is_span) return {};
    const size_t start = tokens.char_starts[span.first];
    return std::u32string_view(characters.codes)
        .substr(start, std::max(tokens.char_ends[span.last], start) - start);
  };
  std::unique_ptr<Decoder> decoder;
  if (bio_) {
    decoder = std::make_unique<BioDecoder>(*bio_, text_of);
  } else {
    decoder = std::make_unique<SpanDecoder>(*span_, text_of);
  }
  for (size_t i = 0; i < windows.count(); ++i) {
    const Window window = windows[i];
    decoder->Add(window, logits_of(window, i, windows.count()));
  }
  const Decision decision = decoder->Decide();
  auto answer = std::make_unique<Answer>();
  const auto span_of = [&](const Candidate& candidate) {
    bert_span_span span{};
    const std::string& text =
        answer->texts.emplace_back(Encode(text_of(candidate)));
    span.text = text.c_str();
    span.text_size = text.size();
    if (candidate.is_span) {
      span.char_start = tokens.char_starts[candidate.first];
      span.char_end = tokens.char_ends[candidate.last];
      span.byte_start = characters.bytes[span.char_start];
      span.byte_end = characters.bytes[span.char_end];
      span.utf16_start = Utf16Size(characters.codes, span.char_start);
      span.utf16_end = Utf16Size(characters.codes, span.char_end);
    }
    span.start_logit = candidate.start_logit;
    span.end_logit = candidate.end_logit;
    span.score = candidate.score();
    span.probability = candidate.probability;
    return span;
  };
  answer->is_answerable = decision.is_answerable;
  answer->null_odds = decision.null_odds;
  answer->question_truncated = is_cut && windows.count() > 0;
  answer->best = span_of(decision.best);
  for (const Candidate& entry : decision.n_best) {
    answer->n_best_list.push_back(span_of(entry));
  }
  for (const Candidate& span : decision.spans) {
    answer->span_list.push_back(span_of(span));
  }
  answer->n_best = answer->n_best_list.data();
  answer->n_best_size = answer->n_best_list.size();
  answer->spans = answer->span_list.data();
  answer->num_spans = answer->span_list.size();
  return answer;
}

}  // namespace bert_span
