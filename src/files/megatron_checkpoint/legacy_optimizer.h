// The optimizer of a legacy checkpoint: moments and fp32 masters of a rank's parameters, plain (in the rank's
// own file) and distributed (distrib_optim.pt beside it: flat buffers, gathered from all data-parallel
// ranks).
#pragma once

#include <vector>

#include "nadi/megatron_checkpoint/block_source.h"
#include "nadi/megatron_checkpoint/optimizer_layout.h"
#include "nadi/megatron_checkpoint/rank_files.h"

namespace nadi::inline files {

// Error (input) for a tensor whose shape is not that of the layout, whose elements do not follow each other
// in the file, or are not little-endian.
MappedShard mapped_shard(PickleValue value, const ShardTensor& tensor, const std::string& file);

// Whether the checkpoint has Adam's state. Error (input) when only some ranks have it.
bool has_optimizer_state(const RankFiles& files);

// How the distributed optimizer of this chunk was cut into buckets, as `args` say.
BucketRules bucket_rules(const std::optional<PickleValue>& args, const ShardLayout& layout,
                         const ShardPlace& place, const std::vector<ShardChunk>& chunks, std::size_t chunk);

// Adds the state of the rank's parameters.
void add_optimizer_shards(const RankFile& rank, const ShardLayout& layout,
                          const std::vector<ShardChunk>& chunks, BlockSource::Contents& contents);

}  // namespace nadi::inline files
