#include "nadi/reference/kernel_tests/tensor_bytes_for_tests.h"

#include <cstring>

#include "nadi/engine/element.h"

namespace nadi::inline engines {
namespace {

template <class Element>
void integers_to_bytes(const Doubles& values, std::byte* target) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<Element>(values[i]);
    std::memcpy(target + i * sizeof value, &value, sizeof value);
  }
}

template <class Element>
void bytes_to_integers(std::span<const std::byte> bytes, Doubles& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Element value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    values[i] = static_cast<double>(value);
  }
}

}  // namespace

std::vector<std::byte> bytes_of(const Doubles& values, DType dtype) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(size_of(dtype)));
  if (dtype == DType::kI32) {
    integers_to_bytes<std::int32_t>(values, bytes.data());
  } else if (dtype == DType::kI64) {
    integers_to_bytes<std::int64_t>(values, bytes.data());
  } else {
    const std::vector<float> floats(values.begin(), values.end());
    convert_from_float(floats.data(), static_cast<std::int64_t>(floats.size()), bytes.data(), dtype);
  }
  return bytes;
}

Doubles doubles_of(std::span<const std::byte> bytes, DType dtype) {
  Doubles values(bytes.size() / static_cast<std::size_t>(size_of(dtype)));
  if (dtype == DType::kI32) {
    bytes_to_integers<std::int32_t>(bytes, values);
  } else if (dtype == DType::kI64) {
    bytes_to_integers<std::int64_t>(bytes, values);
  } else {
    std::vector<float> floats(values.size());
    convert_to_float(bytes.data(), dtype, static_cast<std::int64_t>(floats.size()), floats.data());
    values.assign(floats.begin(), floats.end());
  }
  return values;
}

}  // namespace nadi::inline engines
