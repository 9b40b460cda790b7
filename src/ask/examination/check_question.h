// Whether traces are well formed, agree, and suit simulators: what `nadi check` is asked.
//
//   const CheckReport answer = check_files({.files = {"out/run"}, .options = {.simulators = {"astra-sim"}}});
//   answer.findings.total(Severity::kError)
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/check/check_traces.h"

namespace nadi::inline ask {

struct CheckQuestion {
  std::vector<std::string> files = {};  // or patterns, or the start of the names of all ranks' traces
  CheckOptions options = {};            // its `progress` is of no account
  std::function<void(Bytes done, Bytes total)> progress = {};
};

// Error (input) for a file that is not there, (usage) for a simulator that nobody knows.
CheckReport check_files(const CheckQuestion& question);

}  // namespace nadi::inline ask
