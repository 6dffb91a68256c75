#include "sentencepiece_tokenizer.h"

#include "json_values.h"

#ifndef BERT_SPAN_SENTENCEPIECE

namespace bert_span {

std::unique_ptr<Tokenizer> MakeSentencePieceTokenizer(std::string_view,
                                                      const std::string&) {
  throw Error(
      "the file has SentencePieces, which this runner cannot read: answer "
      "with TFLiteSpanExtractor in Python, or build the library with "
      "-DBERT_SPAN_SENTENCEPIECE=ON");
}

}  // namespace bert_span

#else

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "unicode/unicode_table.h"

namespace bert_span {
namespace {

using sentencepiece::util::Status;

// Which ids the pieces of a model have: first those of `first`, then the pieces
// after `replaced`. See PIECE_FAMILIES in Python.
struct Family {
  std::vector<std::string_view> first, replaced;
  std::string_view cls = "<s>", sep = "</s>";
  size_t num_separators = 2;
};

Family FamilyOf(const std::string& name) {
  if (name == "xlm-roberta") {
    return {{"<s>", "<pad>", "</s>", "<unk>"}, {"<unk>", "<s>", "</s>"}};
  }
  if (name == "camembert") {
    return {{"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"},
            {"<unk>"}};
  }
  if (name == "deberta-v2" || name == "albert") {
    return {{}, {}, "[CLS]", "[SEP]", 1};
  }
  throw Error("span_config.json: tflite.family must be xlm-roberta, camembert, "
              "deberta-v2 or albert. Received: " + name +
              ". Export the file again");
}

void Check(const Status& status) {
  if (!status.ok()) {
    throw Error("vocabulary.spm cannot be used: " + status.ToString() +
                ". Export the file again");
  }
}

// The bytes of the last field of a number in a serialized message; none if it
// has no such string or message. The library does not say how it normalizes.
std::string_view FieldOf(std::string_view message, uint64_t number) {
  const auto read_number = [&message] {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !message.empty(); shift += 7) {
      const uint64_t byte = static_cast<unsigned char>(message[0]);
      message.remove_prefix(1);
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  std::string_view field;
  while (!message.empty()) {
    const uint64_t key = read_number(), type = key % 8;
    uint64_t size = type == 1 ? 8 : type == 5 ? 4 : 0;
    if (type == 0) read_number();
    if (type == 2) size = read_number();
    const auto value = message.substr(0, size);
    if (type == 2 && key / 8 == number) field = value;
    message.remove_prefix(value.size());
  }
  return field;
}

// What is done to an ALBERT's text before its model normalizes it, see
// ALBERT_NORMALIZERS in Python.
class AlbertNormalizer {
 public:
  explicit AlbertNormalizer(std::string_view model) {
    const std::string_view spec = FieldOf(model, 3);
    const std::string_view steps = FieldOf(spec, 1);
    if (steps.substr(0, 6) != "Quotes") {
      throw Error("vocabulary.spm has no rules of an ALBERT: export the file "
                  "again");
    }
    strips_accents_ = steps.find("StripAccents") != steps.npos;
    lower_case_ = steps.find("Lowercase") != steps.npos;
    has_map_ = !FieldOf(spec, 2).empty();
  }

  std::u32string Normalize(char32_t code) const {
    // A map of characters makes all other white space blanks.
    if (has_map_ ? code == 0x85 : IsWhite(code)) return U" ";
    std::u32string parts;
    for (const char32_t part :
         strips_accents_ ? Compatible(code) : std::u32string{code}) {
      if (strips_accents_ && KindOf(part) & unicode::kAnyMark) continue;
      parts += lower_case_ ? Lowered(part) : std::u32string{part};
    }
    return parts;
  }

 private:
  bool strips_accents_, lower_case_, has_map_;
};

// A text as it is given to the library.
struct SourceText {
  std::string bytes;
  // Of each character: where its bytes end, and where the characters end that
  // it is joined with, those after it that have no bytes.
  std::vector<size_t> byte_ends, char_ends;
};

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string_view model, const std::string& name) {
    std::string content(model);
    if (name == "albert") {
      albert_.emplace(model);
      // A field that follows replaces: remove_extra_whitespaces is true.
      content += "\x1A\x02\x20\x01";
    }
    Check(processor_.LoadFromSerializedProto(content));
    const Family family = FamilyOf(name);
    std::vector<std::string_view> tokens = family.first;
    for (int i = 0; i < processor_.GetPieceSize(); ++i) {
      const std::string& piece = processor_.IdToPiece(i);
      if (static_cast<size_t>(i) >= family.replaced.size()) {
        tokens.push_back(piece);
      } else if (piece != family.replaced[i]) {
        throw Error("vocabulary.spm is not one of " + name +
                    ": export the file again");
      }
    }
    const auto id_of = [&tokens](std::string_view token) {
      const auto found = std::find(tokens.begin(), tokens.end(), token);
      if (found == tokens.end()) {
        throw Error("vocabulary.spm has no " + std::string(token) +
                    ": export the file again");
      }
      return static_cast<int32_t>(found - tokens.begin());
    };
    cls_id = id_of(family.cls);
    sep_id = id_of(family.sep);
    num_separators = family.num_separators;
    constexpr std::string_view kBlank = "\u2581";
    for (int i = 0; i < processor_.GetPieceSize(); ++i) {
      const std::string_view piece = processor_.IdToPiece(i);
      const size_t shift = family.first.size() - family.replaced.size();
      size_t blanks = 0;
      while (piece.substr(blanks, kBlank.size()) == kBlank) {
        blanks += kBlank.size();
      }
      pieces_.push_back({static_cast<size_t>(i) < family.replaced.size()
                             ? id_of(piece)
                             : static_cast<int32_t>(i + shift),
                         blanks > 0, blanks == piece.size()});
    }
  }

  Tokens Tokenize(const std::u32string& codes) const override {
    const SourceText text = SourceOf(codes);
    const auto encoded = Encoded(text.bytes);
    const auto start_of = [&text](const auto& found) -> size_t {
      const auto& ends = text.byte_ends;
      return std::upper_bound(ends.begin(), ends.end(), found.begin()) -
             ends.begin();
    };
    const auto end_of = [&](const auto& found) {
      if (found.begin() == found.end()) return start_of(found);
      const auto& ends = text.byte_ends;
      const auto last = std::lower_bound(ends.begin(), ends.end(), found.end());
      return text.char_ends[last - ends.begin()];
    };
    std::unordered_map<std::string, bool> blanks;
    const auto is_blank = [&](size_t i) {
      const size_t begin = i > 0 ? text.byte_ends[i - 1] : 0;
      const std::string bytes =
          text.bytes.substr(begin, text.byte_ends[i] - begin);
      const auto [place, is_new] = blanks.try_emplace(bytes, true);
      if (is_new) {
        const auto alone = Encoded(bytes);
        for (const auto& found : alone.pieces()) {
          place->second &= pieces_[found.id()].is_blank;
        }
      }
      return place->second;
    };
    Tokens tokens;
    for (const auto& found : encoded.pieces()) {
      const Piece& piece = pieces_[found.id()];
      size_t start = start_of(found), end = end_of(found);
      if (piece.is_blank) {
        start = end;
      } else {
        while (piece.begins_blank && start < codes.size() && is_blank(start)) {
          ++start;
        }
        // A part of what a character is normalized to is all of it.
        end = std::min(std::max(end, start + 1), codes.size());
      }
      tokens.ids.push_back(piece.id);
      tokens.char_starts.push_back(start);
      tokens.char_ends.push_back(end);
    }
    // The library gives only the last byte of a character its end.
    size_t start = codes.size(), end = 0;
    for (size_t i = encoded.pieces_size(); i-- > 0;) {
      const auto& found = encoded.pieces(static_cast<int>(i));
      if (start_of(found) != start) end = 0;
      start = start_of(found);
      end = std::max(end, end_of(found));
      if (processor_.IsByte(found.id())) {
        tokens.char_ends[i] = std::min(std::max(end, start + 1), codes.size());
      }
    }
    return tokens;
  }

 private:
  struct Piece {
    int32_t id;
    bool begins_blank, is_blank;
  };

  SourceText SourceOf(const std::u32string& codes) const {
    SourceText text;
    const size_t size = codes.size();
    for (size_t i = 0; i < size; ++i) {
      std::u32string parts = {codes[i]};
      const bool is_pair = albert_ && (codes[i] == '`' || codes[i] == '\'') &&
                           i + 1 < size && codes[i + 1] == codes[i];
      if (is_pair) {
        parts = U"\"";
      } else if (albert_) {
        parts = albert_->Normalize(codes[i]);
      }
      text.bytes += Encode(parts);
      text.byte_ends.push_back(text.bytes.size());
      if (is_pair) text.byte_ends.push_back(text.bytes.size()), ++i;
    }
    text.char_ends.resize(size);
    for (size_t i = size, end = size; i-- > 0;) {
      text.char_ends[i] = end;
      if (text.byte_ends[i] != (i > 0 ? text.byte_ends[i - 1] : 0)) end = i;
    }
    return text;
  }

  sentencepiece::ImmutableSentencePieceText Encoded(
      const std::string& text) const {
    sentencepiece::ImmutableSentencePieceText encoded;
    Check(processor_.Encode(text, encoded.mutable_proto()));
    return encoded;
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::optional<AlbertNormalizer> albert_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::unique_ptr<Tokenizer> MakeSentencePieceTokenizer(
    std::string_view model, const std::string& family) {
  return std::make_unique<SentencePieceTokenizer>(model, family);
}

}  // namespace bert_span

#endif  // BERT_SPAN_SENTENCEPIECE
