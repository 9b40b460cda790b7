// The programs of all stages of a plan, for those who need more than their own: each is built once, when it
// is first asked for.
//
//   const StagePrograms programs(config, request, plan);
//   engine.load(programs.of(stage));
//   const LogicalState state(config, plan, programs.all());
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/program.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {

class StagePrograms {
 public:
  StagePrograms(const ModelConfig& config, const StepRequest& request, const Plan& plan);

  const ModelConfig& config() const { return config_; }
  const StepRequest& request() const { return request_; }
  const Plan& plan() const { return plan_; }

  // Stays where it is as long as this lives. Error (usage) as build_step() throws.
  const Program& of(std::int64_t stage) const;
  std::span<const Program* const> all() const;  // by stage
  // By stage those that were asked for so far, nullptr for the others.
  std::span<const Program* const> built() const { return all_; }

  // Forgets the others.
  void keep_only(std::int64_t stage);

 private:
  const ModelConfig config_;
  const StepRequest request_;
  const Plan plan_;
  mutable std::vector<std::unique_ptr<const Program>> built_;
  mutable std::vector<const Program*> all_;  // nullptr means not built yet
};

}  // namespace nadi::inline describe
