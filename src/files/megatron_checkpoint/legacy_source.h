// A checkpoint of Megatron-LM in its legacy format (--ckpt-format torch), of any split, as one whole model.
//
//   const auto model = open_legacy_checkpoint("checkpoints/llama");                  // the newest iteration
//   const auto model = open_legacy_checkpoint("checkpoints/llama", {.config = load_model_config("llama/")});
//
// Names of both kinds are taken, local and Transformer Engine's. `_extra_state` is not looked at. Files are
// mapped: opening reads the pickles. What does not belong together is Error (input), see rank_files.h,
// megatron_args.h and block_source.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "nadi/megatron_checkpoint/block_source.h"

namespace nadi::inline files {

struct LegacyOptions {
  std::optional<ModelConfig> config = {};      // instead of what `args` say
  std::optional<std::int64_t> iteration = {};  // instead of the newest
  bool optimizer = true;                       // false means weights alone, whatever there is
  Verify verify = Verify::kYes;  // whether data is checked against its checksums when it is read
};

std::unique_ptr<BlockSource> open_legacy_checkpoint(const std::filesystem::path& folder,
                                                    const LegacyOptions& options = {});

}  // namespace nadi::inline files
