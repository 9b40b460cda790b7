// Which measurements of this machine make a cluster file: what `nadi calibrate` is asked.
//
//   const CalibrationAnswer answer = calibrate({.quick = true});
//   answer.machine                                                  // what load_cluster() reads of its file
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/calibrate/calibration.h"
#include "nadi/calibrate/sample_programs.h"
#include "nadi/cluster/cluster.h"
#include "nadi/devices/make_engine.h"
#include "nadi/graph/dtype.h"

namespace nadi::inline ask {

// Models whose shapes are measured where none is named.
inline constexpr const char* kDefaultCalibratedModel = "gpt2";
// Seconds of disturbed measurements that are repeated with `quick`.
inline constexpr Nanoseconds kQuickPatience{5'000'000'000};
// Numbers of ranks that are measured where none is named: powers of two up to the cores, and to this.
inline constexpr std::int64_t kMostRanksUnasked = 8;

struct CalibrationQuestion {
  DeviceKind device = DeviceKind::kCpu;
  MathOptions math = {};
  bool quick = false;                  // few sizes
  std::vector<SampleSize> sizes = {};  // only training with these
  std::optional<std::int64_t> repetitions = {};
  std::optional<Nanoseconds> patience = {};  // at most a day
  int threads = 0;                           // of each rank; 0 means its share of the cores
  std::vector<std::string> models = {};      // as load_model_config() takes them
  std::vector<DType> dtypes = {};            // else fp32, which a CPU computes in; on a GPU bf16
};

// For a job of so many ranks on this machine. Error (usage) for the reference engine, which is not made to be fast,
// and for `quick` with sizes; and what load_model_config() throws.
CalibrationOptions resolve(const CalibrationQuestion& question, std::int64_t ranks);

struct CalibrationAnswer {
  Cluster machine;
  std::filesystem::path file = {};  // that it was written to; "": none
  double seconds = 0;               // that it took
};
// With one rank, in this process. `listener`: nullptr where nobody wants to hear of it. Several ranks are jobs of their own
// (calibrate/calibration.h).
CalibrationAnswer calibrate(const CalibrationQuestion& question, CalibrationListener* listener = nullptr);

// Numbers of ranks that are measured by default.
std::vector<std::int64_t> calibrated_ranks(DeviceKind device);

}  // namespace nadi::inline ask
