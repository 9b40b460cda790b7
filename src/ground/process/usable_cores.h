// The cores of this machine that this process may use.
#pragma once

namespace nadi::inline ground {

// At least 1.
int usable_cores();

}  // namespace nadi::inline ground
