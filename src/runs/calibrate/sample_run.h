// Runs a sample program on an engine, again and again, and keeps the records of the runs.
//
//   SampleRun run(sample, {.device = DeviceKind::kCpu, .threads = 2});
//   run.warm_up();
//   samples.add(run.program(), run.record(3));
//
// The program runs as the rank of its plan does, with absent partners (partners_absent.h): all kernels, and
// messages that take no time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/calibrate/sample_programs.h"
#include "nadi/devices/make_engine.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline runs {

class SampleRun {
 public:
  struct Options {
    DeviceKind device = DeviceKind::kCpu;
    int threads = 0;
    MathOptions math = {};
  };

  // What the run will take of the device's memory.
  static Bytes memory_of(const SampleProgram& sample, const Options& options);

  // Error (environment) when the device cannot run it.
  SampleRun(const SampleProgram& sample, const Options& options);
  ~SampleRun();

  const Program& program() const;
  Nanoseconds run_once();  // how long it took
  // The median time of a step when steps follow one another without a pause, after the device was busy with
  // them for a while: a GPU that is kept busy clocks down to keep within its power. For training.
  Nanoseconds run_sustained();
  std::vector<ExecutedStep> record(std::int64_t runs);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi::inline runs
