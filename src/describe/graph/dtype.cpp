#include "nadi/graph/dtype.h"

#include "nadi/base/error.h"

namespace nadi::inline describe {

std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return 1;
    case DType::kBF16:
    case DType::kF16:
      return 2;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kI64:
      return 8;
  }
  unreachable();
}

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kBF16:
      return "bf16";
    case DType::kF16:
      return "f16";
    case DType::kF8E4M3:
      return "f8e4m3";
    case DType::kF8E5M2:
      return "f8e5m2";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
  }
  unreachable();
}

bool is_floating(DType dtype) {
  return dtype != DType::kI32 && dtype != DType::kI64;
}

bool is_fp8(DType dtype) {
  return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
}

}  // namespace nadi::inline describe
