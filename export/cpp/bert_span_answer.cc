// Answers questions about a passage with a .tflite file; see kUsage.

#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <locale>
#include <memory>
#include <sstream>
#include <string>

#include "bert_span.h"
#include "json.h"

namespace {

constexpr char kUsage[] =
    "Usage: bert_span_answer [OPTIONS] MODEL.tflite PASSAGE.txt [QUESTION]\n"
    "Without a question each line of the input is one.\n"
    "  --n_best=N  print the N best answers, too\n"
    "  --json      print a line of JSON for each question\n"
    "  --gpu       run the model on the GPU, if it can run all of it\n"
    "  --npu       run the model on the NPU, if it can run all of it\n";

// A text in a line, without characters that command a terminal.
std::string OneLine(std::string text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_c1 = byte == 0xC2 && (text[i + 1] & 0xE0) == 0x80;
    if (byte < 0x20 || byte == 0x7F || is_c1) text.replace(i, 1 + is_c1, " ");
  }
  return text;
}

void PrintSpan(const char* indent, const bert_span_span& span) {
  const std::string text = OneLine({span.text, span.text_size});
  if (text.empty()) {
    std::printf("%sNo answer  (probability %.4f)\n", indent, span.probability);
  } else {
    std::printf("%s%s  (probability %.4f, characters %zu-%zu)\n", indent,
                text.c_str(), span.probability, span.char_start, span.char_end);
  }
}

void PrintJson(const bert_span_answer& answer) {
  std::ostringstream json;
  json.imbue(std::locale::classic());
  json.precision(17);
  bert_span::WriteJson(json, answer);
  std::puts(json.str().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  bert_span_options options{};
  bool is_json = false;
  long n_best = 0;
  const option names[] = {{"n_best", required_argument, nullptr, 'n'},
                          {"json", no_argument, nullptr, 'j'},
                          {"gpu", no_argument, nullptr, 'g'},
                          {"npu", no_argument, nullptr, 'u'},
                          {"help", no_argument, nullptr, 'h'},
                          {}};
  for (int name; (name = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    if (name == 'j') is_json = true;
    if (name == 'g') options.accelerator = BERT_SPAN_GPU;
    if (name == 'u') options.accelerator = BERT_SPAN_NPU;
    if (name == 'n') {
      char* end;
      n_best = std::strtol(optarg, &end, 10);
      if (*end != '\0' || n_best < 1) {
        std::cerr << "bert_span: --n_best must be a number above 0. Received: "
                  << optarg << "\n";
        return 2;
      }
    }
    if (name == 'h') {
      std::cout << kUsage;
      return 0;
    }
    if (name == '?') {
      std::cerr << kUsage;
      return 2;
    }
  }
  argv += optind, argc -= optind;
  if (argc != 2 && argc != 3) {
    std::cerr << kUsage;
    return 2;
  }
  const std::unique_ptr<bert_span_extractor, void (*)(bert_span_extractor*)>
      extractor(bert_span_open(argv[0], &options), bert_span_close);
  if (!extractor) {
    std::cerr << bert_span_error() << "\n";
    return 1;
  }
  if (bert_span_runs_on(extractor.get()) != options.accelerator) {
    std::cerr << "bert_span: the CPU runs the model\n";
  }
  std::ifstream file(argv[1], std::ios::binary);
  file.peek();  // A folder can be opened, but not read.
  if (!file.is_open() || file.bad()) {
    std::cerr << "bert_span: cannot read " << argv[1] << "\n";
    return 1;
  }
  const std::string passage{std::istreambuf_iterator<char>(file), {}};
  const auto ask = [&](const std::string& question) {
    const std::unique_ptr<const bert_span_answer,
                          void (*)(const bert_span_answer*)>
        answer(bert_span_ask(extractor.get(), question.data(), question.size(),
                             passage.data(), passage.size(), nullptr, nullptr),
               bert_span_free_answer);
    if (!answer) {
      std::cerr << bert_span_error() << "\n";
      return false;
    }
    if (answer->question_truncated) {
      std::cerr << "bert_span: the end of this question, longer than "
                   "max_query_length, was not read: "
                << OneLine(question) << "\n";
    }
    bert_span_answer shown = *answer;
    if (n_best > 0 || !is_json) {
      shown.n_best_size =
          std::min(shown.n_best_size, static_cast<size_t>(n_best));
    }
    if (is_json) {
      PrintJson(shown);
    } else {
      PrintSpan("", shown.best);
      for (size_t i = 0; i < shown.n_best_size; ++i) {
        PrintSpan("  ", shown.n_best[i]);
      }
    }
    if (std::fflush(stdout) == 0) return true;
    std::cerr << "bert_span: cannot write the answer\n";
    return false;
  };
  if (argc == 3) return ask(argv[2]) ? 0 : 1;
  for (std::string line; std::getline(std::cin, line);) {
    if (!ask(line)) return 1;
  }
}
