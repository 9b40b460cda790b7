#include "nadi/parallel/variable_buckets.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline describe {

void add_buckets(std::vector<VariableBucket>& buckets, std::span<const VariableBucket> added) {
  std::map<std::string_view, std::size_t> by_first;
  std::map<std::string_view, std::size_t> by_tensor;
  const auto note = [&](std::size_t number) {
    by_first.emplace(buckets[number].tensors.front(), number);
    for (const std::string& name : buckets[number].tensors)
      check(by_tensor.emplace(name, number).second, format("'{}' is in two buckets", name));
  };
  buckets.reserve(buckets.size() + added.size());  // names are views of what is there
  for (std::size_t i = 0; i < buckets.size(); ++i) note(i);
  for (const VariableBucket& bucket : added) {
    const auto known = by_first.find(bucket.tensors.front());
    if (known != by_first.end() && buckets[known->second] == bucket) continue;
    buckets.push_back(bucket);
    note(buckets.size() - 1);
  }
}

BucketOrder::BucketOrder(std::span<const VariableBucket> buckets) {
  for (const VariableBucket& bucket : buckets)
    for (std::size_t i = 1; i < bucket.tensors.size(); ++i)
      next_.emplace(bucket.tensors[i - 1], bucket.tensors[i]);
}

bool BucketOrder::follows(std::string_view first, std::string_view second) const {
  const auto next = next_.find(first);
  return next != next_.end() && next->second == second;
}

}  // namespace nadi::inline describe
