#include "nadi/megatron_checkpoint/legacy_optimizer.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/megatron_checkpoint/whole_names.h"

namespace nadi::inline files {
namespace {

constexpr std::int64_t kMostReplicas = 1'000'000;  // in any file that does not lie

struct StateKind {
  const char* key;
  std::string_view suffix;
};
constexpr StateKind kMoments[] = {{"exp_avg", kFirstMoment}, {"exp_avg_sq", kSecondMoment}};

bool is_distributed(const RankFile& rank) {
  std::error_code ignored;
  return std::filesystem::exists(rank.folder / kDistributedOptimizerFile, ignored);
}

// {state, param_groups} within the mixed-precision optimizer, or as it is in fp32.
std::optional<PickleValue> adam_dictionary(const RankFile& rank) {
  const auto outer = rank.root().find("optimizer");
  if (!outer || outer->is_none()) return std::nullopt;
  if (!outer->is_dict())
    throw error_at(*outer, "several optimizers in one file (of experts, for instance) are not known");
  return outer->has("optimizer") ? outer->find("optimizer") : outer;
}

// A group's factor of weight decay says which it is.
void require_group(PickleValue group, const OptimizerGroup& expected) {
  if (const auto factor = group.find("wd_mult"); factor && (factor->as_double() > 0) != expected.decays)
    throw error_at(*factor, format("'wd_mult' is {}, but this group is of {}", factor->as_double(),
                                   expected.decays ? "matrices" : "vectors"));
  const std::size_t count = group.at("params").size();
  if (count != expected.parameters.size())
    throw error_at(
        group, format("the group has {} parameters, the model {} such", count, expected.parameters.size()));
}

void add_plain(const RankFile& rank, PickleValue adam, const std::vector<ShardTensor>& parameters,
               bool masters, std::vector<MappedShard>& shards) {
  const PickleValue states = adam.at("state");
  const std::vector<PickleValue> groups = adam.at("param_groups").elements();
  const std::vector<OptimizerGroup> expected = optimizer_groups(parameters);
  if (groups.size() != expected.size())
    throw error_at(adam.at("param_groups"),
                   format("there are {} groups of parameters, not {}", groups.size(), expected.size()));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    // The order of the groups is that of the model, but may be another in a model with other parameters
    // first.
    const auto of_group = std::ranges::find_if(expected, [&](const OptimizerGroup& candidate) {
      const auto factor = groups[g].find("wd_mult");
      return factor ? (factor->as_double() > 0) == candidate.decays : &candidate == &expected[g];
    });
    if (of_group == expected.end())
      throw error_at(groups[g], "two groups have the same factor of weight decay");
    require_group(groups[g], *of_group);
    const std::vector<std::int64_t> indices = groups[g].at("params").as_int64s();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const ShardTensor& parameter = parameters[of_group->parameters[i]];
      const PickleValue state = states.at_key(indices[i]);
      for (const StateKind& kind : kMoments)
        shards.push_back(mapped_shard(state.at(kind.key), with_suffix(parameter, kind.suffix), rank.name));
      if (masters)
        shards.push_back(
            mapped_shard(rank.root().at("optimizer").at("fp32_from_fp16_params").element(g).element(i),
                         with_suffix(parameter, kMasterWeights), rank.name));
    }
  }
}

void add_flat(PickleValue buffers, std::size_t chunk, const std::vector<ShardTensor>& parameters,
              const FlatBuffer& layout, bool masters, std::vector<MappedShard>& shards) {
  const PickleValue by_type = buffers.at_key(static_cast<std::int64_t>(chunk));
  const std::vector<PickleItem> types = by_type.items();
  if (types.size() != 1)
    throw error_at(by_type, format("the buffer has parameters of {} types; one is known", types.size()));
  const PickleValue buffer = types.front().value;
  if (const auto elements = buffer.find("numel_unpadded");
      elements && elements->as_int64() != layout.elements)
    throw error_at(
        *elements,
        format("the buffer has {} elements, the parameters take {}", elements->as_int64(), layout.elements),
        "its buckets are not those that 'args' say");
  const auto add = [&](const char* key, std::string_view suffix) {
    const ShardTensor whole{.name = key, .shape = {layout.elements}};
    const MappedShard flat = mapped_shard(buffer.at(key), whole, buffers.file());
    for (std::size_t i = 0; i < parameters.size(); ++i)
      shards.push_back({.tensor = with_suffix(parameters[i], suffix),
                        .dtype = flat.dtype,
                        .data = flat.data + layout.first[i] * size_of(flat.dtype),
                        .file = flat.file});
  };
  for (const StateKind& kind : kMoments) add(kind.key, kind.suffix);
  if (masters) add("param", kMasterWeights);
}

}  // namespace

MappedShard mapped_shard(PickleValue value, const ShardTensor& tensor, const std::string& file) {
  const TorchTensor& stored = value.as_tensor();
  if (stored.shape != tensor.shape)
    throw error_at(value,
                   format("the shape is {}, not {}", stored.shape.to_string(), tensor.shape.to_string()),
                   "the configuration or the split is another");
  const auto bytes = stored.view();
  if (!bytes) throw error_at(value, "the elements do not follow each other in the file");
  return {.tensor = tensor, .dtype = stored.dtype, .data = bytes->data(), .file = file};
}

bool has_optimizer_state(const RankFiles& files) {
  const auto has = [](const RankFile& rank) {
    if (is_distributed(rank)) return true;
    const auto adam = adam_dictionary(rank);
    if (!adam) return false;
    if (const auto state = adam->find("state")) return state->size() > 0;
    throw input_error({.file = (rank.folder / kDistributedOptimizerFile).string()},
                      "the file is missing: the optimizer was a distributed one",
                      "without it only the weights can be read");
  };
  const bool first = has(files.ranks.front());
  for (const RankFile& rank : files.ranks)
    if (has(rank) != first)
      throw input_error({.file = rank.name},
                        format("the rank {} optimizer state, {} {}", first ? "has no" : "has",
                               files.ranks.front().name, first ? "has" : "has none"));
  return first;
}

BucketRules bucket_rules(const std::optional<PickleValue>& args, const ShardLayout& layout,
                         const ShardPlace& place, const std::vector<ShardChunk>& chunks, std::size_t chunk) {
  BucketRules rules;
  const auto number = [&](const char* name) -> std::optional<std::int64_t> {
    const auto value = args ? args->find(name) : std::nullopt;
    return value && value->is_int() ? std::optional(value->as_int64()) : std::nullopt;
  };
  const auto is_set = [&](const char* name) {
    const auto value = args ? args->find(name) : std::nullopt;
    return value && value->is_bool() && value->as_bool();
  };
  const auto ranks = [&](const char* name) {
    return std::clamp<std::int64_t>(number(name).value_or(1), 1, kMostReplicas);
  };
  const std::int64_t replicas = ranks("data_parallel_size");
  rules.flat.ranks = replicas * ranks("context_parallel_size");
  rules.flat.wide_padding = is_set("ddp_pad_buckets_for_high_nccl_busbw");
  if (is_set("overlap_grad_reduce") && place.pp == 0 && chunk == 0 &&
      !is_set("overlap_param_gather_with_optimizer_step")) {
    std::int64_t full = number("ddp_bucket_size").value_or(first_bucket_of_megatron(replicas));
    if (const auto buckets = number("ddp_num_buckets"); buckets && *buckets > 0) {
      std::int64_t elements = 0;
      for (const ShardChunk& each : chunks)
        for (const ShardTensor& tensor : each.tensors) elements += tensor.shape.elements();
      full = elements / *buckets;
    }
    rules.flat.full = std::max<std::int64_t>(1, full);
  }
  const bool tied = layout.config().tied_embeddings && layout.split().pp > 1;
  if (tied && place.pp == 0 && chunk == 0) rules.shared_embedding = "embedding.word_embeddings.weight";
  if (tied && place.pp == layout.split().pp - 1 && chunk + 1 == chunks.size())
    rules.shared_embedding = "output_layer.weight";
  return rules;
}

void add_optimizer_shards(const RankFile& rank, const ShardLayout& layout,
                          const std::vector<ShardChunk>& chunks, BlockSource::Contents& contents) {
  // In fp32 the parameters are their own masters.
  const bool masters = std::ranges::any_of(
      contents.shards, [&](const MappedShard& shard) { return shard.dtype != FileDType::kF32; });
  if (!is_distributed(rank)) {
    std::vector<ShardTensor> parameters;
    for (const ShardChunk& chunk : chunks)
      parameters.insert(parameters.end(), chunk.tensors.begin(), chunk.tensors.end());
    add_plain(rank, adam_dictionary(rank).value(), parameters, masters, contents.shards);
    return;
  }
  const auto file = std::make_shared<const TorchFile>(
      rank.folder / kDistributedOptimizerFile, TorchFileOptions{.unknown_classes = UnknownClasses::kKeep});
  contents.archives.push_back(file);
  contents.distributed_optimizer = true;
  const PickleValue buffers = file->root();
  const auto coalesced = buffers.find("buckets_coalesced");
  if (!coalesced || !coalesced->as_bool())
    throw error_at(buffers,
                   "the optimizer's buckets are apart, as Megatron-LM wrote them before February 2024",
                   "update the checkpoint with Megatron's --ckpt-convert-update-legacy-dist-opt-format");
  const auto args = rank.root().find("args");
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const std::vector<ShardTensor>& parameters = chunks[chunk].tensors;
    const FlatBuffer flat = flat_buffer(parameters, bucket_rules(args, layout, rank.place, chunks, chunk));
    add_flat(buffers, chunk, parameters, flat, masters, contents.shards);
  }
}

}  // namespace nadi::inline files
