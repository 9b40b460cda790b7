#include "nadi/studies/planned_partition.h"

#include <algorithm>
#include <memory>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/model/config_file.h"
#include "nadi/parallel/step_program.h"
#include "nadi/step/step_question.h"
#include "nadi/tune/plan_guide.h"

namespace nadi::inline ask {

PlannedRun resolve_planned(const PlannedRun& asked) {
  PlannedRun planned = asked;
  if (!planned.plan_file.empty()) {
    if (!planned.model.empty() || !planned.cluster.empty() || planned.global_batch_size != 0 ||
        planned.seq_length != 0 || !planned.dtype.empty())
      throw usage_error("a plan's file and what it says contradict each other", "the plan says it");
    const PlanFile file = read_plan_file(planned.plan_file);
    planned.model = file.model;
    planned.cluster = file.cluster;
    planned.global_batch_size = file.global_batch_size;
    planned.seq_length = file.seq_length;
    planned.dtype = std::string(name_of(file.dtype));
    planned.fp8 = file.fp8;
    planned.attention = attention_name(file.fused_attention);
    planned.optimizer = to_string(file.optimizer);
    const std::int64_t ranks = file.plan.world_size();
    if (planned.gpus != 0 && planned.gpus != ranks)
      throw usage_error(
          format("{} GPUs, and the plan of {} is for {}", planned.gpus, planned.plan_file, ranks),
          "leave the number of GPUs out");
    planned.gpus = ranks;
    if (planned.cluster.empty())
      throw usage_error(format("{} names no cluster", planned.plan_file), "plan on a cluster");
  }
  if (planned.cluster.empty()) return planned;
  if (planned.model.empty()) throw usage_error("a cluster needs a model", "the planner plans a model");
  if (planned.global_batch_size == 0)
    throw usage_error("a cluster needs the size of the batch",
                      "the planner splits that batch over the ranks");
  // Constraints of the space divide them.
  if (planned.gpus == 0) planned.gpus = load_cluster(planned.cluster).device_count();
  return planned;
}

void add_planned_partition(const PlannedRun& planned, const PartitionWords& words, TuneSpace& space) {
  const std::string name = space.plan.partition;
  if (planned.plan_file.empty() || space.find_constant(name) == nullptr ||
      space.find(space.plan.pp) == nullptr)
    return;
  const PlanFile file = read_plan_file(planned.plan_file);
  if (file.plan.partition.empty()) return;
  const std::string layers = partition_value(file.plan.partition);
  if (layers == kEvenPartition) return;
  const ModelConfig config = load_model_config(planned.model);
  check_plan_file(file, planned.plan_file, config);
  const std::string even(kEvenPartition);
  TuneParameter parameter{.name = name, .fallback = even};
  parameter.distribution =
      std::make_shared<const ParameterDistribution>(CategoricalDistribution{.choices = {even, layers}});
  parameter.words.emplace(layers, words ? words(config, file) : std::vector<std::string>());
  std::erase_if(space.constants, [&](const auto& constant) { return constant.first == name; });
  // Behind the number of stages: what follows is decided under both.
  const auto stages = std::ranges::find(space.parameters, space.plan.pp, &TuneParameter::name);
  space.parameters.insert(stages + 1, std::move(parameter));
  space.constraints.push_back(
      {.expression = Expression::parse(
           format("{} == '{}' or {} == {}", name, even, space.plan.pp, file.plan.pp), planned.plan_file),
       .because = format("{} are layers of {} stages", layers, file.plan.pp)});
}

}  // namespace nadi::inline ask
