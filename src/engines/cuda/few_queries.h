// How attention of few queries with many keys, as in decoding with a cache, is cut into blocks of threads: by
// sequence, key-value head, rows (a query of one of its heads each) and parts of the keys. How many keys
// there are is known only on the device, so the number of parts follows from the shapes alone, and each part
// takes its share of the keys that are there. Known without CUDA, for the workspace.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nadi/cuda/device_traits.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/attention.h"

namespace nadi::inline engines::cuda {

struct FewQueries {
  static constexpr std::int64_t kMostTokens = 8;
  static constexpr std::int64_t kMostRows = 8;  // of a block
  // Adding up parts takes longer than reading so many keys; of more, a part has at least the second number.
  static constexpr std::int64_t kKeysOfOnePart = 512;
  static constexpr std::int64_t kLeastKeys = 128;

  FewQueries(const AttentionExtents& e, const DeviceTraits& traits)
      : rows(e.T * (e.H / e.K)),
        block_rows(rows == 1 ? 1 : (rows <= 4 ? 4 : kMostRows)),
        heads(e.B * e.K * ((rows + block_rows - 1) / block_rows)) {
    const std::int64_t useful = e.S <= kKeysOfOnePart ? 1 : (e.S + kLeastKeys - 1) / kLeastKeys;
    parts = std::max<std::int64_t>(1, std::min(traits.multiprocessors / heads, useful));
    workspace =
        parts == 1 ? 0 : heads * parts * block_rows * (e.D + 2) * static_cast<std::int64_t>(sizeof(float));
  }

  std::int64_t rows;        // of a key-value head
  std::int64_t block_rows;  // of a block
  std::int64_t heads;       // times sequences and groups of rows: blocks per part
  std::int64_t parts;
  std::int64_t workspace;  // bytes, for the results of parts
};

}  // namespace nadi::inline engines::cuda
