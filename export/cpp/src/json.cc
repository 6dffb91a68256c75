#include "json.h"

#include <string_view>

namespace bert_span {
namespace {

void WriteText(std::ostream& json, std::string_view text) {
  json << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json << '\\' << c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      json << "\\u00" << "01"[c >> 4] << "0123456789abcdef"[c & 15];
    } else {
      json << c;
    }
  }
  json << '"';
}

void WriteSpan(std::ostream& json, const bert_span_span& span) {
  json << "\"text\": ";
  WriteText(json, {span.text, span.text_size});
  json << ", \"char_start\": " << span.char_start
       << ", \"char_end\": " << span.char_end
       << ", \"byte_start\": " << span.byte_start
       << ", \"byte_end\": " << span.byte_end
       << ", \"utf16_start\": " << span.utf16_start
       << ", \"utf16_end\": " << span.utf16_end
       << ", \"start_logit\": " << span.start_logit
       << ", \"end_logit\": " << span.end_logit
       << ", \"score\": " << span.score
       << ", \"probability\": " << span.probability;
}

void WriteSpans(std::ostream& json, const char* name,
                const bert_span_span* spans, size_t size) {
  json << '"' << name << "\": [";
  for (size_t i = 0; i < size; ++i) {
    json << (i > 0 ? ", {" : "{");
    WriteSpan(json, spans[i]);
    json << '}';
  }
  json << ']';
}

template <typename Values>
void WriteList(std::ostream& json, const char* name, const Values& values) {
  json << '"' << name << "\": [";
  const char* separator = "";
  for (const auto& value : values) {
    json << separator << value;
    separator = ", ";
  }
  json << ']';
}

}  // namespace

void WriteJson(std::ostream& json, const bert_span_answer& answer) {
  json << "{\"is_answerable\": " << (answer.is_answerable ? "true" : "false")
       << ", ";
  WriteSpan(json, answer.best);
  json << ", \"null_odds\": " << answer.null_odds
       << ", \"question_truncated\": "
       << (answer.question_truncated ? "true" : "false");
  WriteSpans(json << ", ", "n_best", answer.n_best, answer.n_best_size);
  WriteSpans(json << ", ", "spans", answer.spans, answer.num_spans);
  json << '}';
}

void WriteJson(std::ostream& json, const Tokens& tokens) {
  WriteList(json << '{', "ids", tokens.ids);
  WriteList(json << ", ", "char_starts", tokens.char_starts);
  WriteList(json << ", ", "char_ends", tokens.char_ends);
  json << '}';
}

void WriteJson(std::ostream& json, const Window& window, const Logits& logits) {
  json << "{\"context_start\": " << window.context_start
       << ", \"context_length\": " << window.context_length
       << ", \"first_context_position\": " << window.first_context_position;
  WriteList(json << ", ", "input_ids", window.ids);
  WriteList(json << ", ", "is_max_context", window.is_max_context);
  json << ", \"logits\": {";
  if (logits.tags.empty()) {
    WriteList(json, "start_logits", logits.start);
    WriteList(json << ", ", "end_logits", logits.end);
  } else {
    const char* separator = "\"tag_logits\": [[";
    for (const auto& [b, i, o] : logits.tags) {
      json << separator << b << ", " << i << ", " << o;
      separator = "], [";
    }
    json << "]]";
  }
  json << "}}";
}

}  // namespace bert_span
