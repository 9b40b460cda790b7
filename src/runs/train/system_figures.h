// What this process and its machine use, under the names that Weights & Biases gives such figures:
//
//   SystemFigures system;
//   for (const auto& [name, value] : system.now()) ...     // "cpu", "proc.memory.rssMB", ...
//
// cpu: percent of the processors that this process may run on, since the last call (100: all of them);
// proc.cpu.threads; proc.memory.rssMB and proc.memory.percent: its memory; memory_percent and
// proc.memory.availableMB: that of the machine. A MB has 2^20 bytes. What the system does not say is left
// out.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/processor_use.h"

namespace nadi::inline runs {

class SystemFigures {
 public:
  SystemFigures() : before_(processor_use_so_far()) {}
  std::vector<std::pair<std::string, double>> now();

 private:
  std::optional<ProcessorUse> before_;
};

}  // namespace nadi::inline runs
