#include "nadi/model/compute_dtypes.h"

#include <algorithm>

#include "nadi/base/error.h"

namespace nadi::inline describe {

std::string_view name_of(DType dtype) {
  const auto entry = std::ranges::find(kDTypes, dtype, &std::pair<std::string_view, DType>::second);
  check(entry != kDTypes.end(), "a step computes in one of kDTypes");
  return entry->first;
}

}  // namespace nadi::inline describe
