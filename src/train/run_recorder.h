// Records steps of a run as PyTorch's profiler schedules do: the first `wait` steps go by, `warmup` steps are
// recorded and forgotten, `active` steps are kept; then the traces are written and nothing is recorded any
// more.
//
//   RunRecorder recorder({.folder = "outputs", .name = "gpt2_1gpu"}, program);
//   for (...) {
//     engine.run(loaded, recorder.begin_step(step));      // nullptr: this step is not recorded
//     if (recorder.end_step()) recorder.write();
//   }
//
// Three files: <name>_trace_kineto.json (kineto_writer.h), <name>_trace.et (Chakra, the step graph's nodes
// with their times), <name>_trace_stacks.txt (op_stacks.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/parallel/program.h"
#include "nadi/trace/execution.h"
#include "nadi/trace/run_traces.h"

namespace nadi {

struct RecorderOptions {
  std::filesystem::path folder = {};
  std::string name = {};
  std::int64_t wait = 1;
  std::int64_t warmup = 1;
  std::int64_t active = 1;
  Overwrite overwrite = Overwrite::kRefuse;
  // Attributes (string) of the Chakra file's metadata: what ran, with which settings.
  std::vector<std::pair<std::string, std::string>> metadata = {};
};

// The paths that a run with this name writes: Kineto, Chakra, stacks.
RunTraceFiles run_trace_files(const std::filesystem::path& folder, const std::string& name);

class RunRecorder {
 public:
  // The program must outlive this. Error (usage) when a file is there and may not be overwritten: asked
  // before any work is done.
  RunRecorder(RecorderOptions options, const Program& program);

  // What the engine is to record into, or nullptr.
  ExecutedStep* begin_step(std::int64_t step);
  // True after the last active step: time to write.
  bool end_step();
  void write() const;

  std::int64_t recorded() const { return static_cast<std::int64_t>(kept_.size()); }
  bool finished() const { return seen_ >= options_.wait + options_.warmup + options_.active; }
  RunTraceFiles files() const { return run_trace_files(options_.folder, options_.name); }

 private:
  RecorderOptions options_;
  const Program& program_;
  std::int64_t seen_ = 0;
  ExecutedStep current_;
  std::vector<ExecutedStep> kept_;
};

}  // namespace nadi
