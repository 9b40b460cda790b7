#include "nadi/trace/trace_attribute.h"

#include <algorithm>
#include <limits>

#include "nadi/base/error.h"

namespace nadi::inline traces {

std::string_view to_string(TraceAttributeKind kind) {
  switch (kind) {
    case TraceAttributeKind::kNone:
      return "none";
    case TraceAttributeKind::kDouble:
      return "double";
    case TraceAttributeKind::kDoubleList:
      return "double_list";
    case TraceAttributeKind::kFloat:
      return "float";
    case TraceAttributeKind::kFloatList:
      return "float_list";
    case TraceAttributeKind::kInt32:
      return "int32";
    case TraceAttributeKind::kInt32List:
      return "int32_list";
    case TraceAttributeKind::kInt64:
      return "int64";
    case TraceAttributeKind::kInt64List:
      return "int64_list";
    case TraceAttributeKind::kUint32:
      return "uint32";
    case TraceAttributeKind::kUint32List:
      return "uint32_list";
    case TraceAttributeKind::kUint64:
      return "uint64";
    case TraceAttributeKind::kUint64List:
      return "uint64_list";
    case TraceAttributeKind::kSint32:
      return "sint32";
    case TraceAttributeKind::kSint32List:
      return "sint32_list";
    case TraceAttributeKind::kSint64:
      return "sint64";
    case TraceAttributeKind::kSint64List:
      return "sint64_list";
    case TraceAttributeKind::kFixed32:
      return "fixed32";
    case TraceAttributeKind::kFixed32List:
      return "fixed32_list";
    case TraceAttributeKind::kFixed64:
      return "fixed64";
    case TraceAttributeKind::kFixed64List:
      return "fixed64_list";
    case TraceAttributeKind::kSfixed32:
      return "sfixed32";
    case TraceAttributeKind::kSfixed32List:
      return "sfixed32_list";
    case TraceAttributeKind::kSfixed64:
      return "sfixed64";
    case TraceAttributeKind::kSfixed64List:
      return "sfixed64_list";
    case TraceAttributeKind::kBool:
      return "bool";
    case TraceAttributeKind::kBoolList:
      return "bool_list";
    case TraceAttributeKind::kString:
      return "string";
    case TraceAttributeKind::kStringList:
      return "string_list";
    case TraceAttributeKind::kBytes:
      return "bytes";
    case TraceAttributeKind::kBytesList:
      return "bytes_list";
  }
  unreachable();
}

std::optional<std::int64_t> TraceAttribute::integer() const {
  using Kind = TraceAttributeKind;
  if (is_list(kind) || is_text(kind)) return std::nullopt;
  if (kind == Kind::kNone || kind == Kind::kDouble || kind == Kind::kFloat) return std::nullopt;
  const bool is_unsigned_64 = kind == Kind::kUint64 || kind == Kind::kFixed64;
  if (is_unsigned_64 && bits > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
  return static_cast<std::int64_t>(bits);  // all others are kept sign- or zero-extended
}

std::optional<double> TraceAttribute::real() const {
  if (kind == TraceAttributeKind::kDouble) return std::bit_cast<double>(bits);
  if (kind == TraceAttributeKind::kFloat) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::nullopt;
}

std::optional<std::string_view> TraceAttribute::string() const {
  if (kind == TraceAttributeKind::kString || kind == TraceAttributeKind::kBytes) return text;
  return std::nullopt;
}

bool operator==(const TraceAttribute& a, const TraceAttribute& b) {
  return a.kind == b.kind && a.bits == b.bits && a.name == b.name && a.doc == b.doc && a.text == b.text &&
         std::ranges::equal(a.numbers, b.numbers) && std::ranges::equal(a.texts, b.texts);
}

void TraceAttributes::add_text(std::string_view name, std::string_view value) {
  TraceAttribute& attribute = attributes_.emplace_back();
  attribute.name = name;
  attribute.kind = TraceAttributeKind::kString;
  attribute.text = arena_.keep(value);
}

namespace {

template <typename T>
std::span<const std::uint64_t> keep_numbers(Arena& arena, std::span<const T> values) {
  const std::span<std::uint64_t> bits = arena.array<std::uint64_t>(values.size());
  std::transform(values.begin(), values.end(), bits.begin(), [](T value) { return number_bits(value); });
  return bits;
}

std::span<const std::string_view> keep_texts(Arena& arena, std::span<const std::string_view> values) {
  const std::span<std::string_view> kept = arena.array<std::string_view>(values.size());
  std::transform(values.begin(), values.end(), kept.begin(),
                 [&](std::string_view value) { return arena.keep(value); });
  return kept;
}

}  // namespace

void TraceAttributes::add_bool_list(std::string_view name, std::span<const bool> values) {
  TraceAttribute& attribute = attributes_.emplace_back();
  attribute.name = name;
  attribute.kind = TraceAttributeKind::kBoolList;
  attribute.numbers = keep_numbers(arena_, values);
}

void TraceAttributes::add_int64_list(std::string_view name, std::span<const std::int64_t> values) {
  TraceAttribute& attribute = attributes_.emplace_back();
  attribute.name = name;
  attribute.kind = TraceAttributeKind::kInt64List;
  attribute.numbers = keep_numbers(arena_, values);
}

void TraceAttributes::add_text_list(std::string_view name, std::span<const std::string_view> values) {
  TraceAttribute& attribute = attributes_.emplace_back();
  attribute.name = name;
  attribute.kind = TraceAttributeKind::kStringList;
  attribute.texts = keep_texts(arena_, values);
}

void TraceAttributes::add_copy(const TraceAttribute& attribute) {
  TraceAttribute copy = attribute;
  copy.name = arena_.keep(attribute.name);
  copy.doc = arena_.keep(attribute.doc);
  copy.text = arena_.keep(attribute.text);
  copy.numbers = arena_.keep(attribute.numbers);
  copy.texts = keep_texts(arena_, attribute.texts);
  attributes_.push_back(copy);
}

const TraceAttribute* TraceAttributes::find(std::string_view name) const {
  const auto found = std::ranges::find(attributes_, name, &TraceAttribute::name);
  return found == attributes_.end() ? nullptr : &*found;
}

}  // namespace nadi::inline traces
