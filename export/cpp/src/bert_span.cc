#include "bert_span.h"

#include <cstdint>
#include <cstring>
#include <exception>
#include <locale>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "answers.h"
#include "file.h"
#include "json.h"
#include "runtime.h"

using bert_span::Answers;
using bert_span::Logits;
using bert_span::Window;

struct bert_span_extractor {
  bert_span_extractor(std::string content, const bert_span_options* options)
      : file(std::move(content)),
        answers(file, options ? options->null_score_diff_threshold : nullptr),
        runtime(file, options ? *options : bert_span_options{}) {}

  const bert_span::File file;
  const Answers answers;
  bert_span::Runtime runtime;
};

namespace {

thread_local std::string last_error;

// What a function returns, or NULL (0) and the text of the exception.
template <typename Function>
auto Guarded(const Function& function) noexcept -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception& error) {
    try {
      // Names of files and parts of them may be no UTF-8.
      last_error = bert_span::Encode(bert_span::Decode(error.what()).codes);
    } catch (const std::bad_alloc&) {
      last_error.clear();
    }
    return {};
  }
}

void CheckExtractor(const bert_span_extractor* extractor) {
  if (extractor == nullptr) {
    throw bert_span::Error(
        "extractor is NULL: bert_span_open failed, read its error");
  }
}

// The bytes of an argument.
std::string_view Bytes(const char* name, const void* bytes, size_t size) {
  if (bytes == nullptr) throw bert_span::Error(name + std::string(" is NULL"));
  if (size > PTRDIFF_MAX) {  // A negative number, for example.
    throw bert_span::Error(name + std::string(" has an impossible size: ") +
                           std::to_string(size));
  }
  return {static_cast<const char*>(bytes), size};
}

}  // namespace

bert_span_extractor* bert_span_open(const char* path,
                                    const bert_span_options* options) {
  return Guarded([&] {
    if (path == nullptr) throw bert_span::Error("path is NULL");
    return new bert_span_extractor(bert_span::ReadFile(path), options);
  });
}

bert_span_extractor* bert_span_open_bytes(const void* bytes, size_t size,
                                          const bert_span_options* options) {
  return Guarded([&] {
    return new bert_span_extractor(std::string(Bytes("bytes", bytes, size)),
                                   options);
  });
}

void bert_span_close(bert_span_extractor* extractor) { delete extractor; }

bert_span_accelerator bert_span_runs_on(const bert_span_extractor* extractor) {
  return Guarded([&] {
    CheckExtractor(extractor);
    return extractor->runtime.accelerator();
  });
}

size_t bert_span_n_best_size(const bert_span_extractor* extractor) {
  return Guarded([&] {
    CheckExtractor(extractor);
    return extractor->answers.n_best_size();
  });
}

const bert_span_answer* bert_span_ask(bert_span_extractor* extractor,
                                      const char* question,
                                      size_t question_size, const char* context,
                                      size_t context_size,
                                      bert_span_progress progress, void* user) {
  return Guarded([&]() -> const bert_span_answer* {
    CheckExtractor(extractor);
    const auto logits_of = [&](const Window& window, size_t i, size_t count) {
      Logits logits = extractor->runtime.Run(window);
      if (progress != nullptr && progress(user, i + 1, count) != 0) {
        throw bert_span::Error("the question was stopped");
      }
      return logits;
    };
    return extractor->answers
        .Ask(Bytes("question", question, question_size),
             Bytes("context", context, context_size), logits_of)
        .release();
  });
}

void bert_span_free_answer(const bert_span_answer* answer) {
  delete static_cast<const bert_span::Answer*>(answer);
}

char* bert_span_ask_json(bert_span_extractor* extractor, const char* question,
                         size_t question_size, const char* context,
                         size_t context_size, int with_steps) {
  return Guarded([&] {
    CheckExtractor(extractor);
    const auto question_text = Bytes("question", question, question_size);
    const auto context_text = Bytes("context", context, context_size);
    const Answers& answers = extractor->answers;
    std::ostringstream json, windows;
    for (std::ostream* stream : {&json, &windows}) {
      stream->imbue(std::locale::classic());
      stream->precision(17);
    }
    const auto logits_of = [&](const Window& window, size_t i, size_t) {
      Logits logits = extractor->runtime.Run(window);
      if (with_steps) WriteJson(windows << (i > 0 ? ", " : ""), window, logits);
      return logits;
    };
    const auto answer = answers.Ask(question_text, context_text, logits_of);
    if (with_steps) {
      WriteJson(json << "{\"question_tokens\": ",
                answers.Tokenize(question_text));
      WriteJson(json << ", \"context_tokens\": ",
                answers.Tokenize(context_text));
      json << ", \"windows\": [" << windows.str() << "], \"answer\": ";
    }
    WriteJson(json, *answer);
    if (with_steps) json << '}';
    const std::string text = json.str();
    char* copy = new char[text.size() + 1];
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
  });
}

void bert_span_free_text(char* text) { delete[] text; }

const char* bert_span_error(void) { return last_error.c_str(); }
