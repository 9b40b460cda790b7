// Measures this machine as the simulator wants it: ops through the engine's own kernels, communication over
// MPI, and what the ranks of a machine take away from each other.
//
//   // On every rank of a job that has the machine for itself; one rank is a job, too.
//   const Cluster part = calibrate(options, world, listener);
//   const Cluster machine = machine_of({of_one_rank, of_two, of_four});
//
// The result of one job is a cluster of one node with as many devices as ranks. A machine that is divided
// among other numbers of ranks is another kind of node (NodeSpec::alternatives): cores, caches and memory
// bandwidth are shared, so the tables of both differ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/calibrate/sample_programs.h"
#include "nadi/cluster/cluster.h"
#include "nadi/devices/make_engine.h"
#include "nadi/graph/dtype.h"
#include "nadi/model/model_config.h"

namespace nadi::inline engines {
class Communicator;
}  // namespace nadi::inline engines

namespace nadi::inline runs {

struct CalibrationOptions {
  DeviceKind device = DeviceKind::kCpu;
  MathOptions math = {};
  int threads = 1;                  // of each rank
  std::vector<ModelConfig> models;  // whose shapes are measured
  std::vector<DType> dtypes = {DType::kF32};
  bool quick = false;
  std::vector<SampleSize> sizes = {};  // only training with these: see sample_programs.h
  std::int64_t repetitions = 3;        // of each step, more of short ones; their median counts
  // Samples that need more are left out, and said to be.
  Bytes memory_limit = 4_GiB;
  // How much time measurements may take that were disturbed and are made again (quiet_windows.h); 0 means nothing
  // is judged. Of the CPU; on a GPU the host matters little.
  Nanoseconds patience = Nanoseconds{60'000'000'000};
};

class CalibrationListener {
 public:
  virtual ~CalibrationListener() = default;
  // Before each piece of work: the number of those done, and of all. May throw to stop.
  virtual void progress(std::int64_t done, std::int64_t total, std::string_view what) = 0;
  // Between the runs of a piece, which may be long. May throw to stop.
  virtual void between_runs() {}
  virtual void note(const std::string& text) = 0;
  virtual void warning(const std::string& text) { note(text); }
};

Cluster calibrate(const CalibrationOptions& options, Communicator& world, CalibrationListener& listener);

// One machine of what jobs with different numbers of ranks have measured, in any order; at least one.
Cluster machine_of(std::vector<Cluster> parts);

}  // namespace nadi::inline runs
