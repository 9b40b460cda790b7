#include "nadi/engine/first_value.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/random.h"
#include "nadi/base/round_up.h"
#include "nadi/engine/element.h"
#include "nadi/engine/host_threads.h"

namespace nadi::inline engines {
namespace {

constexpr std::int64_t kPiece = 1024;

std::vector<std::int64_t> indices(const FirstValue& value) {
  check(value.tensor.shards.empty() || value.place != nullptr,
        "a tensor that is part of a whole needs the rank's place");
  return whole_indices(value.tensor.shape, value.tensor.shards, value.place);
}

void write_integers(const std::vector<std::int64_t>& values, DType dtype, std::byte* target) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kI32)
      reinterpret_cast<std::int32_t*>(target)[i] = static_cast<std::int32_t>(values[i]);
    else if (dtype == DType::kI64)
      reinterpret_cast<std::int64_t*>(target)[i] = values[i];
    else
      check(false, "counted values are integers");
  }
}

// body(first, count, row): fills `row` with elements [first, first + count), which are then stored.
template <class Body>
void write_pieces(const FirstValue& value, DType dtype, std::byte* target, const Body& body) {
  const std::int64_t elements = value.tensor.shape.elements();
  parallel_for(divided_up(elements, kPiece), value.threads, [&](std::int64_t first, std::int64_t end, int) {
    std::array<float, kPiece> row;
    for (std::int64_t piece = first; piece < end; ++piece) {
      const std::int64_t start = piece * kPiece;
      const std::int64_t count = std::min(kPiece, elements - start);
      body(start, count, row.data());
      convert_from_float(row.data(), count, element(static_cast<void*>(target), dtype, start), dtype);
    }
  });
}

void write_constant(const FirstValue& value, DType dtype, std::byte* target) {
  const double constant = value.tensor.initializer.value;
  if (dtype == DType::kI32 || dtype == DType::kI64) {
    write_integers(
        std::vector<std::int64_t>(value.tensor.shape.elements(), static_cast<std::int64_t>(constant)), dtype,
        target);
    return;
  }
  write_pieces(value, dtype, target, [&](std::int64_t, std::int64_t count, float* row) {
    std::fill_n(row, count, static_cast<float>(constant));
  });
}

void write_normal(const FirstValue& value, DType dtype, std::byte* target) {
  const RandomKey key{.seed = value.seed, .step = 0, .site = site_of(value.tensor.name)};
  const double deviation = value.tensor.initializer.value;
  const bool whole = value.tensor.shards.empty();
  const std::vector<std::int64_t> at = whole ? std::vector<std::int64_t>{} : indices(value);
  write_pieces(value, dtype, target, [&](std::int64_t start, std::int64_t count, float* row) {
    if (whole)
      fill_normal(key, static_cast<std::uint64_t>(start), {row, static_cast<std::size_t>(count)});
    else
      for (std::int64_t i = 0; i < count; ++i)
        row[i] = random_normal(key, static_cast<std::uint64_t>(at[start + i]));
    for (std::int64_t i = 0; i < count; ++i) row[i] = static_cast<float>(deviation * row[i]);
  });
}

// Positions of the tokens of a sequence when the parts of a zigzag shard stand one after the other.
std::vector<std::int64_t> zigzag_positions(const Tensor& tensor) {
  const auto parts = static_cast<std::int64_t>(tensor.initializer.value);
  const std::int64_t tokens = tensor.shape[0];
  std::vector<std::int64_t> positions;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::vector<std::int64_t> of_part =
        whole_indices(Shape{tokens / parts}, std::vector{zigzag_shard("", parts, 0, tokens)},
                      [&](const std::string&) { return part; });
    positions.insert(positions.end(), of_part.begin(), of_part.end());
  }
  return positions;
}

}  // namespace

void write_first_value(const FirstValue& value, DType dtype, std::byte* target) {
  switch (value.tensor.initializer.kind) {
    case Initializer::Kind::kConstant:
      write_constant(value, dtype, target);
      return;
    case Initializer::Kind::kNormal:
      write_normal(value, dtype, target);
      return;
    case Initializer::Kind::kIota:
      write_integers(indices(value), dtype, target);
      return;
    case Initializer::Kind::kZigzag:
      write_integers(zigzag_positions(value.tensor), dtype, target);
      return;
    case Initializer::Kind::kCopy:
    case Initializer::Kind::kFlat:
      check(false, "a first value that refers to others");
      return;
  }
  unreachable();
}

void write_part(const FirstValue& value, std::span<const float> whole, std::byte* target) {
  const std::vector<std::int64_t> at = indices(value);
  write_pieces(value, value.tensor.dtype, target, [&](std::int64_t start, std::int64_t count, float* row) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::size_t>(at[start + i]);
      row[i] = index < whole.size() ? whole[index] : 0;  // padding behind the last parameter
    }
  });
}

}  // namespace nadi::inline engines
