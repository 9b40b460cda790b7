// Element types of tensors in files: those that graphs have (graph/dtype.h), and others that stand in
// checkpoints next to the weights: masks, position numbers, counters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "nadi/graph/dtype.h"

namespace nadi::inline describe {

// In the order in which the safetensors library sorts them, least aligned first. That library has no kC128.
enum class FileDType : std::uint8_t {
  kBool,  // one byte each
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kC64,  // complex: two f32
  kF64,
  kI64,
  kU64,
  kC128,  // complex: two f64
};

std::int64_t size_of(FileDType dtype);        // in bytes
std::string_view to_string(FileDType dtype);  // as in safetensors files: "F32", "BF16", "F8_E4M3", "BOOL"

// The other way; nothing when safetensors has none of that name. All of its names, for messages.
std::optional<FileDType> file_dtype_named(std::string_view name);
std::span<const std::string_view> file_dtype_names();

// Every type of a graph can stand in a file.
FileDType file_dtype(DType dtype);

}  // namespace nadi::inline describe
