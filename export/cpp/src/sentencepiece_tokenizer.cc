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
#include <unordered_map>
#include <vector>

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
  if (name == "deberta-v2") return {{}, {}, "[CLS]", "[SEP]", 1};
  throw Error("span_config.json: tflite.family must be xlm-roberta, camembert "
              "or deberta-v2. Received: " + name + ". Export the file again");
}

void Check(const Status& status) {
  if (!status.ok()) {
    throw Error("vocabulary.spm cannot be used: " + status.ToString() +
                ". Export the file again");
  }
}

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string_view model, const std::string& name) {
    Check(processor_.LoadFromSerializedProto(model));
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
    const std::vector<size_t> ends = CharacterEnds(codes);
    const auto character_at = [&ends](size_t byte) -> size_t {
      return std::upper_bound(ends.begin(), ends.end(), byte) - ends.begin();
    };
    std::unordered_map<char32_t, bool> blanks;
    const auto is_blank = [&](char32_t code) {
      const auto [place, is_new] = blanks.try_emplace(code, true);
      if (is_new) {
        for (const auto& found : Encoded({&code, 1}).pieces()) {
          place->second &= pieces_[found.id()].is_blank;
        }
      }
      return place->second;
    };
    Tokens tokens;
    const auto encoded = Encoded(codes);
    for (const auto& found : encoded.pieces()) {
      const Piece& piece = pieces_[found.id()];
      size_t start = character_at(found.begin());
      size_t end = character_at(found.end());
      if (piece.is_blank) {
        start = end;
      } else {
        while (piece.begins_blank && start < codes.size() &&
               is_blank(codes[start])) {
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
      if (character_at(found.begin()) != start) end = 0;
      start = character_at(found.begin());
      end = std::max(end, character_at(found.end()));
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

  sentencepiece::ImmutableSentencePieceText Encoded(
      std::u32string_view codes) const {
    sentencepiece::ImmutableSentencePieceText encoded;
    Check(processor_.Encode(bert_span::Encode(codes), encoded.mutable_proto()));
    return encoded;
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::unique_ptr<Tokenizer> MakeSentencePieceTokenizer(
    std::string_view model, const std::string& family) {
  return std::make_unique<SentencePieceTokenizer>(model, family);
}

}  // namespace bert_span

#endif  // BERT_SPAN_SENTENCEPIECE
