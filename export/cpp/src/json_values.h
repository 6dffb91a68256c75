// The values of a JSON object, as span_config.json is one.

#ifndef BERT_SPAN_JSON_VALUES_H_
#define BERT_SPAN_JSON_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bert_span {

// The error about a file, or about what the runtime does with it.
std::runtime_error Error(const std::string& message);

// A value of JSON and those in it.
struct JsonValue {
  // As it is written, a string without escapes. Of an object and of a list the
  // first character.
  std::string text;
  // Names are empty in a list.
  std::vector<std::pair<std::string, JsonValue>> members;
};

// The values in a value of JSON by their path: in {"a": {"b": 1}} "a.b" is 1,
// and "" is all of it.
//
// Values that are missing, or of another type than asked for, throw `Error`.
class JsonValues {
 public:
  // Reads the text of a file, whose name is for messages.
  JsonValues(std::string_view text, std::string_view file);

  bool Has(const std::string& path) const { return Find(path) != nullptr; }
  bool IsNull(const std::string& path) const;
  std::string Text(const std::string& path) const;
  // The strings of a list.
  std::vector<std::string> Texts(const std::string& path) const;
  bool IsTrue(const std::string& path) const;
  double Number(const std::string& path) const;
  size_t Count(const std::string& path, size_t least,
               size_t most = std::numeric_limits<int32_t>::max()) const;
  std::vector<JsonValues> Elements(const std::string& path) const;  // A list's.
  // The values of an object and their names.
  std::vector<std::pair<std::string, JsonValues>> Members(
      const std::string& path) const;

  // The error about a value that breaks a rule.
  std::runtime_error Wrong(const std::string& path,
                           const std::string& rule) const;

 private:
  JsonValues(JsonValue value, std::string place)
      : value_(std::move(value)), place_(std::move(place)) {}

  const JsonValue* Find(const std::string& path) const;  // Or null.
  const JsonValue& Value(const std::string& path) const;
  std::string Place(const std::string& path) const;

  JsonValue value_;
  std::string place_;  // The file, and where the value is in it.
};

}  // namespace bert_span

#endif  // BERT_SPAN_JSON_VALUES_H_
