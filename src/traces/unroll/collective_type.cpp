#include "nadi/unroll/collective_type.h"

#include <utility>

#include "nadi/base/error.h"

namespace nadi::inline traces {

CollectiveType collective_type(OpKind kind) {
  constexpr std::pair<OpKind, CollectiveType> kTypes[] = {
      {OpKind::kAllReduce, CollectiveType::kAllReduce},
      {OpKind::kReduce, CollectiveType::kReduce},
      {OpKind::kAllGather, CollectiveType::kAllGather},
      {OpKind::kBucketAllGather, CollectiveType::kAllGather},
      {OpKind::kReduceScatter, CollectiveType::kReduceScatter},
      {OpKind::kBucketReduceScatter, CollectiveType::kReduceScatter},
      {OpKind::kBroadcast, CollectiveType::kBroadcast},
      {OpKind::kAllToAll, CollectiveType::kAllToAll},
      {OpKind::kExchangeRows, CollectiveType::kAllToAll},
  };
  for (const auto& [known, type] : kTypes)
    if (known == kind) return type;
  check(false, "a collective has no name in traces");
  unreachable();
}

}  // namespace nadi::inline traces
