// Reads the description of an architecture (architecture.h) from JSON in the words of docs/architectures.md.
// For our own sources.
#pragma once

#include "nadi/base/json.h"
#include "nadi/model/architecture.h"

namespace nadi::inline describe {

// Error (input) with the place of what is wrong: an unknown key or word, a name that is used twice, parts that
// contradict each other, a field that no model has.
ArchitectureDescription read_architecture(JsonValue description);

}  // namespace nadi::inline describe
