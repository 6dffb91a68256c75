// Logits of windows, computed by LiteRT.

#ifndef BERT_SPAN_RUNTIME_H_
#define BERT_SPAN_RUNTIME_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bert_span.h"
#include "decoder.h"
#include "file.h"
#include "litert.h"
#include "windows.h"

namespace bert_span {

// Runs the model on one window at a time.
class Runtime {
 public:
  // The file must outlive the object. Throws `Error` if LiteRT fails.
  Runtime(const File& file, const bert_span_options& options);

  Logits Run(const Window& window);

  bert_span_accelerator accelerator() const { return accelerator_; }

 private:
  // A handle of LiteRT with the function that destroys it.
  template <typename Handle>
  using Owned =
      std::unique_ptr<std::remove_pointer_t<Handle>, void (*)(Handle)>;

  bool Compile(int accelerators, int num_threads);
  void FindTensors();
  void Resize(size_t length);
  void MakeBuffers(size_t length);

  const size_t max_length_;
  const bool is_dynamic_, is_bio_;
  bert_span_accelerator accelerator_ = BERT_SPAN_CPU;
  // In this order: what is made last is destroyed first.
  Owned<LiteRtEnvironment> environment_{nullptr, LiteRtDestroyEnvironment};
  Owned<LiteRtModel> model_{nullptr, LiteRtDestroyModel};
  Owned<LiteRtCompiledModel> compiled_{nullptr, LiteRtDestroyCompiledModel};
  std::vector<Owned<LiteRtTensorBuffer>> buffers_;
  std::array<LiteRtTensorBuffer, 3> inputs_{};
  std::vector<LiteRtTensorBuffer> outputs_;
  size_t length_ = 0;
  // Places in inputs_ and outputs_.
  size_t ids_ = 0, mask_ = 0, segment_ids_ = 0;
  size_t start_logits_ = 0, end_logits_ = 0;  // Of a span head.
};

}  // namespace bert_span

#endif  // BERT_SPAN_RUNTIME_H_
