// For tests: tokens and other integers for the inputs of a step.
#pragma once

#include <cstdint>
#include <string>

#include "nadi/reference/reference_store.h"

namespace nadi {

// Integers from 0 to below - 1 that depend on the name.
Doubles random_integers(const std::string& name, std::int64_t count, std::int64_t below);

}  // namespace nadi
