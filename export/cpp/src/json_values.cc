#include "json_values.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <locale>
#include <sstream>
#include <utility>

#include "tokenizer.h"

namespace bert_span {
namespace {

[[noreturn]] void Fail() {
  throw Error("span_config.json is damaged: export the file again");
}

// Reads the values of a JSON text.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  void Read() {
    ReadValue("", 0);
    if (Next() != '\0') Fail();
  }

  std::map<std::string, std::string> values;
  std::map<std::string, std::vector<std::string>> lists;

 private:
  // The next character that is no white space; 0 at the end.
  char Next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"),
                                 rest_.size()));
    return rest_.empty() ? '\0' : rest_[0];
  }

  bool Take(char character) {
    if (Next() != character) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string TakeUntil(size_t end) {
    if (end > rest_.size()) Fail();
    std::string taken(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return taken;
  }

  std::string TakeString() {
    if (!Take('"')) Fail();
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"') {
      end += rest_[end] == '\\' ? 2 : 1;
    }
    std::string taken = TakeUntil(end);
    if (!Take('"')) Fail();
    return taken;
  }

  void ReadValue(const std::string& path, int depth) {
    constexpr int kMaxDepth = 20;
    if (depth > kMaxDepth) Fail();
    const char first = Next();
    if (first == '"') {
      values[path] = '"' + TakeString() + '"';
    } else if (Take('{') || Take('[')) {
      values[path] = first;
      const char close = first == '{' ? '}' : ']';
      if (Take(close)) return;
      do {
        std::string name = path + "[]";
        if (first == '{') {
          name = path + (path.empty() ? "" : ".") + TakeString();
          if (!Take(':')) Fail();
        }
        ReadValue(name, depth + 1);
        if (first == '[') lists[path].push_back(values[name]);
      } while (Take(','));
      if (!Take(close)) Fail();
    } else {
      const size_t end = std::min(rest_.find_first_of(",]} \t\r\n"),
                                  rest_.size());
      if (end == 0) Fail();
      values[path] = TakeUntil(end);
    }
  }

  std::string_view rest_;
};

// The code unit of the escape \uXXXX at the beginning of a text.
char32_t CodeUnit(std::string_view text) {
  if (text.size() < 6 || text.substr(0, 2) != "\\u") Fail();
  char32_t unit = 0;
  for (const char digit : text.substr(2, 4)) {
    const size_t value = std::string_view("0123456789abcdef")
                             .find(static_cast<char>(std::tolower(digit)));
    if (value > 15) Fail();
    unit = unit << 4 | static_cast<char32_t>(value);
  }
  return unit;
}

std::string WithoutEscapes(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    if (text[0] != '\\') {
      result += text[0];
      text.remove_prefix(1);
    } else if (text[1] != 'u') {
      constexpr std::string_view kNames = "\"\\/bfnrt";
      const size_t name = kNames.find(text[1]);
      if (name == kNames.npos) Fail();
      result += "\"\\/\b\f\n\r\t"[name];
      text.remove_prefix(2);
    } else {
      char32_t code = CodeUnit(text);
      text.remove_prefix(6);
      if (code >= 0xD800 && code < 0xDC00) {
        const char32_t low = CodeUnit(text);
        if (low < 0xDC00 || low >= 0xE000) Fail();
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        text.remove_prefix(6);
      } else if (code >= 0xDC00 && code < 0xE000) {
        Fail();
      }
      result += Encode({&code, 1});
    }
  }
  return result;
}

}  // namespace

std::runtime_error Error(const std::string& message) {
  return std::runtime_error("bert_span: " + message);
}

JsonValues::JsonValues(std::string_view text) {
  Reader reader(text);
  reader.Read();
  values_ = std::move(reader.values);
  lists_ = std::move(reader.lists);
}

std::string JsonValues::Text(const std::string& path) const {
  const std::string& value = Value(path);
  if (value[0] != '"') throw Wrong(path, "a string");
  return value.substr(1, value.size() - 2);
}

std::vector<std::string> JsonValues::Texts(const std::string& path) const {
  if (Value(path) != "[") throw Wrong(path, "a list of strings");
  std::vector<std::string> texts;
  const auto found = lists_.find(path);
  if (found == lists_.end()) return texts;
  for (const std::string_view value : found->second) {
    if (value[0] != '"') throw Wrong(path, "a list of strings");
    texts.push_back(WithoutEscapes(value.substr(1, value.size() - 2)));
  }
  return texts;
}

bool JsonValues::IsTrue(const std::string& path) const {
  const std::string& value = Value(path);
  if (value != "true" && value != "false") throw Wrong(path, "true or false");
  return value == "true";
}

double JsonValues::Number(const std::string& path) const {
  std::istringstream stream(Value(path));
  stream.imbue(std::locale::classic());
  double number;
  if (!(stream >> number) || !stream.eof()) throw Wrong(path, "a number");
  return number;
}

size_t JsonValues::Count(const std::string& path, size_t least,
                         size_t most) const {
  const double number = Number(path);
  if (!(number >= static_cast<double>(least) &&
        number <= static_cast<double>(most)) ||
      number != std::floor(number)) {
    throw Wrong(path, "an integer from " + std::to_string(least) + " to " +
                          std::to_string(most));
  }
  return static_cast<size_t>(number);
}

std::runtime_error JsonValues::Wrong(const std::string& path,
                                     const std::string& rule) const {
  return Error("span_config.json: " + path + " must be " + rule +
               ". Received: " + Value(path) + ". Export the file again");
}

const std::string& JsonValues::Value(const std::string& path) const {
  const auto found = values_.find(path);
  if (found == values_.end()) {
    throw Error("span_config.json has no " + path + ": export again");
  }
  return found->second;
}

}  // namespace bert_span
