// The collective that an op is, in the words of traces: see trace/collective_table.h for all about it.
#pragma once

#include "nadi/graph/op.h"
#include "nadi/trace/node_type.h"

namespace nadi::inline traces {

// Several ops are the same collective of other tensors: a bucket is many seen as one. A bug for an op that is
// no collective.
CollectiveType collective_type(OpKind kind);

}  // namespace nadi::inline traces
