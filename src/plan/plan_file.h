// A plan on disk: what `nadi plan --emit` writes and what train, launch, trace, show and simulate take with
// --plan. JSON with a schema (share/plans/plan.schema.json); unknown keys are refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/units.h"
#include "nadi/graph/dtype.h"
#include "nadi/graph/gradient.h"
#include "nadi/parallel/plan.h"

namespace nadi {

struct PlanFile {
  std::string model;  // a built-in name, or where its configuration lies
  std::int64_t seq_length = 1;
  std::int64_t global_batch_size = 1;
  std::int64_t micro_batch_size = 1;
  DType dtype = DType::kF32;
  bool fused_attention = true;
  Recompute recompute = {};
  Plan plan;
  std::string cluster = {};                   // name or file; "": none
  std::vector<std::int32_t> devices = {};     // of the cluster, by rank; empty: rank r on device r
  std::optional<Nanoseconds> predicted = {};  // step time
};

PlanFile read_plan_file(const std::filesystem::path& path);
void write_plan_file(const PlanFile& file, const std::filesystem::path& path, Overwrite overwrite);

}  // namespace nadi
