// A model is a protobuf message: pieces (field 1), trainer (2), normaliser (3), self-test (4), denormaliser
// (5). A normaliser's field 2 is its table: the size of a double array, the array, and behind it the texts
// that it leads to, each ended by a zero byte.
//
// In a double array of 32-bit units, a unit holds an offset (bits 10 up, times 256 when bit 9 is set); its
// children are at position ^ offset ^ label for labels of 0 to 255. So all children of a unit are within the
// block of 256 that (position ^ offset) is in. Bit 8 says that a unit has a value, which is in the unit at
// position ^ offset: an offset into the texts.
#include "nadi/text/sentencepiece_model.h"

#include <cstdint>
#include <cstring>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline files {
namespace {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint64_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;      // of a varint
  std::string_view bytes = {};  // of kBytes
};

// The fields of one message, one after the other.
class Message {
 public:
  Message(std::string_view bytes, std::string_view whole, const std::string& file)
      : bytes_(bytes), whole_(whole), file_(file) {}

  std::optional<Field> next() {
    if (at_ == bytes_.size()) return std::nullopt;
    Field field;
    const std::uint64_t key = varint();
    field.number = key >> 3;
    field.type = static_cast<WireType>(key & 7);
    if (field.number == 0) throw damaged("a field with the number 0");
    switch (field.type) {
      case WireType::kVarint:
        field.value = varint();
        return field;
      case WireType::kFixed64:
        take(8);
        return field;
      case WireType::kFixed32:
        take(4);
        return field;
      case WireType::kBytes:
        field.bytes = take(varint());
        return field;
    }
    throw damaged(format("a field of type {}", key & 7));
  }

  Error damaged(const std::string& what) const {
    const auto byte =
        static_cast<std::int64_t>(bytes_.data() - whole_.data()) + static_cast<std::int64_t>(at_);
    return input_error({.file = file_, .byte = byte}, "no SentencePiece model: " + what,
                       "the file is damaged, or of another kind");
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    throw damaged("a number of more than 64 bits");
  }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) throw damaged("it ends in the middle of a field");
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }

  std::string_view bytes_, whole_;
  const std::string& file_;
  std::size_t at_ = 0;
};

std::uint32_t unit_at(std::string_view array, std::size_t index) {
  std::uint32_t unit = 0;
  std::memcpy(&unit, array.data() + index * sizeof(unit), sizeof(unit));
  return unit;
}

void check_table(std::string_view table, const Message& place) {
  if (table.empty()) return;
  if (table.size() < sizeof(std::uint32_t)) throw place.damaged("the normaliser's table is cut off");
  const std::size_t size = unit_at(table, 0);
  const std::string_view rest = table.substr(sizeof(std::uint32_t));
  constexpr std::size_t kBlock = 256;
  if (size >= rest.size() || size % (kBlock * sizeof(std::uint32_t)) != 0 || size == 0)
    throw place.damaged("the normaliser's table has another size than it says");
  const std::string_view array = rest.substr(0, size), texts = rest.substr(size);
  if (texts.back() != '\0') throw place.damaged("the normaliser's texts have no end");
  const std::size_t units = size / sizeof(std::uint32_t);
  for (std::size_t i = 0; i < units; ++i) {
    const std::uint32_t unit = unit_at(array, i);
    if (i > 0 && (unit >> 31) != 0) continue;  // a value: no label leads here
    const std::size_t offset = static_cast<std::size_t>(unit >> 10) << ((unit & (1U << 9)) >> 6);
    const std::size_t child = i ^ offset;
    if ((child | (kBlock - 1)) >= units)
      throw place.damaged("the normaliser's table leads outside of itself");
    const bool has_value = ((unit >> 8) & 1) != 0;
    const std::uint32_t value = unit_at(array, child) & 0x7FFFFFFF;
    if (has_value && value >= texts.size())
      throw place.damaged("the normaliser's table leads outside of its texts");
  }
}

constexpr std::string_view kSpacePiece = "\xe2\x96\x81";  // U+2581, a space in a piece

// Whether a space stands behind something else in the piece.
bool has_space_within(std::string_view piece) {
  while (piece.starts_with(kSpacePiece)) piece.remove_prefix(kSpacePiece.size());
  return piece.find(kSpacePiece) != std::string_view::npos || piece.find(' ') != std::string_view::npos;
}

// What a model says about spaces. Defaults are those of the schema.
struct Spaces {
  bool in_front = true;     // of every text
  bool are_removed = true;  // where several stand together, and at both ends
  bool are_escaped = true;  // as kSpacePiece
  bool behind_words = false;
  bool has_piece = false;  // of its own
  bool within_pieces = false;

  SpaceAtCut at_cut() const {
    if (!are_escaped || behind_words || within_pieces || !has_piece) return SpaceAtCut::kNowhere;
    if (in_front) return SpaceAtCut::kDropped;
    return are_removed ? SpaceAtCut::kNowhere : SpaceAtCut::kKept;
  }
};

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
}

}  // namespace

std::vector<std::string_view> cut_text(std::string_view text, SpaceAtCut space, std::size_t part) {
  std::vector<std::string_view> parts;
  while (space != SpaceAtCut::kNowhere && text.size() > part) {
    std::size_t at = part;  // of the space
    while (at + 1 < text.size() &&
           !(text[at] == ' ' && at > 0 && is_plain(text[at - 1]) && is_plain(text[at + 1])))
      ++at;
    if (at + 1 >= text.size()) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(space == SpaceAtCut::kDropped ? at + 1 : at);
  }
  parts.push_back(text);
  return parts;
}

SpaceAtCut check_sentencepiece_model(std::string_view bytes, const std::string& file) {
  Message model(bytes, bytes, file);
  constexpr std::uint64_t kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5, kTable = 2;
  constexpr std::uint64_t kPieceText = 1, kSpaceInFront = 3, kRemovesSpaces = 4, kEscapesSpaces = 5;
  constexpr std::uint64_t kSpaceBehindWords = 24;
  std::int64_t pieces = 0;
  Spaces spaces;
  while (const auto field = model.next()) {
    if (field->type != WireType::kBytes) continue;
    if (field->number == kPieces) {
      Message piece(field->bytes, bytes, file);
      while (const auto inner = piece.next()) {
        if (inner->number != kPieceText || inner->type != WireType::kBytes) continue;
        spaces.has_piece = spaces.has_piece || inner->bytes == kSpacePiece;
        spaces.within_pieces = spaces.within_pieces || has_space_within(inner->bytes);
      }
      ++pieces;
    }
    if (field->number == kTrainer) {
      Message trainer(field->bytes, bytes, file);
      while (const auto inner = trainer.next())
        if (inner->number == kSpaceBehindWords) spaces.behind_words = inner->value != 0;
    }
    if (field->number != kNormalizer && field->number != kDenormalizer) continue;
    Message normalizer(field->bytes, bytes, file);
    while (const auto inner = normalizer.next()) {
      if (inner->number == kTable && inner->type == WireType::kBytes) check_table(inner->bytes, normalizer);
      if (field->number != kNormalizer) continue;
      if (inner->number == kSpaceInFront) spaces.in_front = inner->value != 0;
      if (inner->number == kRemovesSpaces) spaces.are_removed = inner->value != 0;
      if (inner->number == kEscapesSpaces) spaces.are_escaped = inner->value != 0;
    }
  }
  if (pieces == 0) throw model.damaged("it has no pieces");
  return spaces.at_cut();
}

}  // namespace nadi::inline files
