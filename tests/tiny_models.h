// For tests: models small enough to be run in double precision by the thousand, and data for them.
#pragma once

#include <cstdint>
#include <string>

#include "nadi/engine/reference/reference_store.h"
#include "nadi/model/model_config.h"

namespace nadi {

// Width 8, four heads of keys and values, a vocabulary of 13 that divides over no group, dropout wherever the
// architecture has it; Llama with two queries per key and stretched rotary frequencies.
ModelConfig tiny_model(Architecture architecture, std::int64_t layers);

// Integers from 0 to below - 1 that depend on the name.
Doubles random_integers(const std::string& name, std::int64_t count, std::int64_t below);

}  // namespace nadi
