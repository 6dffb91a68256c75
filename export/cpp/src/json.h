// What answers consist of, as JSON.

#ifndef BERT_SPAN_JSON_H_
#define BERT_SPAN_JSON_H_

#include <ostream>

#include "bert_span.h"
#include "decoder.h"
#include "tokenizer.h"
#include "windows.h"

namespace bert_span {

void WriteJson(std::ostream& json, const bert_span_answer& answer);
void WriteJson(std::ostream& json, const Tokens& tokens);
void WriteJson(std::ostream& json, const Window& window, const Logits& logits);

}  // namespace bert_span

#endif  // BERT_SPAN_JSON_H_
