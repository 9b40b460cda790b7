// The files of a legacy checkpoint, one for each rank of the model: opened, and found to belong together.
//
//   const RankFiles files = open_rank_files("checkpoints/llama/iter_0000500");
//   files.at({.tp = 1, .pp = 0}).root().at("model")
//
// Error (input), naming the folder: a rank that is missing, folders with and without a pipeline stage, ranks
// of experts, files that disagree about iteration, version, model or split, a version before 3.0 (whose
// queries, keys and values lie in another order), models of Megatron's before its Core.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nadi/megatron_checkpoint/shard_layout.h"
#include "nadi/torch_file/torch_file.h"

namespace nadi::inline files {

inline constexpr const char* kRankFile = "model_optim_rng.pt";
inline constexpr const char* kDistributedOptimizerFile = "distrib_optim.pt";

struct RankFile {
  ShardPlace place = {};
  std::filesystem::path folder = {};
  std::string name = {};  // "mp_rank_00_001/model_optim_rng.pt"
  std::shared_ptr<const TorchFile> file = {};

  PickleValue root() const { return file->root(); }
};

struct RankFiles {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t virtual_stages = 1;
  std::vector<RankFile> ranks = {};  // tp fastest

  const RankFile& at(const ShardPlace& place) const {
    return ranks[static_cast<std::size_t>(place.pp * tp + place.tp)];
  }
  // "model", or "model<chunk>".
  std::string chunk_key(std::int64_t chunk) const {
    return virtual_stages > 1 ? "model" + std::to_string(chunk) : "model";
  }
};

RankFiles open_rank_files(const std::filesystem::path& iteration);

}  // namespace nadi::inline files
