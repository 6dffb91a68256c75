// Answers questions about a passage with a .tflite file.
//
//   bert_span_answer qa.tflite passage.txt "Who built the mill?"
//   bert_span_answer --gpu qa.tflite passage.txt <questions.txt
//
// Prints a line of JSON for each question.

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "bert_span.h"

int main(int argc, char** argv) {
  bert_span_options options{};
  if (argc > 1 && argv[1][0] == '-') {
    const std::string option = argv[1];
    if (option == "--gpu") options.accelerator = BERT_SPAN_GPU;
    if (option == "--npu") options.accelerator = BERT_SPAN_NPU;
    if (options.accelerator == BERT_SPAN_CPU) argc = 0;  // No such option.
    ++argv, --argc;
  }
  if (argc != 3 && argc != 4) {
    std::cerr << "Usage: bert_span_answer [--gpu|--npu] MODEL.tflite "
                 "PASSAGE.txt [QUESTION]\n"
                 "Without a question each line of the input is one.\n";
    return 2;
  }
  const std::unique_ptr<bert_span_extractor, void (*)(bert_span_extractor*)>
      extractor(bert_span_open(argv[1], &options), bert_span_close);
  if (!extractor) {
    std::cerr << bert_span_error() << "\n";
    return 1;
  }
  if (bert_span_runs_on(extractor.get()) != options.accelerator) {
    std::cerr << "bert_span: the CPU runs the model\n";
  }
  std::ifstream file(argv[2], std::ios::binary);
  file.peek();  // A folder can be opened, but not read.
  if (!file.is_open() || file.bad()) {
    std::cerr << "bert_span: cannot read " << argv[2] << "\n";
    return 1;
  }
  const std::string passage{std::istreambuf_iterator<char>(file), {}};
  const auto ask = [&](const std::string& question) {
    char* json =
        bert_span_ask_json(extractor.get(), question.data(), question.size(),
                           passage.data(), passage.size(), 0);
    (json ? std::cout : std::cerr) << (json ? json : bert_span_error())
                                   << std::endl;
    bert_span_free_text(json);
    return json != nullptr;
  };
  if (argc == 4) return ask(argv[3]) ? 0 : 1;
  for (std::string line; std::getline(std::cin, line);) {
    if (!ask(line)) return 1;
  }
}
