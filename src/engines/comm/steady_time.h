// Now, on the steady clock: the time on which requests are done and clocks of ranks are compared.
#pragma once

#include <chrono>

#include "nadi/base/units.h"

namespace nadi::inline engines {

inline Nanoseconds steady_time() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::steady_clock;
  return Nanoseconds{duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count()};
}

}  // namespace nadi::inline engines
