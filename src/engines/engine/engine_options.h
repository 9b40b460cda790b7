// What the user of an engine chooses about it, whatever the device.
#pragma once

namespace nadi::inline engines {

class PlanGroups;

// How a user wants GPUs to take products and sums.
struct MathOptions {
  bool tf32 = false;           // products of fp32 matrices on tensor cores, with 10 bits of mantissa
  bool deterministic = false;  // two runs give the same bits, also where a library would rather not
};

struct EngineOptions {
  int threads = 0;                     // of the host; 0 means one per core that the process may run on
  const PlanGroups* groups = nullptr;  // of this rank; nullptr means there are no others
  // Every kernel takes that many times as long, by sleeping: a slower device, for experiments.
  double slowdown = 1;
  MathOptions math = {};  // of GPUs
};

}  // namespace nadi::inline engines
