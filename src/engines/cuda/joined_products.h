// Products that share a factor, computed as one: one product with all three weights of attention takes less
// time than three. joined_runs.h finds such runs of ops; this is what is computed instead of one.
//
//   results     [y_1 | y_2 | y_3] = x [w_1; w_2; w_3]^T + [b_1, b_2, b_3], then rotary
//   gradients   rotary of [dy_1 | dy_2 | dy_3], the sum of its rows, its product with all weights, which is
//               added to what there is of dx, and its product with x
//
// The y_i, or dy_i, are columns of one matrix, in the order in which the weights lie in memory. Rotary turns
// them in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nadi/cuda/joined_runs.h"
#include "nadi/graph/graph.h"
#include "nadi/graph/memory_plan.h"

namespace nadi::inline engines::cuda {

struct JoinedProducts {
  // What is computed, one op after the other: an add behind a product belongs to it.
  Graph graph;
  // By tensor of `graph`, unless it is a view: where it is.
  struct Place {
    TensorId tensor = kNoTensor;  // of the program's graph: begins where this does
    // Elements from row to row. 0 means it is that tensor, with its strides.
    std::int64_t row_stride = 0;
  };
  std::vector<Place> places;
  SharedRows rows;              // the y_i, or the dy_i
  std::int64_t row_stride = 0;  // of these, in elements
};

JoinedProducts join_products(const Graph& graph, const ResultsRun& run);
JoinedProducts join_products(const Graph& graph, const GradientsRun& run);

}  // namespace nadi::inline engines::cuda
