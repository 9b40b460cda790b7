// What this machine's processor is, and what this build has for it: `nadi devices` prints it.
#pragma once

#include <optional>
#include <string>

#include "nadi/base/units.h"

namespace nadi::inline engines::cpu {

struct CpuDescription {
  std::string name = {};                    // as the system calls it; empty where it does not say
  int cores = 1;                            // that the process may run on
  Bytes memory = {};                        // of the machine
  std::string instruction_set = {};         // that kernels were compiled for: "x86-64-v3"
  std::string matrix_library = {};          // "oneDNN 2.6.3"
  std::optional<std::string> why_not = {};  // why kernels cannot run here
};
CpuDescription describe_cpu();

// Error (environment) when the processor lacks instructions that kernels were compiled with.
void check_instructions();

}  // namespace nadi::inline engines::cpu
