#include "json_values.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <locale>
#include <sstream>

#include "characters.h"

namespace bert_span {
namespace {

// Reads a JSON text.
class Reader {
 public:
  Reader(std::string_view text, std::string_view file)
      : rest_(text), file_(file) {}

  JsonValue Read() {
    JsonValue value = ReadValue(0);
    if (Next() != '\0') Fail();
    return value;
  }

 private:
  [[noreturn]] void Fail() const {
    throw Error(file_ + " is damaged: export the file again");
  }

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

  std::string_view TakeUntil(size_t end) {
    if (end > rest_.size()) Fail();
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return taken;
  }

  std::string TakeString() {
    if (!Take('"')) Fail();
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"') {
      end += rest_[end] == '\\' ? 2 : 1;
    }
    std::string taken = WithoutEscapes(TakeUntil(end));
    if (!Take('"')) Fail();
    return taken;
  }

  JsonValue ReadValue(int depth) {
    constexpr int kMaxDepth = 20;
    if (depth > kMaxDepth) Fail();
    const char first = Next();
    if (first == '"') return {'"' + TakeString(), {}};
    if (!Take('{') && !Take('[')) {
      const size_t end = std::min(rest_.find_first_of(",]} \t\r\n"),
                                  rest_.size());
      if (end == 0) Fail();
      return {std::string(TakeUntil(end)), {}};
    }
    JsonValue value{{first}, {}};
    const char close = first == '{' ? '}' : ']';
    if (Take(close)) return value;
    do {
      std::string name;
      if (first == '{') {
        name = TakeString();
        if (!Take(':')) Fail();
      }
      value.members.emplace_back(std::move(name), ReadValue(depth + 1));
    } while (Take(','));
    if (!Take(close)) Fail();
    return value;
  }

  // The code unit of the escape \uXXXX at the beginning of a text.
  char32_t CodeUnit(std::string_view text) const {
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

  std::string WithoutEscapes(std::string_view text) const {
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

  std::string_view rest_;
  const std::string file_;
};

}  // namespace

std::runtime_error Error(const std::string& message) {
  return std::runtime_error("bert_span: " + message);
}

JsonValues::JsonValues(std::string_view text, std::string_view file)
    : value_(Reader(text, file).Read()), place_(file) {}

bool JsonValues::IsNull(const std::string& path) const {
  return Value(path).text == "null";
}

std::string JsonValues::Text(const std::string& path) const {
  const std::string& text = Value(path).text;
  if (text[0] != '"') throw Wrong(path, "a string");
  return text.substr(1);
}

std::vector<std::string> JsonValues::Texts(const std::string& path) const {
  std::vector<std::string> texts;
  if (Value(path).text != "[") throw Wrong(path, "a list of strings");
  for (const auto& [name, value] : Value(path).members) {
    if (value.text[0] != '"') throw Wrong(path, "a list of strings");
    texts.push_back(value.text.substr(1));
  }
  return texts;
}

bool JsonValues::IsTrue(const std::string& path) const {
  const std::string& text = Value(path).text;
  if (text != "true" && text != "false") throw Wrong(path, "true or false");
  return text == "true";
}

double JsonValues::Number(const std::string& path) const {
  std::istringstream stream(Value(path).text);
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

std::vector<JsonValues> JsonValues::Elements(const std::string& path) const {
  if (Value(path).text != "[") throw Wrong(path, "a list");
  std::vector<JsonValues> elements;
  for (const auto& [name, value] : Value(path).members) {
    elements.push_back(JsonValues(value, Place(path)));
  }
  return elements;
}

std::vector<std::pair<std::string, JsonValues>> JsonValues::Members(
    const std::string& path) const {
  if (Value(path).text != "{") throw Wrong(path, "an object");
  std::vector<std::pair<std::string, JsonValues>> members;
  for (const auto& [name, value] : Value(path).members) {
    members.emplace_back(name, JsonValues(value, Place(path) + ", " + name));
  }
  return members;
}

std::runtime_error JsonValues::Wrong(const std::string& path,
                                     const std::string& rule) const {
  const std::string& text = Value(path).text;
  return Error(Place(path) + " must be " + rule + ". Received: " + text +
               (text[0] == '"' ? "\"" : "") + ". Export the file again");
}

// The last of equal names, as in Python.
const JsonValue* JsonValues::Find(const std::string& path) const {
  const JsonValue* value = &value_;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    const auto found = std::find_if(
        value->members.rbegin(), value->members.rend(),
        [name](const auto& member) { return member.first == name; });
    if (found == value->members.rend()) return nullptr;
    value = &found->second;
  }
  return value;
}

const JsonValue& JsonValues::Value(const std::string& path) const {
  const JsonValue* value = Find(path);
  if (value == nullptr) {
    throw Error(place_ + " has no " + path + ": export again");
  }
  return *value;
}

std::string JsonValues::Place(const std::string& path) const {
  return path.empty() ? place_ : place_ + ": " + path;
}

}  // namespace bert_span
