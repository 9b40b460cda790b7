// What a plan file names: its model, its cluster, and where its ranks belong.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/model/model_config.h"
#include "nadi/plan/plan_file.h"

namespace nadi::inline ask {

// The model of the file, whose plan fits it. Error (input) where it is not known, or the plan does not fit.
ModelConfig model_of_plan(const PlanFile& file, const std::filesystem::path& path,
                          const std::string& model_type = {});

// The cluster of the file, as its ranks see it (Cluster::for_ranks()); nothing where it names none. Error
// (input) where it is not known, or lacks devices that ranks are placed on.
std::optional<Cluster> cluster_of_plan(const PlanFile& file, const std::filesystem::path& path);

// Where the ranks of the plan belong, for the log of a run: nodes in order, and that this means nothing where
// all ranks share this machine. Empty where the file names no cluster.
std::vector<std::string> placement_notes(const PlanFile& file, const std::filesystem::path& path,
                                         bool one_machine);

}  // namespace nadi::inline ask
