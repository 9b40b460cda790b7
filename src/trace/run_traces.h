// The three files that tell what ran: Kineto's JSON (kineto_writer.h), Chakra with times (execution.h) and a
// table of where the time went (op_stacks.h).
//
//   const RunTraceFiles files{.kineto = "run_kineto.json", .chakra = "run.0.et", .stacks = "run_stacks.txt"};
//   refuse_existing(files);                          // before the work, where nothing may be overwritten
//   ...
//   write_run_traces(files, program, steps, {.name = "run"});
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/atomic_file.h"

namespace nadi {

struct ExecutedStep;
struct Program;

struct RunTraceFiles {
  std::filesystem::path kineto, chakra, stacks;
};

// Error (usage) when one of them is there.
void refuse_existing(const RunTraceFiles& files);

struct RunTraceOptions {
  std::string name = {};  // of the trace, in the Kineto file
  Overwrite overwrite = Overwrite::kRefuse;
  // Attributes (string) of the Chakra file's metadata: what ran, with which settings.
  std::vector<std::pair<std::string, std::string>> metadata = {};
};

// All are written before the first appears.
void write_run_traces(const RunTraceFiles& files, const Program& program, std::span<const ExecutedStep> steps,
                      const RunTraceOptions& options);

}  // namespace nadi
