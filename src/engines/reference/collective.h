// Collectives as functions: from what all members of a group give to what all of them get.
#pragma once

#include <span>
#include <vector>

#include "nadi/graph/op_definition.h"
#include "nadi/reference/reference_store.h"

namespace nadi::inline engines {

// `op` is that of any member, for they agree in kind, attributes and shapes. Inputs and results are by the
// members' places in the group; where the op has several inputs or outputs, they are one flat array.
std::vector<Doubles> run_collective(const OpView& op, std::span<const std::span<const double>> inputs);

// The outputs of an op from that array.
std::vector<Doubles> separate_outputs(const OpView& op, const Doubles& flat);

}  // namespace nadi::inline engines
