// A libFuzzer target: .tflite files, vocabularies and texts, without LiteRT.
//
// An input whose first byte is F is a file. Otherwise it begins with a
// vocabulary, lines up to an empty one, or after a B or M with merges of byte
// pairs, of RoBERTa or of ModernBERT; there a line that begins with + is an added
// token. After an S it begins with a digit instead, of a file of SentencePieces in
// FUZZ_PIECES. Question, passage and options follow. What the library throws is an
// `Error`; an answer is a part of the passage.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "answers.h"
#include "file.h"
#include "tokenizer.h"

namespace {

using bert_span::Answers;
using bert_span::Characters;
using bert_span::File;
using bert_span::Logits;
using bert_span::Window;

constexpr size_t kMaxWindows = 50;

void Expect(bool is_right, const char* rule) {
  if (is_right) return;
  std::cerr << "broken: " << rule << "\n";
  std::abort();
}

// Throws once a passage has more windows than an input needs.
Logits RandomLogits(const Window& window, size_t index, size_t) {
  if (index == kMaxWindows) throw bert_span::Error("long enough");
  Logits logits;
  uint32_t state = static_cast<uint32_t>(index) + 1;
  for (const int32_t id : window.ids) {
    for (auto* row : {&logits.start, &logits.end}) {
      state = state * 1664525 + 1013904223 + static_cast<uint32_t>(id);
      row->push_back(static_cast<float>(state >> 26) / 4);
    }
    logits.tags.push_back({logits.start.back(), logits.end.back(), 8});
  }
  return logits;
}

void CheckSpan(const bert_span_span& span, std::string_view context,
               const Characters& characters) {
  Expect(span.text_size == std::strlen(span.text) ||
             std::memchr(span.text, 0, span.text_size),
         "a text ends with 0");
  Expect(span.byte_start <= span.byte_end && span.byte_end <= context.size(),
         "bytes are within the passage");
  const std::u32string codes =
      characters.codes.substr(span.char_start, span.char_end - span.char_start);
  const std::string text(span.text, span.text_size);
  Expect(text == bert_span::Encode(codes), "a text is that of its characters");
  const auto bytes =
      context.substr(span.byte_start, span.byte_end - span.byte_start);
  Expect(bert_span::Decode(bytes).codes == codes, "bytes fit characters");
  size_t units = 0;
  for (const char32_t code : codes) units += code > 0xFFFF ? 2 : 1;
  Expect(span.utf16_end - span.utf16_start == units, "UTF-16 fits characters");
  Expect(span.probability >= 0 && span.probability <= 1 + 1e-9,
         "a probability is one");
}

void Ask(const File& file, std::string_view question,
         std::string_view context) {
  const Answers answers(file);
  const Characters characters = bert_span::Decode(context);
  const bert_span::Tokens tokens = answers.Tokenize(context);
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    // A byte pair that is only spaces has none.
    Expect(tokens.char_starts[i] <= tokens.char_ends[i] &&
               tokens.char_ends[i] <= characters.codes.size(),
           "a token is in the passage");
  }
  const auto answer = answers.Ask(question, context, RandomLogits);
  CheckSpan(answer->best, context, characters);
  for (const auto* list : {&answer->n_best_list, &answer->span_list}) {
    for (const auto& span : *list) CheckSpan(span, context, characters);
  }
}

// The files 0, 1 and so on in FUZZ_PIECES.
std::deque<File> PieceFiles() {
  std::deque<File> files;
  for (std::ifstream in;; in.close()) {
    const std::string path = FUZZ_PIECES "/" + std::to_string(files.size());
    in.open(path, std::ios::binary);
    if (!in) break;
    files.emplace_back(std::string(std::istreambuf_iterator<char>(in), {}));
  }
  Expect(!files.empty(), "there are files of SentencePieces");
  return files;
}

// The vocabulary of byte pairs.
struct BytePairs {
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
  std::vector<std::string> added_tokens;
};

// GPT-2's alphabet of bytes, and what some lines say.
BytePairs ReadPairs(std::string_view lines) {
  BytePairs pairs;
  pairs.tokens = {"<s>", "</s>", "[CLS]", "[SEP]"};
  char32_t other = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool is_printable =
        (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    const char32_t code = is_printable ? byte : other++;
    pairs.tokens.push_back(bert_span::Encode({&code, 1}));
  }
  std::set<std::string> tokens;
  for (size_t end; !lines.empty(); lines.remove_prefix(end)) {
    end = std::min(lines.find('\n') + 1, lines.size());
    if (end == 0) end = lines.size();
    std::string line(lines.substr(0, end));
    if (line.back() == '\n') line.pop_back();
    if (!line.empty() && line[0] == '+') {
      pairs.added_tokens.push_back(line.substr(1));
      continue;
    }
    pairs.merges.push_back(line);
    line.erase(std::remove(line.begin(), line.end(), ' '), line.end());
    if (tokens.insert(line).second) pairs.tokens.push_back(line);
  }
  return pairs;
}

// A tokenizer.json of ModernBERT.
std::string TokenizerJson(const BytePairs& pairs) {
  std::string vocab, merges, added;
  const auto add = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  const auto quoted = [](const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result + '"';
  };
  size_t id = 0;
  for (const std::string& token : pairs.tokens) {
    add(vocab, quoted(token) + ": " + std::to_string(id++));
  }
  for (const std::string& merge : pairs.merges) {
    const size_t space = std::min(merge.find(' '), merge.size());
    const std::string second = merge.substr(std::min(space + 1, merge.size()));
    add(merges, '[' + quoted(merge.substr(0, space)) + ", " + quoted(second) +
                    ']');
  }
  for (const std::string& token : pairs.added_tokens) {
    add(added, "{\"id\": " + std::to_string(id++) +
                   ", \"content\": " + quoted(token) +
                   ", \"single_word\": false, \"lstrip\": false, "
                   "\"rstrip\": false, \"normalized\": true, "
                   "\"special\": false}");
  }
  return "{\"added_tokens\": [" + added +
         "], \"normalizer\": {\"type\": \"NFC\"}, \"pre_tokenizer\": {\"type\": "
         "\"ByteLevel\", \"add_prefix_space\": false}, \"model\": {\"type\": "
         "\"BPE\", \"vocab\": {" +
         vocab + "}, \"merges\": [" + merges + "]}}";
}

// The bytes of a .tflite file without a model.
std::string FileOf(std::string_view name, std::string_view vocabulary,
                   std::string_view config) {
  std::string content, directory;
  const auto number = [](std::string& to, size_t value, int size) {
    for (; size > 0; --size, value >>= 8) to += static_cast<char>(value & 255);
  };
  const auto add = [&](std::string_view path, std::string_view part) {
    const size_t header = content.size();
    content.append(30 - 4, '\0');
    number(content, path.size(), 2), number(content, 0, 2);
    content.append(path).append(part);
    number(directory, 0x02014B50, 4);
    directory.append(16, '\0');
    number(directory, part.size(), 4), number(directory, part.size(), 4);
    number(directory, path.size(), 2);
    directory.append(12, '\0');
    number(directory, header, 4);
    directory.append(path);
  };
  add(name, vocabulary), add("span_config.json", config);
  const size_t start = content.size();
  content += directory;
  number(content, 0x06054B50, 4);
  content.append(4, '\0');
  number(content, 2, 2), number(content, 2, 2);
  number(content, directory.size(), 4), number(content, start, 4);
  number(content, 0, 2);
  return content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  // What ends with a separator, or with the input.
  const auto take = [&rest](std::string_view separator) {
    const size_t end = std::min(rest.find(separator), rest.size());
    const std::string_view taken = rest.substr(0, end);
    rest.remove_prefix(std::min(end + separator.size(), rest.size()));
    return taken;
  };
  try {
    if (!rest.empty() && rest[0] == 'F') {
      const File file(std::string(rest.substr(1)));
      Ask(file, "Who came?", "John Smith came, \U00010400 with \xff Anna.");
      return 0;
    }
    if (!rest.empty() && rest[0] == 'S') {
      static const std::deque<File> files = PieceFiles();
      const size_t digit = rest.size() > 1 ? rest[1] - '0' : 0;
      rest.remove_prefix(std::min<size_t>(rest.size(), 2));
      const std::string_view question = take("\n\n");
      Ask(files[digit % files.size()], question, rest);
      return 0;
    }
    std::string vocabulary_name = "vocab.txt", merges;
    std::string vocabulary = "[UNK]\n[CLS]\n[SEP]\n";
    const char kind = rest.empty() ? '\0' : rest[0];
    if (kind == 'B' || kind == 'M') {
      rest.remove_prefix(1);
      const BytePairs pairs = ReadPairs(take("\n\n"));
      if (kind == 'M') {
        vocabulary_name = "tokenizer.json";
        vocabulary = TokenizerJson(pairs);
      } else {
        vocabulary.clear();
        for (const auto& token : pairs.tokens) vocabulary += token + "\n";
        for (const auto& merge : pairs.merges) {
          merges += (merges.empty() ? "\"" : ", \"") + merge + "\"";
        }
      }
    } else {
      vocabulary += take("\n\n");
    }
    const std::string_view question = take("\n\n");
    const auto option = [&](std::string_view name, const char* value) {
      return ", \"" + std::string(name) + "\": " + value;
    };
    const unsigned bits = question.empty() ? 0 : question[0];
    std::string decoder = "\"n_best_size\": 5";
    decoder += option("max_answer_length", bits & 1 ? "3" : "30");
    decoder += option("version_2_with_negative", bits & 2 ? "true" : "false");
    decoder += option("null_score_diff_threshold", bits & 4 ? "-1.5" : "0");
    decoder += option("span_score", bits & 8 ? "\"logit_sum\""
                                             : "\"mean_probability\"");
    decoder += option("temperature", bits & 16 ? "1.7" : "null");
    decoder += option("log_odds_shift", "0");
    decoder += option("decoding", bits & 8 ? "\"viterbi\"" : "\"greedy\"");
    decoder += option("threshold", bits & 16 ? "0.4" : "0");
    const std::string head = bits & 64 ? "bio" : "span";
    std::string file_options = "\"max_length\": 24";
    if (!merges.empty()) file_options += ", \"merges\": [" + merges + "]";
    const File file(FileOf(
        vocabulary_name, vocabulary,
        "{\"format\": 1, \"head\": \"" + head + "\", \"do_lower_case\": " +
            (bits & 32 ? "true" : "false") +
            ", \"window\": {\"max_seq_length\": 24, \"doc_stride\": 7, "
            "\"max_query_length\": 5}, \"decoder\": {" +
            decoder +
            "}, \"tflite\": {" + file_options + "}}"));
    Ask(file, question, rest);
  } catch (const std::runtime_error& error) {
    Expect(std::string_view(error.what()).substr(0, 11) == "bert_span: ",
           "an error is the library's");
  }
  return 0;
}
