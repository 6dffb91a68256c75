// A .tflite file that export_tflite wrote: the model, and the archive behind it
// with the vocabulary and span_config.json.

#ifndef BERT_SPAN_FILE_H_
#define BERT_SPAN_FILE_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "json_values.h"

namespace bert_span {

// What may be in the place of vocab.txt: a SentencePiece model, or the tokenizer
// of ModernBERT.
inline constexpr char kPiecesFile[] = "vocabulary.spm";
inline constexpr char kJsonFile[] = "tokenizer.json";

// The bytes of a file; throws `Error` if it cannot be read.
std::string ReadFile(const std::string& path);

// The bytes of a file, checked: they are those that were exported.
//
// `Error` is thrown if the bytes are damaged.
class File {
 public:
  explicit File(std::string content);
  File(const File&) = delete;  // Views are into its content.

  const JsonValues& config() const { return config_; }
  std::string_view model() const;
  std::string vocabulary_name() const;
  std::string_view vocabulary() const { return Part(vocabulary_name()); }
  // Whether the head gives tags, not starts and ends.
  bool is_bio() const { return config_.Text("head") == "bio"; }

  size_t max_seq_length() const;
  size_t max_query_length() const;
  size_t doc_stride() const { return config_.Count("window.doc_stride", 1); }
  // The longest window that the model reads.
  size_t max_length() const;

 private:
  std::string_view Part(const std::string& name) const;

  const std::string content_;
  const std::map<std::string, std::string_view> parts_;
  const JsonValues config_;
};

}  // namespace bert_span

#endif  // BERT_SPAN_FILE_H_
