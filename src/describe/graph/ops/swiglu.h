// y = silu(gate) * up, with silu(x) = x / (1 + exp(-x)): the gated activation of Llama's feed-forward layers.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

TensorId swiglu(GraphBuilder& builder, TensorId gate, TensorId up);

}  // namespace nadi::inline describe
