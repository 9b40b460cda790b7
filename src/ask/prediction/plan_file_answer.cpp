#include "nadi/prediction/plan_file_answer.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/model/config_file.h"
#include "nadi/plan/device_runs.h"

namespace nadi::inline ask {
namespace {

namespace fs = std::filesystem;

// Lines of a placement that a log shows; plans of whole nodes have one per kind of node.
constexpr std::size_t kShownPlacements = 8;

// An unknown name in the file is a mistake of the file, not of who asks.
template <typename Load>
auto load_named(const std::string& key, const fs::path& path, const Load& load) {
  try {
    return load();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    throw input_error({.file = path.string()}, format("{}: {}", key, error.message()), error.hint());
  }
}

}  // namespace

ModelConfig model_of_plan(const PlanFile& file, const fs::path& path, const std::string& model_type) {
  ModelConfig config = load_named("model", path, [&] { return load_model_config(file.model, model_type); });
  check_plan_file(file, path, config);
  return config;
}

std::optional<Cluster> cluster_of_plan(const PlanFile& file, const fs::path& path) {
  if (file.cluster.empty()) return std::nullopt;
  const Cluster cluster = load_named("cluster", path, [&] { return load_cluster(file.cluster); });
  Cluster seen = cluster.for_ranks(static_cast<std::int32_t>(file.plan.world_size()));
  check_devices(file, path, seen);
  return seen;
}

std::vector<std::string> placement_notes(const PlanFile& file, const fs::path& path, bool one_machine) {
  const std::optional<Cluster> cluster = cluster_of_plan(file, path);
  if (!cluster) return {};
  std::vector<std::string> lines = placement_lines(*cluster, placed_devices(file));
  if (lines.size() > kShownPlacements) {
    const std::size_t more = lines.size() - kShownPlacements + 1;
    lines.resize(kShownPlacements - 1);
    lines.push_back(format("... and {} more", more));
  }
  lines.front() = format("placement of {} on {}: {}", path.string(), cluster->name, lines.front());
  if (one_machine)
    lines.emplace_back("all ranks are on CPUs of this machine: where the plan places them has no effect");
  return lines;
}

}  // namespace nadi::inline ask
