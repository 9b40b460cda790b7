// Variables that lie one after the other in memory, without gaps: parameters, gradients and optimizer state
// of parameters that are reduced, gathered or updated together. One call can then reduce all of them, and one
// kernel update them.
//
//   const BucketOrder order(program.buckets);
//   order.follows("h.0.attn.weight.m", "h.0.mlp.weight.m")    // the second begins where the first ends
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline describe {

struct VariableBucket {
  std::vector<std::string> tensors;
  // Where each rank has an equal part of the bucket: the variable that is this rank's, which lies within. The
  // bucket is padded so that it divides.
  std::string part = {};
  std::int64_t parts = 1;

  bool operator==(const VariableBucket&) const = default;
};

// Adds what is not there yet. It is a bug when a tensor is in two buckets that differ.
void add_buckets(std::vector<VariableBucket>& buckets, std::span<const VariableBucket> added);

class BucketOrder {
 public:
  // The buckets must outlive this.
  explicit BucketOrder(std::span<const VariableBucket> buckets);

  bool follows(std::string_view first, std::string_view second) const;

 private:
  std::map<std::string_view, std::string_view> next_;
};

}  // namespace nadi::inline describe
