// The values of a JSON object, as span_config.json is one.

#ifndef BERT_SPAN_JSON_VALUES_H_
#define BERT_SPAN_JSON_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bert_span {

// The error about a file, or about what the runtime does with it.
std::runtime_error Error(const std::string& message);

// The values of a JSON object by their path: {"a": {"b": 1}} is "a.b": "1".
// Strings keep their quotes, and escapes stay as they are. Of objects the first
// character is kept, and of lists, whose elements are kept apart.
//
// Values that are missing, or of another type than asked for, throw `Error`.
class JsonValues {
 public:
  explicit JsonValues(std::string_view text);

  bool Has(const std::string& path) const { return values_.count(path) > 0; }
  bool IsNull(const std::string& path) const { return Value(path) == "null"; }
  std::string Text(const std::string& path) const;
  // The strings of a list, as UTF-8 without escapes.
  std::vector<std::string> Texts(const std::string& path) const;
  bool IsTrue(const std::string& path) const;
  double Number(const std::string& path) const;
  size_t Count(const std::string& path, size_t least,
               size_t most = std::numeric_limits<int32_t>::max()) const;

  // The error about a value that breaks a rule.
  std::runtime_error Wrong(const std::string& path,
                           const std::string& rule) const;

 private:
  const std::string& Value(const std::string& path) const;

  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<std::string>> lists_;
};

}  // namespace bert_span

#endif  // BERT_SPAN_JSON_VALUES_H_
