// What a plan file predicted for a job, beside what the job took.
//
//   const JobPrediction prediction = predict_job("plan.json");
//   prediction.simulated, prediction.stages[2].forward
//
// The plan names its model and its cluster: the step is simulated again (sim/simulation.h), so that there are
// times of each stage. What the file itself predicts is kept beside it. A plan that cannot be simulated here
// (it names no cluster, or a model that is not here) is no Error: `problem` says why.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline jobs {

struct PredictedStage {
  std::int64_t stage = 0;
  Nanoseconds forward = {}, backward = {};  // computation of a step, backward with what is computed again
  Nanoseconds bubble = {};
  Bytes memory = {};
};

struct JobPrediction {
  std::filesystem::path plan = {};
  std::string model = {}, cluster = {};
  std::int64_t tensor = 1, context = 1, data = 1, pipeline = 1;
  std::int64_t ranks() const { return tensor * context * data * pipeline; }
  std::int64_t micro_batch = 1, global_batch = 1, seq_length = 1;
  std::optional<Nanoseconds> planned = {};    // as the file says
  std::optional<Nanoseconds> simulated = {};  // as computed here
  std::vector<PredictedStage> stages = {};    // where it was simulated
  std::string problem = {};                   // why it was not

  std::optional<Nanoseconds> step() const { return simulated ? simulated : planned; }
};

// Error (input) for a file that is no plan.
JobPrediction predict_job(const std::filesystem::path& plan);

}  // namespace nadi::inline jobs
