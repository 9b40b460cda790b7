#include "nadi/graph/file_dtype.h"

#include <array>

#include "nadi/base/error.h"

namespace nadi::inline describe {
namespace {

// At the position of their FileDType.
constexpr std::array<std::string_view, 17> kFileDTypeNames{"BOOL", "U8",  "I8",   "F8_E5M2", "F8_E4M3", "I16",
                                                           "U16",  "F16", "BF16", "I32",     "U32",     "F32",
                                                           "C64",  "F64", "I64",  "U64",     "C128"};
static_assert(kFileDTypeNames[static_cast<std::size_t>(FileDType::kC128)] == "C128");

constexpr auto kSafetensorsNames = std::span(kFileDTypeNames).first<16>();

}  // namespace

std::int64_t size_of(FileDType dtype) {
  switch (dtype) {
    case FileDType::kBool:
    case FileDType::kU8:
    case FileDType::kI8:
    case FileDType::kF8E5M2:
    case FileDType::kF8E4M3:
      return 1;
    case FileDType::kI16:
    case FileDType::kU16:
    case FileDType::kF16:
    case FileDType::kBF16:
      return 2;
    case FileDType::kI32:
    case FileDType::kU32:
    case FileDType::kF32:
      return 4;
    case FileDType::kC64:
    case FileDType::kF64:
    case FileDType::kI64:
    case FileDType::kU64:
      return 8;
    case FileDType::kC128:
      return 16;
  }
  unreachable();
}

std::string_view to_string(FileDType dtype) {
  return kFileDTypeNames[static_cast<std::size_t>(dtype)];
}

std::optional<FileDType> file_dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < kSafetensorsNames.size(); ++i)
    if (kSafetensorsNames[i] == name) return static_cast<FileDType>(i);
  return std::nullopt;
}

std::span<const std::string_view> file_dtype_names() {
  return kSafetensorsNames;
}

FileDType file_dtype(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return FileDType::kF32;
    case DType::kBF16:
      return FileDType::kBF16;
    case DType::kF16:
      return FileDType::kF16;
    case DType::kF8E4M3:
      return FileDType::kF8E4M3;
    case DType::kF8E5M2:
      return FileDType::kF8E5M2;
    case DType::kI32:
      return FileDType::kI32;
    case DType::kI64:
      return FileDType::kI64;
  }
  unreachable();
}

}  // namespace nadi::inline describe
