// Logits have as many columns as the vocabulary has tokens, and rows of 50,257 elements begin anywhere:
// products with such matrices take six times as long as with rows that begin at round addresses. So the rows
// of values with an odd number of columns are padded in memory, where all ops that make or read them can go
// from row to row by a stride. Shapes, counts and results know nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nadi/graph/graph.h"
#include "nadi/parallel/program.h"

namespace nadi::inline engines::cuda {

// Rows of so many elements are padded to a multiple of it.
inline constexpr std::int64_t kRowMultiple = 128;

// By tensor of the graph: elements from row to row, or 0 where rows are as long as the shape says. Empty means no
// tensor is padded.
std::vector<std::int64_t> padded_row_strides(const Graph& graph);

// Products with such values are fast only when the matrix on the other side has as many rows: the table of
// tokens, and its gradient. By tensor of the graph: rows that are kept free behind it, so that it ends where
// a padded row does; 0 means none. In a bucket, where one variable follows the other, only the last can have them;
// that is where the table of a tied model stands.
std::vector<std::int64_t> spare_rows_behind(const Program& program, const Graph& graph);

}  // namespace nadi::inline engines::cuda
