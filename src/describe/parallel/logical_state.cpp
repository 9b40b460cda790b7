#include "nadi/parallel/logical_state.h"

#include <set>
#include <string_view>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/graph/builder.h"
#include "nadi/model/expert_names.h"
#include "nadi/model/layers.h"
#include "nadi/model/model.h"

namespace nadi::inline describe {
namespace {

bool is_saved(const Tensor& tensor) {
  if (!tensor.variable || tensor.shares_memory) return false;
  if (tensor.role == Role::kMetric && tensor.shape.rank() > 0) return false;  // logits, how busy experts were
  return tensor.role == Role::kParameter || tensor.role == Role::kOptimizerState ||
         tensor.role == Role::kMetric;
}

std::map<std::string, Shape> unpadded_parameters(const ModelConfig& config, const Plan& plan) {
  std::map<std::string, Shape> shapes;
  if (config.vocabulary % plan.tp == 0) return shapes;
  GraphBuilder builder;
  Layers layers(builder, config, {.mode = ForwardMode::kEvaluate, .batch_size = 1, .seq_length = 1});
  build_forward(config, layers);
  const Graph graph = builder.take();
  for (const TensorId id : graph.tensors_with(Role::kParameter))
    shapes.emplace(graph.tensor(id).name, graph.tensor(id).shape);
  return shapes;
}

Shape shape_of_whole(const Tensor& parameter, const std::map<std::string, Shape>& unpadded) {
  const auto found = unpadded.find(parameter.name);
  return found != unpadded.end() ? found->second : whole_shape(parameter.shape, parameter.shards);
}

// The variable that "<its name>.<suffix>" was made for; nullptr when there is none.
const Tensor* variable_of_state(const Graph& graph, const Tensor& state) {
  const std::size_t dot = state.name.rfind('.');
  if (state.role != Role::kOptimizerState || dot == std::string::npos) return nullptr;
  const auto found = graph.find_tensor(std::string_view(state.name).substr(0, dot));
  return found ? &graph.tensor(*found) : nullptr;
}

std::int64_t place_in(const std::vector<Rank>& members, Rank rank) {
  return std::ranges::find(members, rank) - members.begin();
}

bool splits(const std::vector<Shard>& shards) {
  check(shards.size() <= 1, "a variable that is split twice has no logical piece");
  if (shards.empty()) return false;
  const GroupKind group = group_named(shards[0].group);
  check((group == GroupKind::kTensor || group == GroupKind::kExpertTensor) && !shards[0].zigzag,
        "a parameter is split over tensor-parallel ranks, or not at all");
  return true;
}

// A tensor-parallel rank's part of a tensor, without padding. A segment of the split axis is one block: as
// many runs as there are places along the axes before it.
std::vector<ElementBlock> blocks_of(const Shape& local, const std::vector<Shard>& shards, std::int64_t place,
                                    const Shape& whole) {
  const std::int64_t elements = local.elements();
  if (elements == 0) return {};
  if (!splits(shards))
    return {{.first = {0, 0, elements}, .runs = 1, .local_stride = elements, .whole_stride = elements}};
  const Shard& shard = shards[0];
  const std::int64_t inner = local.elements(shard.axis + 1, local.rank());
  const std::int64_t local_extent = local[shard.axis];
  std::vector<std::int64_t> segments = shard.segments;
  if (segments.empty()) segments = {local_extent * shard.parts};
  std::vector<ElementBlock> blocks;
  std::int64_t local_start = 0, whole_start = 0;
  for (const std::int64_t segment : segments) {
    const std::int64_t share = segment / shard.parts;
    blocks.push_back({.first = {local_start * inner, (whole_start + place * share) * inner, share * inner},
                      .runs = local.elements(0, shard.axis),
                      .local_stride = local_extent * inner,
                      .whole_stride = local_extent * shard.parts * inner});
    local_start += share;
    whole_start += segment;
  }
  // Padding stands behind the last row of the whole.
  if (whole_shape(local, shards) != whole) {
    check(shard.axis == 0 && blocks.size() == 1, "only rows are padded");
    ElementRun& run = blocks[0].first;
    run.count = std::min(run.count, whole.elements() - run.whole);
    if (run.count <= 0) blocks.clear();
  }
  return blocks;
}

// The part of a block that a shard of its tensor has.
void add_slice(const ElementBlock& block, const ShardOfTensor& shard, std::vector<ElementBlock>& out) {
  const std::int64_t begin = shard.begin, end = shard.end,
                     at = shard.at;  // not bound: Clang 14 captures no bindings
  const std::int64_t from = begin - block.first.local, to = end - block.first.local;
  if (to <= 0) return;
  const std::int64_t i_first =
      from < block.first.count ? 0 : (from - block.first.count) / block.local_stride + 1;
  const std::int64_t i_end = std::min(block.runs, (to - 1) / block.local_stride + 1);
  const auto add = [&](std::int64_t i, std::int64_t runs) {
    if (runs <= 0) return;
    ElementBlock part = block;
    part.first = block.run(i);
    part.runs = runs;
    const std::int64_t cut = std::max<std::int64_t>(0, begin - part.first.local);
    part.first.count = std::min(end, part.first.local + part.first.count) - part.first.local - cut;
    part.first.local += cut - begin + at;
    part.first.whole += cut;
    out.push_back(part);
  };
  // The first and the last run may be cut; those between are whole.
  add(i_first, std::min<std::int64_t>(1, i_end - i_first));
  add(i_first + 1, i_end - i_first - 2);
  if (i_end - i_first > 1) add(i_end - 1, 1);
}

}  // namespace

std::int64_t LogicalPiece::elements() const {
  std::int64_t sum = 0;
  for (const ElementBlock& block : blocks) sum += block.first.count * block.runs;
  return sum;
}

std::int64_t LogicalPiece::elements(std::int64_t begin, std::int64_t end) const {
  std::int64_t sum = 0;
  each_run(begin, end, [&](const ElementRun& run) { sum += run.count; });
  return sum;
}

LogicalState::LogicalState(const ModelConfig& config, const Plan& plan,
                           std::span<const Program* const> stages)
    : plan_(plan) {
  check(static_cast<std::int64_t>(stages.size()) == plan.pp, "one program for each stage of the plan");
  const WholeShapes unpadded = unpadded_parameters(config, plan);
  for (const Program* program : stages) add_stage(*program, unpadded);
}

void LogicalState::add_stage(const Program& program, const WholeShapes& unpadded) {
  stages_.emplace_back();
  std::set<std::string_view> seen;
  for (const Graph& graph : program.graphs)
    for (const Tensor& tensor : graph.tensors()) {
      if (!is_saved(tensor) || !seen.insert(tensor.name).second) continue;
      const Tensor* of = variable_of_state(graph, tensor);
      if (of != nullptr && of->initializer.kind == Initializer::Kind::kFlat) {
        add_bucket(graph, tensor, *of, unpadded);
        continue;
      }
      // State has the shape of its parameter, or is one number for all of it.
      const bool like_parameter = of != nullptr && of->shape == tensor.shape;
      add({.name = tensor.name,
           .shape = shape_of_whole(like_parameter ? *of : tensor, unpadded),
           .dtype = tensor.dtype,
           .role = tensor.role},
          {.variable = tensor.name, .local = tensor.shape, .shards = tensor.shards});
    }
}

// `state` belongs to `bucket`, which is the flat array of its sources.
void LogicalState::add_bucket(const Graph& graph, const Tensor& state, const Tensor& bucket,
                              const WholeShapes& unpadded) {
  const std::string suffix = state.name.substr(bucket.name.size());
  std::int64_t start = 0;
  for (const TensorId source : bucket.initializer.sources) {
    const Tensor& parameter = graph.tensor(source);
    add({.name = parameter.name + suffix,
         .shape = shape_of_whole(parameter, unpadded),
         .dtype = state.dtype,
         .role = state.role},
        {.variable = state.name,
         .local = parameter.shape,
         .shards = parameter.shards,
         .sharded = ShardedTensor{.form = ShardForm::kFlat,
                                  .part = state.shape.elements(),
                                  .start = start,
                                  .elements = parameter.shape.elements()}});
    start += parameter.shape.elements();
  }
}

// Files have a tensor for each expert; a rank has those of several one after the other.
void LogicalState::add(const LogicalTensor& tensor, const Holding& holding) {
  if (!is_of_every_expert(tensor.name) || tensor.shape.rank() == 0) return add_one(tensor, holding);
  Holding of_expert = holding;
  of_expert.local = shape_of_expert(holding.local);
  if (of_expert.sharded) of_expert.sharded->elements = of_expert.local.elements();
  std::erase_if(of_expert.shards, [](const Shard& shard) { return shard.axis == 0; });
  for (Shard& shard : of_expert.shards) --shard.axis;
  const std::int64_t own_experts = holding.local[0];
  std::int64_t& at = of_expert.sharded ? of_expert.sharded->start : of_expert.start;
  const std::int64_t start = at;
  for (std::int64_t expert = 0; expert < tensor.shape[0]; ++expert) {
    if (plan_.numbers_experts()) of_expert.expert_rank = expert / own_experts;
    at = start + expert % own_experts * of_expert.local.elements();
    add_one({.name = name_of_expert(tensor.name, expert),
             .shape = shape_of_expert(tensor.shape),
             .dtype = tensor.dtype,
             .role = tensor.role},
            of_expert);
  }
}

void LogicalState::add_one(LogicalTensor tensor, Holding holding) {
  const auto [known, first] = by_name_.emplace(tensor.name, tensors_.size());
  holding.tensor = known->second;
  holding.first = first;
  if (first) {
    tensors_.push_back(std::move(tensor));
    writing_.push_back({stages_.size() - 1, stages_.back().size()});
  } else {
    const LogicalTensor& other = tensors_[known->second];
    check(other.shape == tensor.shape && other.dtype == tensor.dtype, "stages disagree about a tensor");
  }
  stages_.back().push_back(std::move(holding));
}

GroupKind LogicalState::copies_of(const Holding& holding) {
  return holding.expert_rank ? GroupKind::kExpertData : GroupKind::kData;
}

LogicalPiece LogicalState::piece(const Holding& holding, Rank rank) const {
  LogicalPiece piece{.tensor = holding.tensor, .variable = holding.variable};
  const Coordinates at = coordinates_of(plan_, rank);
  const ExpertCoordinates of_experts = expert_coordinates_of(plan_, rank);
  if (holding.expert_rank && holding.expert_rank != of_experts.ep) return piece;
  const std::int64_t tensor_place = holding.expert_rank ? of_experts.etp : at.tp;
  const bool first_copy = holding.expert_rank ? of_experts.edp == 0 : at.cp == 0 && at.dp == 0;
  const std::vector<ElementBlock> part =
      blocks_of(holding.local, holding.shards, tensor_place, tensors_[holding.tensor].shape);
  const bool first_tensor_rank = tensor_place == 0 || splits(holding.shards);
  if (!holding.sharded) {
    piece.blocks = part;
    for (ElementBlock& block : piece.blocks) block.first.local += holding.start;
    piece.writes = holding.first && first_tensor_rank && first_copy;
    return piece;
  }
  const std::int64_t place = place_in(group_members(plan_, copies_of(holding), rank), rank);
  const ShardOfTensor own = shard_of(*holding.sharded, place);
  for (const ElementBlock& block : part) add_slice(block, own, piece.blocks);
  piece.writes = holding.first && first_tensor_rank;
  return piece;
}

std::vector<LogicalPiece> LogicalState::held_by(Rank rank) const {
  std::vector<LogicalPiece> pieces;
  for (const Holding& holding : stages_[coordinates_of(plan_, rank).pp])
    pieces.push_back(piece(holding, rank));
  return pieces;
}

// Of each part of the tensor, the first copy.
std::vector<Rank> LogicalState::first_holders(const Holding& holding, std::int64_t stage) const {
  std::vector<Rank> ranks;
  const std::int64_t split_over = holding.expert_rank ? plan_.expert_tp() : plan_.tp;
  for (std::int64_t place = 0; place < (splits(holding.shards) ? split_over : 1); ++place)
    ranks.push_back(
        holding.expert_rank
            ? rank_at(plan_, ExpertCoordinates{.etp = place, .ep = *holding.expert_rank, .pp = stage})
            : rank_at(plan_, Coordinates{.tp = place, .pp = stage}));
  return ranks;
}

std::vector<LogicalWriter> LogicalState::writers(std::size_t tensor) const {
  const Writing& writing = writing_[tensor];
  const Holding& holding = stages_[writing.stage][writing.holding];
  std::vector<LogicalWriter> result;
  for (const Rank first : first_holders(holding, static_cast<std::int64_t>(writing.stage))) {
    const std::vector<Rank> data = group_members(plan_, copies_of(holding), first);
    PlacesInGroup places{0, 1};
    if (holding.sharded) places = holders_of(*holding.sharded);
    for (std::int64_t place = places.first; place < places.end; ++place) {
      LogicalPiece own = piece(holding, data[place]);
      if (!own.blocks.empty()) result.push_back({data[place], std::move(own)});
    }
  }
  std::ranges::sort(result, {}, &LogicalWriter::rank);
  return result;
}

}  // namespace nadi::inline describe
