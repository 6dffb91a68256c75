// Answers questions about a passage with a .tflite file.
//
//   bert_span_answer qa.tflite passage.txt "Who built the mill?"
//   bert_span_answer qa.tflite passage.txt <questions.txt
//
// Prints a line of JSON for each question.

#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "bert_span.h"

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::cerr << "Usage: bert_span_answer MODEL.tflite PASSAGE.txt [QUESTION]\n"
                 "Without a question each line of the input is one.\n";
    return 2;
  }
  try {
    bert_span::SpanExtractor extractor(argv[1]);
    std::ifstream file(argv[2], std::ios::binary);
    if (!file) {
      std::cerr << "bert_span: cannot read " << argv[2] << "\n";
      return 1;
    }
    const std::string passage{std::istreambuf_iterator<char>(file), {}};
    const auto ask = [&](const std::string& question) {
      std::cout << ToJson(extractor.Ask(question, passage)) << std::endl;
    };
    if (argc == 4) {
      ask(argv[3]);
    } else {
      for (std::string line; std::getline(std::cin, line);) ask(line);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
