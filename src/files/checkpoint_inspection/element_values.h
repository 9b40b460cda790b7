// Elements of any type as numbers, for comparing tensors of different types.
#pragma once

#include <cstddef>
#include <span>

#include "nadi/graph/file_dtype.h"

namespace nadi::inline files {

// Whether elements of the type are numbers of one line: all types but the complex ones.
bool has_values(FileDType dtype);

// Elements as doubles. Exact for every floating-point type and for integers up to 2^53. `in` need not be
// aligned and has as many elements as `out`.
void element_values(FileDType dtype, const std::byte* in, std::span<double> out);

}  // namespace nadi::inline files
