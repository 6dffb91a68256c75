#include "runtime.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace bert_span {
namespace {

// The runtime plans its memory once for each length: few lengths. At least one
// [PAD] follows a window that is shorter than the longest.
constexpr size_t kLengthMultiple = 32;
constexpr size_t kNumTags = 3;
constexpr int kCpu = 1, kGpu = 2, kNpu = 4;  // Bits of LiteRT.
// LiteRT ends the process where the system has no more threads.
constexpr int kMaxThreads = 256;

void Check(LiteRtStatus status, const char* what) {
  if (status != 0) {
    throw Error(std::string("LiteRT cannot ") + what + ": status " +
                std::to_string(status));
  }
}

// The place for the result of a function that makes a handle.
template <typename Handle, typename Deleter>
class Out {
 public:
  explicit Out(std::unique_ptr<Handle, Deleter>& owner) : owner_(owner) {}
  ~Out() { owner_.reset(made_); }
  operator Handle**() { return &made_; }

 private:
  std::unique_ptr<Handle, Deleter>& owner_;
  Handle* made_ = nullptr;
};

// The folder of LiteRT's library, with those of accelerators beside it.
std::string LiteRtFolder() {
  Dl_info library;
  const auto address = reinterpret_cast<const void*>(&LiteRtCreateEnvironment);
  if (dladdr(address, &library) == 0) return "";
  const std::string path = library.dli_fname;
  return path.substr(0, path.find_last_of('/') + 1);
}

size_t PlaceOf(const std::vector<std::string>& names, const char* name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(std::string("the model has no ") + name);
  }
  return found - names.begin();
}

// The memory of a buffer, for as long as the object lives.
class Memory {
 public:
  Memory(LiteRtTensorBuffer buffer, int mode) : buffer_(buffer) {
    Check(LiteRtLockTensorBuffer(buffer, &address_, mode), "reach a buffer");
  }
  ~Memory() { LiteRtUnlockTensorBuffer(buffer_); }
  Memory(const Memory&) = delete;

  template <typename Number>
  Number* as() const {
    return static_cast<Number*>(address_);
  }

 private:
  LiteRtTensorBuffer buffer_;
  void* address_ = nullptr;
};

}  // namespace

Runtime::Runtime(const File& file, const bert_span_options& options)
    : max_length_(file.max_length()),
      is_dynamic_(file.config().IsTrue("tflite.dynamic_length")),
      is_bio_(file.is_bio()),
      outputs_(is_bio_ ? 1 : 2) {
  constexpr int kDispatchFolder = 1, kLibraryFolder = 22, kAccelerators = 24,
                kLogSeverity = 25;
  constexpr int kInteger = 2, kText = 8, kErrors = 3;
  if (options.num_threads < 0 || options.num_threads > kMaxThreads) {
    throw Error("num_threads must be from 0 to " + std::to_string(kMaxThreads) +
                ". Received: " + std::to_string(options.num_threads));
  }
  if (options.accelerator < BERT_SPAN_CPU ||
      options.accelerator > BERT_SPAN_NPU) {
    throw Error("accelerator must be from 0 to " +
                std::to_string(BERT_SPAN_NPU) +
                ". Received: " + std::to_string(options.accelerator));
  }
  const std::string folder =
      options.library_folder ? options.library_folder : LiteRtFolder();
  const int wanted = options.accelerator == BERT_SPAN_GPU   ? kGpu
                     : options.accelerator == BERT_SPAN_NPU ? kNpu
                                                            : kCpu;
  // It looks for all accelerators and reports every step otherwise.
  LiteRtEnvOption settings[] = {{kAccelerators, {kInteger, {wanted | kCpu}}},
                                {kLogSeverity, {kInteger, {kErrors}}},
                                {kLibraryFolder, {kText, {0}}},
                                {kDispatchFolder, {kText, {0}}}};
  settings[2].value.text = settings[3].value.text = folder.c_str();
  Check(LiteRtCreateEnvironment(4, settings, Out(environment_)), "start");
  const std::string_view model = file.model();
  Check(LiteRtCreateModelFromBuffer(environment_.get(), model.data(),
                                    model.size(), Out(model_)),
        "read the model");
  if (wanted != kCpu && Compile(wanted, options.num_threads)) {
    accelerator_ = options.accelerator;
  } else if (!Compile(kCpu, options.num_threads)) {
    throw Error("LiteRT cannot compile the model");
  }
  FindTensors();
  LiteRtLayout layout;
  Check(LiteRtGetCompiledModelInputTensorLayout(compiled_.get(), 0, 0, &layout),
        "find the length of windows");
  // Windows of any length have 1 until they are resized.
  const int32_t length = layout.dimensions[1];
  if (length != (is_dynamic_ ? 1 : static_cast<int32_t>(max_length_))) {
    throw Error("span_config.json: tflite.max_length and dynamic_length are " +
                std::to_string(max_length_) + " and " +
                (is_dynamic_ ? "true" : "false") +
                ", but the windows of the model have the length " +
                std::to_string(length) + ". Export the file again");
  }
  if (!is_dynamic_) MakeBuffers(max_length_);
}

// Whether these accelerators run all of the model. LiteRT would otherwise run
// the rest on the CPU, or everything, and not say so.
bool Runtime::Compile(int accelerators, int num_threads) {
  Owned<LiteRtOptions> options(nullptr, LiteRtDestroyOptions);
  Check(LiteRtCreateOptions(Out(options)), "make options");
  Check(LiteRtSetOptionsHardwareAccelerators(options.get(), accelerators),
        "choose the processor");
  // The options of its processor kernels are TOML.
  const std::string threads =
      "num_threads = " + std::to_string(std::max(num_threads, 1)) + "\n";
  char* payload = static_cast<char*>(std::malloc(threads.size() + 1));
  if (payload == nullptr) throw std::bad_alloc();
  std::memcpy(payload, threads.c_str(), threads.size() + 1);
  LiteRtOpaqueOptions cpu_options = nullptr;
  Check(LiteRtCreateOpaqueOptions("xnnpack", payload, std::free, &cpu_options),
        "make options");
  Check(LiteRtAddOpaqueOptions(options.get(), cpu_options), "set threads");
  const bool is_compiled =
      LiteRtCreateCompiledModel(environment_.get(), model_.get(), options.get(),
                                Out(compiled_)) == 0;
  if (!is_compiled || accelerators == kCpu) return is_compiled;
  bool is_accelerated = false;
  Check(LiteRtCompiledModelIsNonCpuFullyAccelerated(compiled_.get(),
                                                    &is_accelerated),
        "say what runs the model");
  return is_accelerated;
}

Logits Runtime::Run(const Window& window) {
  const size_t size = window.ids.size();
  size_t length = max_length_;
  if (is_dynamic_) {
    length = (size / kLengthMultiple + 1) * kLengthMultiple;
    length = std::min(length, max_length_);
  }
  if (length != length_) Resize(length);
  {
    constexpr int kWrite = 1;
    const Memory ids(inputs_[ids_], kWrite), mask(inputs_[mask_], kWrite);
    const Memory segment_ids(inputs_[segment_ids_], kWrite);
    for (size_t i = 0; i < length; ++i) {
      ids.as<int32_t>()[i] = i < size ? window.ids[i] : 0;
      mask.as<int32_t>()[i] = i < size;
      segment_ids.as<int32_t>()[i] =
          i < size && i >= window.first_context_position;
    }
  }
  Check(LiteRtRunCompiledModel(compiled_.get(), 0, inputs_.size(),
                               inputs_.data(), outputs_.size(),
                               outputs_.data()),
        "run the model");
  const auto read = [&](size_t output) {
    constexpr int kRead = 0;
    const Memory memory(outputs_[output], kRead);
    const float* first = memory.as<const float>();
    const float* last = first + size * (is_bio_ ? kNumTags : 1);
    if (!std::all_of(first, last,
                     [](float logit) { return std::isfinite(logit); })) {
      throw Error("the model gives numbers that are not finite");
    }
    return std::vector<float>(first, last);
  };
  if (!is_bio_) return {read(start_logits_), read(end_logits_), {}};
  Logits logits;
  const std::vector<float> values = read(0);
  for (size_t i = 0; i < values.size(); i += kNumTags) {
    logits.tags.push_back({values[i], values[i + 1], values[i + 2]});
  }
  return logits;
}

// Finds the order of the inputs and outputs, which the converter chose.
void Runtime::FindTensors() {
  LiteRtSignature signature;
  size_t num_inputs, num_outputs;
  Check(LiteRtGetModelSignature(model_.get(), 0, &signature),
        "find a signature");
  Check(LiteRtGetNumSignatureInputs(signature, &num_inputs), "count inputs");
  Check(LiteRtGetNumSignatureOutputs(signature, &num_outputs), "count outputs");
  if (num_inputs != inputs_.size() || num_outputs != outputs_.size()) {
    throw Error("the model has other inputs or outputs");
  }
  std::vector<std::string> inputs, outputs;
  const char* name;
  for (size_t i = 0; i < num_inputs; ++i) {
    Check(LiteRtGetSignatureInputName(signature, i, &name), "name an input");
    inputs.push_back(name);
  }
  for (size_t i = 0; i < num_outputs; ++i) {
    Check(LiteRtGetSignatureOutputName(signature, i, &name), "name an output");
    outputs.push_back(name);
  }
  ids_ = PlaceOf(inputs, "ids");
  mask_ = PlaceOf(inputs, "mask");
  segment_ids_ = PlaceOf(inputs, "segment_ids");
  if (is_bio_) {
    PlaceOf(outputs, "tag_logits");
    return;
  }
  start_logits_ = PlaceOf(outputs, "start_logits");
  end_logits_ = PlaceOf(outputs, "end_logits");
}

void Runtime::Resize(size_t length) {
  length_ = 0;  // If this fails, the next window resizes again.
  const int shape[] = {1, static_cast<int>(length)};
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Check(LiteRtCompiledModelResizeInputTensor(compiled_.get(), 0, i, shape, 2),
          "change the length of windows");
  }
  std::vector<LiteRtLayout> layouts(outputs_.size());
  Check(LiteRtGetCompiledModelOutputTensorLayouts(
            compiled_.get(), 0, layouts.size(), layouts.data(), true),
        "plan its memory");
  MakeBuffers(length);
}

void Runtime::MakeBuffers(size_t length) {
  constexpr int kFloat32 = 1, kInt32 = 2;
  buffers_.clear();
  const auto make = [&](int element_type, size_t num_values,
                        LiteRtBufferRequirements needed) {
    LiteRtRankedTensorType type{};
    type.element_type = element_type;
    type.layout.rank = num_values > 1 ? 3 : 2;
    type.layout.dimensions[0] = 1;
    type.layout.dimensions[1] = static_cast<int32_t>(length);
    type.layout.dimensions[2] = static_cast<int32_t>(num_values);
    int memory;
    Check(LiteRtGetTensorBufferRequirementsSupportedTensorBufferType(needed, 0,
                                                                     &memory),
          "choose a memory");
    buffers_.emplace_back(nullptr, LiteRtDestroyTensorBuffer);
    // Of the longest window: LiteRT 2.3 takes no buffer that is smaller than
    // those of an earlier length.
    Check(LiteRtCreateManagedTensorBuffer(environment_.get(), memory, &type,
                                          4 * max_length_ * num_values,
                                          Out(buffers_.back())),
          "make a buffer");
    return buffers_.back().get();
  };
  LiteRtBufferRequirements needed;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Check(LiteRtGetCompiledModelInputBufferRequirements(compiled_.get(), 0, i,
                                                        &needed),
          "describe an input");
    inputs_[i] = make(kInt32, 1, needed);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Check(LiteRtGetCompiledModelOutputBufferRequirements(compiled_.get(), 0, i,
                                                         &needed),
          "describe an output");
    outputs_[i] = make(kFloat32, is_bio_ ? kNumTags : 1, needed);
  }
  length_ = length;
}

}  // namespace bert_span
