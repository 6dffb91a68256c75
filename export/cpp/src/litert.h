// The part of LiteRT's C API that is called here, version 2.3. Its library is
// in the wheel ai-edge-litert, its headers are in no package.

#ifndef BERT_SPAN_LITERT_H_
#define BERT_SPAN_LITERT_H_

#include <cstddef>
#include <cstdint>

extern "C" {
typedef int LiteRtStatus;  // 0 for success.
typedef struct LiteRtEnvironmentT* LiteRtEnvironment;
typedef struct LiteRtModelT* LiteRtModel;
typedef struct LiteRtSignatureT* LiteRtSignature;
typedef struct LiteRtOptionsT* LiteRtOptions;
typedef struct LiteRtOpaqueOptionsT* LiteRtOpaqueOptions;
typedef struct LiteRtCompiledModelT* LiteRtCompiledModel;
typedef struct LiteRtTensorBufferT* LiteRtTensorBuffer;
typedef struct LiteRtTensorBufferRequirementsT* LiteRtBufferRequirements;

typedef struct {
  int tag;
  struct {
    int type;
    union {
      int64_t integer;
      const char* text;
    };
  } value;
} LiteRtEnvOption;
typedef struct {
  unsigned int rank : 7;
  unsigned int has_strides : 1;
  int32_t dimensions[8];
  uint32_t strides[8];
} LiteRtLayout;
typedef struct {
  int element_type;
  LiteRtLayout layout;
} LiteRtRankedTensorType;

LiteRtStatus LiteRtCreateEnvironment(int, const LiteRtEnvOption*,
                                     LiteRtEnvironment*);
void LiteRtDestroyEnvironment(LiteRtEnvironment);
LiteRtStatus LiteRtCreateModelFromBuffer(LiteRtEnvironment, const void*, size_t,
                                         LiteRtModel*);
void LiteRtDestroyModel(LiteRtModel);
LiteRtStatus LiteRtGetModelSignature(LiteRtModel, size_t, LiteRtSignature*);
LiteRtStatus LiteRtGetNumSignatureInputs(LiteRtSignature, size_t*);
LiteRtStatus LiteRtGetNumSignatureOutputs(LiteRtSignature, size_t*);
LiteRtStatus LiteRtGetSignatureInputName(LiteRtSignature, size_t, const char**);
LiteRtStatus LiteRtGetSignatureOutputName(LiteRtSignature, size_t,
                                          const char**);
LiteRtStatus LiteRtCreateOptions(LiteRtOptions*);
void LiteRtDestroyOptions(LiteRtOptions);
LiteRtStatus LiteRtSetOptionsHardwareAccelerators(LiteRtOptions, int);
LiteRtStatus LiteRtCreateOpaqueOptions(const char*, void*, void (*)(void*),
                                       LiteRtOpaqueOptions*);
LiteRtStatus LiteRtAddOpaqueOptions(LiteRtOptions, LiteRtOpaqueOptions);
LiteRtStatus LiteRtCreateCompiledModel(LiteRtEnvironment, LiteRtModel,
                                       LiteRtOptions, LiteRtCompiledModel*);
void LiteRtDestroyCompiledModel(LiteRtCompiledModel);
LiteRtStatus LiteRtCompiledModelResizeInputTensor(LiteRtCompiledModel, size_t,
                                                  size_t, const int*, size_t);
LiteRtStatus LiteRtGetCompiledModelInputTensorLayout(
    LiteRtCompiledModel, size_t, size_t, LiteRtLayout*);
LiteRtStatus LiteRtGetCompiledModelOutputTensorLayouts(
    LiteRtCompiledModel, size_t, size_t, LiteRtLayout*, bool);
LiteRtStatus LiteRtRunCompiledModel(LiteRtCompiledModel, size_t, size_t,
                                    LiteRtTensorBuffer*, size_t,
                                    LiteRtTensorBuffer*);
LiteRtStatus LiteRtCompiledModelIsNonCpuFullyAccelerated(LiteRtCompiledModel,
                                                         bool*);
LiteRtStatus LiteRtGetCompiledModelInputBufferRequirements(
    LiteRtCompiledModel, size_t, size_t, LiteRtBufferRequirements*);
LiteRtStatus LiteRtGetCompiledModelOutputBufferRequirements(
    LiteRtCompiledModel, size_t, size_t, LiteRtBufferRequirements*);
LiteRtStatus LiteRtGetTensorBufferRequirementsSupportedTensorBufferType(
    LiteRtBufferRequirements, int, int*);
LiteRtStatus LiteRtCreateManagedTensorBuffer(LiteRtEnvironment, int,
                                             const LiteRtRankedTensorType*,
                                             size_t, LiteRtTensorBuffer*);
LiteRtStatus LiteRtLockTensorBuffer(LiteRtTensorBuffer, void**, int);
LiteRtStatus LiteRtUnlockTensorBuffer(LiteRtTensorBuffer);
void LiteRtDestroyTensorBuffer(LiteRtTensorBuffer);
}

#endif  // BERT_SPAN_LITERT_H_
