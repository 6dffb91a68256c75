#include "file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <utility>
#include <vector>

namespace bert_span {
namespace {

constexpr size_t kMaxWindow = 1000000;
constexpr char kConfigFile[] = "span_config.json";
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
// Otherwise a fuzzer hardly gets beyond the sums.
constexpr bool kCheckSums = false;
#else
constexpr bool kCheckSums = true;
#endif

std::runtime_error Damaged() {
  return Error("the file is damaged: copy or export it again");
}

uint32_t Crc32(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

// The files, not compressed, of the ZIP archive at the end of some bytes.
std::map<std::string, std::string_view> ReadArchive(std::string_view bytes) {
  const auto check = [](bool is_archive) {
    if (!is_archive) {
      throw Error("the file ends in no archive: export it with export_tflite");
    }
  };
  const auto part = [&](uint64_t at, uint64_t size) {
    check(at + size <= bytes.size());
    return bytes.substr(at, size);
  };
  // The lowest byte comes first.
  const auto number = [&](uint64_t at, int size) {
    uint64_t value = 0;
    for (int i = size - 1; i >= 0; --i) {
      value = value << 8 | static_cast<unsigned char>(part(at + i, 1)[0]);
    }
    return value;
  };
  constexpr uint64_t kEndSize = 22, kEntrySize = 46, kHeaderSize = 30;
  constexpr uint64_t kEnd = 0x06054B50, kEntry = 0x02014B50, kStored = 0;
  check(bytes.size() >= kEndSize);
  const uint64_t end = bytes.size() - kEndSize;
  check(number(end, 4) == kEnd);
  std::map<std::string, std::string_view> files;
  uint64_t entry = number(end + 16, 4);
  for (uint64_t count = number(end + 10, 2); count > 0; --count) {
    check(number(entry, 4) == kEntry && number(entry + 10, 2) == kStored);
    const uint64_t name = number(entry + 28, 2), header = number(entry + 42, 4);
    const uint64_t data = header + kHeaderSize + number(header + 26, 2) +
                          number(header + 28, 2);
    const std::string_view content = part(data, number(entry + 20, 4));
    if (kCheckSums && Crc32(content) != number(entry + 16, 4)) throw Damaged();
    files[std::string(part(entry + kEntrySize, name))] = content;
    entry += kEntrySize + name + number(entry + 30, 2) + number(entry + 32, 2);
  }
  return files;
}

// The SHA-256 of some bytes, in hexadecimal digits.
std::string Sha256(std::string_view bytes) {
  // The constants are digits of roots of the first primes.
  std::array<uint32_t, 64> constants;
  std::array<uint32_t, 8> state;
  const auto digits = [](double root) {
    return static_cast<uint32_t>((root - std::floor(root)) * 0x1p32);
  };
  for (int prime = 2, i = 0; i < 64; ++prime) {
    bool is_prime = true;
    for (int d = 2; d * d <= prime; ++d) is_prime &= prime % d != 0;
    if (!is_prime) continue;
    if (i < 8) state[i] = digits(std::sqrt(prime));
    constants[i++] = digits(std::cbrt(prime));
  }
  const auto rotated = [](uint32_t x, int n) { return x >> n | x << (32 - n); };
  const auto add_block = [&](const char* block) {
    std::array<uint32_t, 64> w;
    for (int i = 0; i < 64; ++i) {
      if (i < 16) {
        w[i] = 0;
        for (int k = 0; k < 4; ++k) {
          w[i] = w[i] << 8 | static_cast<unsigned char>(block[4 * i + k]);
        }
        continue;
      }
      const uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] +
             (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) +
             (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
    std::array<uint32_t, 8> s = state;
    for (int i = 0; i < 64; ++i) {
      const uint32_t sum1 = rotated(s[4], 6) ^ rotated(s[4], 11) ^
                            rotated(s[4], 25);
      const uint32_t sum0 = rotated(s[0], 2) ^ rotated(s[0], 13) ^
                            rotated(s[0], 22);
      const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
      const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
      const uint32_t sum = s[7] + sum1 + choice + constants[i] + w[i];
      s = {sum + sum0 + majority, s[0], s[1], s[2], s[3] + sum, s[4], s[5],
           s[6]};
    }
    for (int i = 0; i < 8; ++i) state[i] += s[i];
  };
  size_t at = 0;
  for (; at + 64 <= bytes.size(); at += 64) add_block(bytes.data() + at);
  std::string rest(bytes.substr(at));
  rest += '\x80';
  rest.append((120 - rest.size() % 64) % 64, '\0');
  for (int i = 7; i >= 0; --i) {
    rest += static_cast<char>(uint64_t{bytes.size()} * 8 >> 8 * i);
  }
  for (size_t i = 0; i < rest.size(); i += 64) add_block(rest.data() + i);
  std::string hex;
  for (const uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      hex += "0123456789abcdef"[word >> shift & 15];
    }
  }
  return hex;
}

}  // namespace

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  file.peek();  // A folder can be opened, but not read.
  if (!file.is_open() || file.bad()) throw Error("cannot read " + path);
  std::string content;
  std::vector<char> part(1 << 20);  // Single characters take 5 times as long.
  do {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    content.append(part.data(), static_cast<size_t>(file.gcount()));
  } while (file);
  if (file.bad()) throw Error("cannot read " + path);
  return content;
}

File::File(std::string content)
    : content_(std::move(content)),
      parts_(ReadArchive(content_)),
      config_(Part(kConfigFile), kConfigFile) {
  config_.Count("format", 1, 1);
  if (!is_bio() && config_.Text("head") != "span") {
    throw config_.Wrong("head", "span or bio");
  }
  if (!kCheckSums) return;
  // The runtime does not check the model: damaged bytes would end the process.
  if (Sha256(model()) != config_.Text("tflite.model_sha256") ||
      Sha256(vocabulary()) != config_.Text("tflite.vocabulary_sha256")) {
    throw Damaged();
  }
}

std::string File::vocabulary_name() const {
  for (const char* name : {kJsonFile, kPiecesFile}) {
    if (parts_.count(name) > 0) return name;
  }
  return "vocab.txt";
}

std::string_view File::model() const {
  return std::string_view(content_).substr(
      0, config_.Count("tflite.model_bytes", 1));
}

size_t File::max_seq_length() const {
  return config_.Count("window.max_seq_length", 1, kMaxWindow);
}

size_t File::max_query_length() const {
  return config_.Count("window.max_query_length", 0);
}

size_t File::max_length() const {
  return config_.Count("tflite.max_length", 1, kMaxWindow);
}

std::string_view File::Part(const std::string& name) const {
  const auto found = parts_.find(name);
  if (found != parts_.end()) return found->second;
  throw Error("the file has no " + name + ": export it with export_tflite");
}

}  // namespace bert_span
