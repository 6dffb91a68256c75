// The native methods of bertspan.SpanExtractor.

#include <jni.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "bert_span.h"

namespace {

bert_span_options Options(jint num_threads, jint accelerator) {
  bert_span_options options{};
  options.num_threads = num_threads;
  options.accelerator = static_cast<bert_span_accelerator>(accelerator);
  return options;
}

bert_span_extractor* Extractor(jlong handle) {
  return reinterpret_cast<bert_span_extractor*>(handle);
}

// What a function returns, or an OutOfMemoryError: no C++ exception may reach
// the JVM.
template <typename Function>
auto Guarded(JNIEnv* env, const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    const jclass error = env->FindClass("java/lang/OutOfMemoryError");
    if (error != nullptr) env->ThrowNew(error, "bert_span");
    return {};
  }
}

std::string Text(JNIEnv* env, jbyteArray bytes) {
  std::string text(env->GetArrayLength(bytes), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(text.size()),
                          reinterpret_cast<jbyte*>(text.data()));
  return text;
}

// NULL with an OutOfMemoryError if the memory does not suffice.
jbyteArray Bytes(JNIEnv* env, const char* text) {
  const jsize size = static_cast<jsize>(std::strlen(text));
  jbyteArray bytes = env->NewByteArray(size);
  if (bytes != nullptr) {
    env->SetByteArrayRegion(bytes, 0, size,
                            reinterpret_cast<const jbyte*>(text));
  }
  return bytes;
}

}  // namespace

#define METHOD(type, name) \
  extern "C" JNIEXPORT type JNICALL Java_bertspan_SpanExtractor_##name

METHOD(jlong, open)(JNIEnv* env, jclass, jbyteArray path, jint num_threads,
                    jint accelerator) {
  const bert_span_options options = Options(num_threads, accelerator);
  return Guarded(env, [&] {
    return reinterpret_cast<jlong>(
        bert_span_open(Text(env, path).c_str(), &options));
  });
}

METHOD(jlong, openBuffer)(JNIEnv* env, jclass, jobject file, jlong size,
                          jint num_threads, jint accelerator) {
  const bert_span_options options = Options(num_threads, accelerator);
  return reinterpret_cast<jlong>(
      bert_span_open_bytes(env->GetDirectBufferAddress(file),
                           static_cast<size_t>(size), &options));
}

METHOD(jdoubleArray, ask)(JNIEnv* env, jclass, jlong handle,
                          jbyteArray question, jbyteArray context) {
  return Guarded(env, [&]() -> jdoubleArray {
    const std::string question_text = Text(env, question);
    const std::string context_text = Text(env, context);
    const std::unique_ptr<const bert_span_answer,
                          void (*)(const bert_span_answer*)>
        answer(bert_span_ask(Extractor(handle), question_text.data(),
                             question_text.size(), context_text.data(),
                             context_text.size(), nullptr, nullptr),
               bert_span_free_answer);
    if (answer == nullptr) return nullptr;
    std::vector<jdouble> values = {static_cast<jdouble>(answer->is_answerable),
                                   answer->null_odds,
                                   static_cast<jdouble>(
                                       answer->question_truncated)};
    const auto add = [&values](const bert_span_span& span) {
      values.insert(values.end(), {static_cast<jdouble>(span.utf16_start),
                                   static_cast<jdouble>(span.utf16_end),
                                   span.start_logit, span.end_logit, span.score,
                                   span.probability});
    };
    add(answer->best);
    for (size_t i = 0; i < answer->n_best_size; ++i) add(answer->n_best[i]);
    const jsize size = static_cast<jsize>(values.size());
    const jdoubleArray array = env->NewDoubleArray(size);
    if (array != nullptr) {
      env->SetDoubleArrayRegion(array, 0, size, values.data());
    }
    return array;
  });
}

METHOD(jbyteArray, steps)(JNIEnv* env, jclass, jlong handle,
                          jbyteArray question, jbyteArray context) {
  return Guarded(env, [&]() -> jbyteArray {
    const std::string question_text = Text(env, question);
    const std::string context_text = Text(env, context);
    const std::unique_ptr<char, void (*)(char*)> json(
        bert_span_ask_json(Extractor(handle), question_text.data(),
                           question_text.size(), context_text.data(),
                           context_text.size(), 1),
        bert_span_free_text);
    return json == nullptr ? nullptr : Bytes(env, json.get());
  });
}

METHOD(jint, runsOn)(JNIEnv*, jclass, jlong handle) {
  return bert_span_runs_on(Extractor(handle));
}

METHOD(jbyteArray, error)(JNIEnv* env, jclass) {
  return Bytes(env, bert_span_error());
}

METHOD(void, close)(JNIEnv*, jclass, jlong handle) {
  bert_span_close(Extractor(handle));
}
