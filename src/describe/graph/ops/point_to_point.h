// A tensor from one rank to another: the edges between pipeline stages. Messages between two ranks are
// matched by tag. Forward tags are even; the gradient of what was sent with tag t comes back with t + 1.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

// The peer is a place in a group, e.g. "pp": the same program then serves every rank of a class.
struct PeerArgs {
  std::string group;
  std::int64_t peer = 0;  // its place in the group
  std::int64_t tag = 0;
};

void send(GraphBuilder& builder, TensorId x, const PeerArgs& to);
TensorId receive(GraphBuilder& builder, const Shape& shape, DType dtype, const PeerArgs& from);

}  // namespace nadi::inline describe
