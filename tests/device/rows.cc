// What export/cpp makes of many texts, as rows of JSON.
//
//   rows MODEL tokens    of each text: ids, char_starts, char_ends
//   rows MODEL answers   of each question and passage: the answer
//   rows MODEL vectors   the same, with tokens, windows and logits
//
// Each text is four bytes with its length, the lowest first, and its bytes.

#include <iostream>
#include <string>

#include "answers.h"
#include "bert_span.h"
#include "file.h"
#include "json.h"

namespace {

bool ReadText(std::string& text) {
  unsigned char bytes[4];
  if (!std::cin.read(reinterpret_cast<char*>(bytes), 4)) return false;
  text.resize(bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24);
  return static_cast<bool>(std::cin.read(text.data(), text.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string mode = argv[2];
  std::string question, context;
  if (mode == "tokens") {
    const bert_span::File file(bert_span::ReadFile(argv[1]));
    const bert_span::Answers answers(file);
    while (ReadText(context)) {
      bert_span::WriteJson(std::cout, answers.Tokenize(context));
      std::cout << "\n";
    }
    return 0;
  }
  bert_span_extractor* extractor = bert_span_open(argv[1], nullptr);
  while (extractor && ReadText(question) && ReadText(context)) {
    char* json = bert_span_ask_json(extractor, question.data(), question.size(),
                                    context.data(), context.size(),
                                    mode == "vectors");
    if (!json) break;
    std::cout << json << "\n";
    bert_span_free_text(json);
  }
  bert_span_close(extractor);
  std::cerr << bert_span_error();
  return *bert_span_error() != '\0';
}
