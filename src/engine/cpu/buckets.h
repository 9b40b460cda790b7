// The buckets of a program: variables that are reduced or gathered as one array, and so lie one after the
// other in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nadi/graph/graph.h"

namespace nadi::cpu {

struct Bucket {
  std::vector<std::string> tensors;
  // Where each rank has an equal part of the bucket: the variable that is this rank's. The bucket is padded
  // so that it divides.
  std::string part = {};
  std::int64_t parts = 1;
};

// It is a bug when a tensor is in two buckets that differ.
std::vector<Bucket> buckets_of(std::span<const Graph> graphs);

}  // namespace nadi::cpu
