#include "modernbert_tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "file.h"

namespace bert_span {
namespace {

// The byte pairs of a tokenizer.json.
BytePairs PairsOf(const JsonValues& values) {
  // Others give other tokens.
  for (const auto& [path, value] :
       std::vector<std::pair<std::string, std::string>>{
           {"normalizer.type", "NFC"},
           {"pre_tokenizer.type", "ByteLevel"},
           {"model.type", "BPE"}}) {
    if (values.Text(path) != value) throw values.Wrong(path, value);
  }
  const auto check = [](const JsonValues& of, const std::string& path,
                        bool is_true) {
    if (of.IsTrue(path) != is_true) {
      throw of.Wrong(path, is_true ? "true" : "false");
    }
  };
  check(values, "pre_tokenizer.add_prefix_space", false);
  BytePairs pairs;
  pairs.cls = "[CLS]", pairs.sep = "[SEP]", pairs.num_separators = 1;
  pairs.family = "ModernBERT", pairs.file = kJsonFile;
  pairs.merges_name = pairs.file + ": model.merges";
  for (const JsonValues& token : values.Elements("added_tokens")) {
    const std::string content = token.Text("content");
    const auto id = static_cast<int32_t>(token.Count("id", 0));
    pairs.ids[content] = id;
    // Special ones are ordinary characters in a text.
    if (token.IsTrue("special")) continue;
    if (content.empty()) throw token.Wrong("content", "characters");
    check(token, "normalized", true);
    for (const char* flag : {"single_word", "lstrip", "rstrip"}) {
      check(token, flag, false);
    }
    pairs.added_tokens.push_back({ToNfc(Decode(content).codes).codes, id});
  }
  for (const auto& [token, id] : values.Members("model.vocab")) {
    pairs.ids[token] = static_cast<int32_t>(id.Count("", 0));
  }
  for (const JsonValues& merge : values.Elements("model.merges")) {
    const std::vector<std::string> tokens = merge.Texts("");
    if (tokens.size() != 2) throw merge.Wrong("", "two tokens");
    pairs.merges.push_back(tokens[0] + ' ' + tokens[1]);
  }
  return pairs;
}

}  // namespace

ModernBertTokenizer::ModernBertTokenizer(const JsonValues& values)
    : BytePairTokenizer(PairsOf(values)) {}

Tokens ModernBertTokenizer::Tokenize(const std::u32string& codes) const {
  const NfcText text = ToNfc(codes);
  Tokens tokens = BytePairTokenizer::Tokenize(text.codes);
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    size_t& start = tokens.char_starts[i];
    size_t& end = tokens.char_ends[i];
    const bool has_characters = start < end;  // It is more than blanks.
    end = text.ends[end - 1];
    start = has_characters ? text.starts[start] : end;
  }
  return tokens;
}

}  // namespace bert_span
