// Attributes of trace nodes: a name and a value of one of the 15 scalar and 15 list kinds that Chakra's
// AttributeProto knows. The kind is part of the value: simulators ask for `comm_size` as an int64 and stop
// at anything else, so a kind is never changed on the way through.
//
//   TraceAttributes attributes;
//   attributes.add_int64("num_ops", 1'000'000);
//   attributes.add_text("pg_name", "1");
//   if (const TraceAttribute* size = attributes.find("comm_size")) use(size->integer());
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "nadi/trace/arena.h"

namespace nadi::inline traces {

// The numbers are those of the fields in AttributeProto: a scalar is odd, its list is the next number.
enum class TraceAttributeKind : std::uint8_t {
  kNone = 0,  // a name without a value; files may hold that
  kDouble = 3,
  kDoubleList = 4,
  kFloat = 5,
  kFloatList = 6,
  kInt32 = 7,
  kInt32List = 8,
  kInt64 = 9,
  kInt64List = 10,
  kUint32 = 11,
  kUint32List = 12,
  kUint64 = 13,
  kUint64List = 14,
  kSint32 = 15,
  kSint32List = 16,
  kSint64 = 17,
  kSint64List = 18,
  kFixed32 = 19,
  kFixed32List = 20,
  kFixed64 = 21,
  kFixed64List = 22,
  kSfixed32 = 23,
  kSfixed32List = 24,
  kSfixed64 = 25,
  kSfixed64List = 26,
  kBool = 27,
  kBoolList = 28,
  kString = 29,
  kStringList = 30,
  kBytes = 31,
  kBytesList = 32,
};

// "int64", "int64_list", "none".
std::string_view to_string(TraceAttributeKind kind);

constexpr bool is_list(TraceAttributeKind kind) {
  return kind != TraceAttributeKind::kNone && static_cast<int>(kind) % 2 == 0;
}
// Strings and bytes, and lists of them.
constexpr bool is_text(TraceAttributeKind kind) {
  return kind >= TraceAttributeKind::kString;
}

// The kind of one element of a list kind.
constexpr TraceAttributeKind element_kind(TraceAttributeKind list) {
  return static_cast<TraceAttributeKind>(static_cast<int>(list) - 1);
}

// How a number of any kind is kept in 64 bits: integers sign- or zero-extended, bool as 0 or 1, double and
// float (in the low half) as their bit pattern, so that every NaN survives.
template <typename T>
constexpr std::uint64_t number_bits(T value) {
  static_assert(std::is_arithmetic_v<T>);
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::uint64_t>(value);
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    return value;
  }
}

// One attribute. It borrows its texts and lists from whatever handed it out: an attribute list, a trace or
// a reader, whose header says for how long.
struct TraceAttribute {
  std::string_view name;
  std::string_view doc;  // doc_string of the schema; nearly always empty
  TraceAttributeKind kind = TraceAttributeKind::kNone;
  std::uint64_t bits = 0;                   // the value of a number; see number_bits()
  std::string_view text;                    // the value of a string or of bytes
  std::span<const std::uint64_t> numbers;   // the values of a list of numbers
  std::span<const std::string_view> texts;  // the values of a list of strings or of bytes

  // The value of any integer kind or bool; nothing for other kinds and for what does not fit.
  std::optional<std::int64_t> integer() const;
  // The value of a double or a float; nothing for other kinds.
  std::optional<double> real() const;
  // The value of a string or of bytes; nothing for other kinds.
  std::optional<std::string_view> string() const;

  // Same name, documentation, kind and value, to the bit.
  friend bool operator==(const TraceAttribute& a, const TraceAttribute& b);
};

// Attributes in their order, with the memory of their values. Meant to be cleared and filled again for
// each node, which then allocates nothing.
//
// add_…() borrow `name`, usually a literal, and copy the value. Not copyable, since attributes point into
// the list's own memory; moving keeps them valid.
class TraceAttributes {
 public:
  TraceAttributes() = default;
  TraceAttributes(TraceAttributes&&) = default;
  TraceAttributes& operator=(TraceAttributes&&) = default;
  TraceAttributes(const TraceAttributes&) = delete;
  TraceAttributes& operator=(const TraceAttributes&) = delete;

  void add_bool(std::string_view name, bool value) { add_number(name, TraceAttributeKind::kBool, value); }
  void add_int32(std::string_view name, std::int32_t value) {
    add_number(name, TraceAttributeKind::kInt32, value);
  }
  void add_int64(std::string_view name, std::int64_t value) {
    add_number(name, TraceAttributeKind::kInt64, value);
  }
  void add_uint32(std::string_view name, std::uint32_t value) {
    add_number(name, TraceAttributeKind::kUint32, value);
  }
  void add_uint64(std::string_view name, std::uint64_t value) {
    add_number(name, TraceAttributeKind::kUint64, value);
  }
  void add_double(std::string_view name, double value) {
    add_number(name, TraceAttributeKind::kDouble, value);
  }
  void add_text(std::string_view name, std::string_view value);
  void add_bool_list(std::string_view name, std::span<const bool> values);
  void add_int64_list(std::string_view name, std::span<const std::int64_t> values);
  void add_text_list(std::string_view name, std::span<const std::string_view> values);

  // Any attribute, with all that it points to borrowed from the caller.
  void add_borrowed(const TraceAttribute& attribute) { attributes_.push_back(attribute); }
  // Any attribute, with all that it points to copied.
  void add_copy(const TraceAttribute& attribute);

  std::size_t size() const { return attributes_.size(); }
  bool empty() const { return attributes_.empty(); }
  const TraceAttribute& operator[](std::size_t i) const { return attributes_[i]; }
  auto begin() const { return attributes_.begin(); }
  auto end() const { return attributes_.end(); }

  // The first attribute of that name, or nullptr.
  const TraceAttribute* find(std::string_view name) const;

  // Memory for what borrowed attributes point to; valid until clear().
  Arena& arena() { return arena_; }

  void clear() {
    attributes_.clear();
    arena_.clear();
  }

 private:
  template <typename T>
  void add_number(std::string_view name, TraceAttributeKind kind, T value) {
    TraceAttribute& attribute = attributes_.emplace_back();
    attribute.name = name;
    attribute.kind = kind;
    attribute.bits = number_bits(value);
  }

  std::vector<TraceAttribute> attributes_;
  Arena arena_;
};

}  // namespace nadi::inline traces
