#include "nadi/reference/double_elements.h"

#include <cstring>

#include "nadi/base/error.h"
#include "nadi/base/half.h"

namespace nadi::inline engines {
namespace {

// convert(element) for each element of type Element.
template <class Element, class Convert>
Doubles converted(std::span<const std::byte> elements, const Convert& convert) {
  Doubles values(elements.size() / sizeof(Element));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Element element;
    std::memcpy(&element, elements.data() + i * sizeof element, sizeof element);
    values[i] = static_cast<double>(convert(element));
  }
  return values;
}

template <class Element, class Convert>
void convert_back(std::span<const double> values, std::span<std::byte> into, const Convert& convert) {
  check(into.size() == values.size() * sizeof(Element), "as many elements as values");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Element element = convert(values[i]);
    std::memcpy(into.data() + i * sizeof element, &element, sizeof element);
  }
}

}  // namespace

Doubles to_doubles(std::span<const std::byte> elements, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return converted<float>(elements, [](float x) { return x; });
    case DType::kBF16:
      return converted<std::uint16_t>(elements, from_bf16);
    case DType::kF16:
      return converted<std::uint16_t>(elements, from_f16);
    case DType::kI32:
      return converted<std::int32_t>(elements, [](std::int32_t x) { return x; });
    case DType::kI64:
      return converted<std::int64_t>(elements, [](std::int64_t x) { return x; });
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      check(false, "no variable or input is fp8");
  }
  unreachable();
}

void from_doubles(std::span<const double> values, DType dtype, std::span<std::byte> into) {
  const auto as_float = [](double x) { return static_cast<float>(x); };
  switch (dtype) {
    case DType::kF32:
      return convert_back<float>(values, into, as_float);
    case DType::kBF16:
      return convert_back<std::uint16_t>(values, into, [&](double x) { return to_bf16(as_float(x)); });
    case DType::kF16:
      return convert_back<std::uint16_t>(values, into, [&](double x) { return to_f16(as_float(x)); });
    case DType::kI32:
      return convert_back<std::int32_t>(values, into, [](double x) { return static_cast<std::int32_t>(x); });
    case DType::kI64:
      return convert_back<std::int64_t>(values, into, [](double x) { return static_cast<std::int64_t>(x); });
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      check(false, "no variable or input is fp8");
  }
  unreachable();
}

}  // namespace nadi::inline engines
