// A plan as Megatron-LM takes it: its partition in Megatron's notations, and the command line that starts it.
//
//   const MegatronCommand megatron = megatron_command(config, plan_file, cluster);
//   megatron.partition                  // "[1, 11, 8, 8, 8, 8, 5, 1]"
//   megatron.layout                     // "E|t*11|(t*8|)*4t*5|L"
//   megatron.command                    // "torchrun ... pretrain_gpt.py \ ..."
//   for (const std::string& text : megatron.problems) ...
//
// Three ways in which Megatron-LM splits layers:
//
// - evenly, where the number of layers divides over the stages;
// - with a first and a last stage of other sizes: --decoder-first-pipeline-num-layers and
//   --decoder-last-pipeline-num-layers, each at least one layer;
// - by a layout, which may have stages of any size and empty ones: --pipeline-model-parallel-layout. It is
//   experimental there, and older versions lack it.
//
// The first of them that can express a partition is taken. Modified versions of Megatron-LM, as FASOP's, take
// a list with one number per stage in which the embedding and the head count as a layer each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/model/model_config.h"
#include "nadi/plan/plan_file.h"

namespace nadi::inline show {

struct MegatronCommand {
  std::string partition;              // per stage, embedding and head counted; with virtual stages per those
  std::string layout;                 // as --pipeline-model-parallel-layout takes it
  std::string command;                // lines that end with a backslash except for the last
  std::vector<std::string> notes;     // what the user has to set, or should know
  std::vector<std::string> problems;  // why Megatron-LM cannot run the plan as it is
};

// The plan fits the model, and its devices are those of the cluster (check_plan_file(), check_devices()).
MegatronCommand megatron_command(const ModelConfig& config, const PlanFile& file, const Cluster& cluster);

// A flag about which a plan decides.
struct MegatronPlanFlag {
  enum class Use {
    kGiven,    // the plan's command has it, with the one of `values`; none means a switch
    kDefault,  // the command goes without it, since Megatron-LM then does any of `values`
    kAbsent,   // the command must go without it
  };
  std::string name;
  Use use = Use::kGiven;
  std::vector<std::string> values = {};
  std::string instead = {};  // kAbsent: what the plan has in its place; "": nothing
};

struct MegatronPlanFlags {
  std::vector<MegatronPlanFlag> flags;  // each once; those of kGiven in the order of the command
  std::vector<std::pair<std::string, std::string>> environment;  // variables that Megatron-LM insists on
  std::vector<std::string> notes, problems;
};

// What the command says about the model, the split, the batch and the computation: everything but who starts
// it, data and the number of steps. The plan fits the model.
MegatronPlanFlags megatron_plan_flags(const ModelConfig& config, const PlanFile& file);

}  // namespace nadi::inline show
