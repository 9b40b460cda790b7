// A small SentencePiece model as Llama 2's is one: BPE with byte fallback, <unk>, <s> and </s> first, then
// the 256 bytes, then merges by rank. Written by hand, field by field, so that no other program is needed.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline files {

class SentencePieceModelForTests {
 public:
  // What a piece is.
  enum Type : int { kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6 };

  SentencePieceModelForTests() {
    piece("<unk>", 0, kUnknown);
    piece("<s>", 0, kControl);
    piece("</s>", 0, kControl);
    for (int byte = 0; byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof(name), "<0x%02X>", byte);
      piece(name, 0, kByte);
    }
    float score = 0;
    // Each longer one is made of two before it.
    for (const char* text :
         {"▁", "h",  "e",  "l",  "o",   "w",  "r",     "d",      "a",    "b",  "数",     "据",
          "é", "▁h", "▁w", "ll", "▁he", "or", "▁hell", "▁hello", "▁wor", "ld", "▁world", "数据"})
      piece(text, score--, kNormal);
  }

  void piece(std::string_view text, float score, Type type) {
    std::string bytes;
    append_bytes(1, text, bytes);
    append_key(2, 5, bytes);
    const auto bits = std::bit_cast<std::uint32_t>(score);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 0xFF);
    append_number(3, static_cast<std::uint64_t>(type), bytes);
    append_bytes(1, bytes, pieces_);
    ++count_;
  }
  void set_table(std::string table) { table_ = std::move(table); }

  int count() const { return count_; }

  std::string bytes() const {
    std::string trainer, normalizer, model = pieces_;
    append_number(3, 2, trainer);                   // BPE
    append_number(35, 1, trainer);                  // byte fallback
    append_number(40, 0, trainer);                  // <unk>
    append_number(41, 1, trainer);                  // <s>
    append_number(42, 2, trainer);                  // </s>
    append_number(43, ~std::uint64_t{0}, trainer);  // no padding: -1
    append_bytes(2, trainer, model);
    append_bytes(1, "identity", normalizer);
    append_bytes(2, table_, normalizer);
    append_number(3, 1, normalizer);  // a space in front
    append_number(4, 0, normalizer);  // several spaces stay
    append_number(5, 1, normalizer);  // spaces are written as a lower bar
    append_bytes(3, normalizer, model);
    return model;
  }

 private:
  static void append_varint(std::uint64_t value, std::string& out) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  }
  static void append_key(std::uint64_t field, std::uint64_t type, std::string& out) {
    append_varint(field << 3 | type, out);
  }
  static void append_number(std::uint64_t field, std::uint64_t value, std::string& out) {
    append_key(field, 0, out);
    append_varint(value, out);
  }
  static void append_bytes(std::uint64_t field, std::string_view bytes, std::string& out) {
    append_key(field, 2, out);
    append_varint(bytes.size(), out);
    out += bytes;
  }

  std::string pieces_, table_;
  int count_ = 0;
};

}  // namespace nadi::inline files
