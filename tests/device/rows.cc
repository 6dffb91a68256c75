// What bert_span.h makes of many texts, as rows of JSON.
//
//   rows MODEL tokens    of each text: ids, char_starts, char_ends
//   rows MODEL answers   of each question and passage: the answer
//   rows MODEL vectors   the same, with tokens, windows and logits
//
// Each text is four bytes with its length, the lowest first, and its bytes.

#include <iostream>
#include <string>

#include "bert_span.h"

namespace {

bool ReadText(std::string& text) {
  unsigned char bytes[4];
  if (!std::cin.read(reinterpret_cast<char*>(bytes), 4)) return false;
  text.resize(bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24);
  return static_cast<bool>(std::cin.read(text.data(), text.size()));
}

template <typename Values>
void WriteList(const Values& values) {
  const char* separator = "[";
  for (const auto& value : values) {
    std::cout << separator << value;
    separator = ",";
  }
  std::cout << (values.empty() ? "[]" : "]");
}

void WriteTokens(const bert_span::Tokens& tokens) {
  std::cout << "{\"ids\": ";
  WriteList(tokens.ids);
  std::cout << ", \"char_starts\": ";
  WriteList(tokens.char_starts);
  std::cout << ", \"char_ends\": ";
  WriteList(tokens.char_ends);
  std::cout << "}";
}

void WriteWindow(const bert_span::Window& window,
                 const bert_span::Logits& logits) {
  std::cout << "{\"context_start\": " << window.context_start
            << ", \"context_length\": " << window.context_length
            << ", \"first_context_position\": "
            << window.first_context_position << ", \"input_ids\": ";
  WriteList(window.ids);
  std::cout << ", \"is_max_context\": ";
  WriteList(window.is_max_context);
  std::cout << ", \"logits\": {\"start_logits\": ";
  WriteList(logits.start);
  std::cout << ", \"end_logits\": ";
  WriteList(logits.end);
  std::cout << "}}";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string mode = argv[2];
  bert_span::SpanExtractor extractor(argv[1]);
  std::cout.precision(9);
  for (std::string question, context; ReadText(question);) {
    if (mode == "tokens") {
      WriteTokens(extractor.Tokenize(question));
      std::cout << "\n";
      continue;
    }
    if (!ReadText(context)) return 2;
    bert_span::Observer observer;
    if (mode == "vectors") {
      std::cout << "{\"question_tokens\": ";
      WriteTokens(extractor.Tokenize(question));
      std::cout << ", \"context_tokens\": ";
      WriteTokens(extractor.Tokenize(context));
      std::cout << ", \"windows\": [";
      observer = [](const bert_span::Window& window,
                    const bert_span::Logits& logits, size_t index, size_t) {
        if (index > 0) std::cout << ", ";
        WriteWindow(window, logits);
      };
    }
    const std::string answer =
        ToJson(extractor.Ask(question, context, observer));
    if (mode == "vectors") std::cout << "], \"answer\": ";
    std::cout << answer << (mode == "vectors" ? "}\n" : "\n");
  }
}
