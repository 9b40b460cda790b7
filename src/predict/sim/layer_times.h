// Measured times of whole layers instead of the model: how long the embedding, each transformer layer and the
// head take forward, per sequence.
//
//   const LayerTimes times = LayerTimes::read("known_cost_all.csv");
//   options.retime = times.retime(config, request, plan);          // SimulationOptions::retime
//
// Files: FASOP's table (CSV with the columns `file` and `all_values`; a row per model, device and degree of
// tensor parallelism, named as "gpt2XL_A10_1.npy"), or one of its arrays (.npy of doubles, with such a name).
// The values of a row are those of the embedding, of each layer in the model's order, and of the head, in
// seconds for one sequence.
//
// A backward pass takes twice its forward pass, and what is recomputed takes its forward time again. The time
// of a layer is divided among its ops as the device model would have it. Norms and updates of the optimizer
// keep the times of the model. Where several devices are simulated, each takes the row of its own name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "nadi/graph/op.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/step_program.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

class LayerTimes {
 public:
  struct Entry {
    std::string model, device;  // as the file spells them: "gpt2XL", "A10"
    std::int64_t tp = 1;
    std::vector<double> seconds;  // embedding, layers, head

    double embedding() const { return seconds.front(); }
    double layer(std::size_t number) const { return seconds[number + 1]; }
    double head() const { return seconds.back(); }
  };

  // Error (input) with file and line for anything else than the formats above, and for times that are not
  // positive numbers.
  static LayerTimes read(const std::filesystem::path& path);

  const std::vector<Entry>& entries() const { return entries_; }

  // The row for a model on a device: of the model's name where there is one, else the only one with as many
  // layers. Error (usage) that names what there is when there is none.
  const Entry& find(const ModelConfig& config, const std::string& device, std::int64_t tp) const;

  // What a pass of so many sequences takes where one sequence takes `forward` seconds forward.
  static double pass_seconds(double forward, double sequences, Phase phase) {
    return forward * sequences * (phase == Phase::kBackward ? 2 : 1);
  }

  // The times of a graph's ops on a device for so many sequences: those of the model in, the table's out.
  static void retime(const Entry& entry, const Graph& graph, double sequences, std::span<OpTime> times);
  // The function keeps a copy of the table.
  RetimeOps retime(const ModelConfig& config, const StepRequest& request, const Plan& plan) const;

 private:
  std::string file_;
  std::vector<Entry> entries_;
};

}  // namespace nadi::inline predict
