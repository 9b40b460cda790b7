#include "nadi/plan/block_times.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/hash.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops/copy.h"
#include "nadi/parallel/gradient_reduction.h"
#include "nadi/plan/chunk_pieces.h"
#include "nadi/sim/op_work.h"

namespace nadi::inline predict {
namespace {

// What follows the backward passes costs per element: the optimizer of this graph's parameters, built.
struct OptimizerGraphs {
  Graph reduction;
  OpSpan optimizer;
  Graph clearing;
  std::int64_t elements = 0;
  std::int64_t gradient_bytes = 4;
};

OptimizerGraphs optimizer_graphs(const ModelConfig& config, const ChunkKey& key,
                                 const OptimizerOptions& optimizer) {
  const std::array chunks{build_chunk(config, key)};
  OptimizerGraphs result;
  ReductionGraph after =
      build_reduction(chunks, smallest_plan(key), {.fp16 = key.dtype == DType::kF16, .optimizer = optimizer});
  result.reduction = std::move(after.graph);
  result.optimizer = after.optimizer;
  GraphBuilder builder;
  const auto phase = builder.in_phase(Phase::kOptimizer);
  for (const auto& [parameter, gradient] : chunks[0].gradients) {
    const Tensor& variable = chunks[0].graph.tensor(gradient);
    result.gradient_bytes = size_of(variable.dtype);
    result.elements += variable.shape.elements();
    fill(builder, builder.variable(variable), 0);
  }
  result.clearing = builder.take();
  return result;
}

}  // namespace

class BlockTable::Form {
 public:
  Form(BlockTable& table, const ChunkKey& key) : front(table.flat(key)) {
    if (key.last) return;
    ChunkKey last = key;
    last.first = false;
    last.last = true;
    last.reduces = false;
    back = &table.flat(last);
  }

  const FlatChunk& chunk_of(BackwardPiece piece) const {
    return piece == BackwardPiece::kHead && back ? *back : front;
  }
  std::vector<FlatChunk::Gradient> gradients_of(BackwardPiece piece) const {
    const FlatChunk& chunk = chunk_of(piece);
    const FlatChunk::Span& span = chunk.backward[static_cast<std::size_t>(piece)];
    std::vector<FlatChunk::Gradient> result;
    for (const FlatChunk::Gradient& gradient : chunk.gradients)
      if (gradient.node >= span.first && gradient.node < span.end) result.push_back(gradient);
    return result;
  }

  const FlatChunk& front;
  const FlatChunk* back = nullptr;  // nullptr means the front has the head, too
};

namespace {

// `same_work` as FlatChunk has it; `ends`: those outside of layers alone are wanted.
std::vector<OpTime> op_times(const Graph& graph, const DeviceModel& model,
                             std::span<const std::uint32_t> same_work = {}, bool ends = false) {
  std::vector<OpTime> times;
  times.reserve(graph.ops().size());
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    if (!same_work.empty() && same_work[i] < i) {
      times.push_back(times[same_work[i]]);
      continue;
    }
    const bool computes = definition(op.kind).op_class == OpClass::kCompute && (!ends || op.block < 0);
    times.push_back(computes ? model.time_of(op_work(graph, op)) : OpTime{});
  }
  return times;
}

PassTimes pass_of(const PlayedPiece& piece, bool empty) {
  return {.run = Nanoseconds{piece.run},
          .after_input = Nanoseconds{std::min(piece.run, std::max<std::int64_t>(piece.after_input, 0))},
          .launched = Nanoseconds{std::max<std::int64_t>(piece.launched, 0)},
          .launch = Nanoseconds{piece.launch},
          .empty = empty};
}

// The embedding alone, where it was played together with a layer.
PlayedPiece without_layer(const PlayedPiece& both, const PlayedPiece& layer) {
  return {
      .run = std::max<std::int64_t>(0, both.run - layer.run),
      .after_input = std::max<std::int64_t>(0, both.run - layer.run),
      .launched = both.launched <= kLongAgo ? kLongAgo : std::max<std::int64_t>(0, both.launched - layer.run),
      .launch = std::max<std::int64_t>(0, both.launch - layer.launch)};
}

// The least that `count` consecutive layers take beyond as many of the tables, from sums over the first n.
std::int64_t least_of(const std::vector<std::int64_t>& sums, std::size_t count) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t first = 0; first + count < sums.size(); ++first)
    least = std::min(least, sums[first + count] - sums[first]);
  return least;
}

}  // namespace

ChunkKey block_key(const StepRequest& request, const Plan& plan) {
  const bool whole = plan.pp * plan.virtual_stages == 1;
  // As many layers as are alike: the key of a chunk with enough of them.
  ChunkKey key = chunk_key(request, plan, {.first = true, .last = whole, .layers = 0});
  key.layers = ChunkKey::kRepeated;
  return key;
}

BlockTable::BlockTable(const PlanQuestion& question, PlanCosts& costs) : question_(question), costs_(costs) {
  for (const DeviceSpec& device : question.cluster.devices) models_.emplace_back(device);
  rates_.resize(models_.size());
}
BlockTable::~BlockTable() = default;

const BlockTable::Form& BlockTable::form(const ChunkKey& key) {
  std::unique_ptr<Form>& known = forms_[of_family(key)];
  if (known == nullptr) known = std::make_unique<Form>(*this, key);
  return *known;
}

const FlatChunk& BlockTable::flat(const ChunkKey& key) {
  std::unique_ptr<FlatChunk>& known = flats_[of_family(key)];
  if (known == nullptr)
    known = std::make_unique<FlatChunk>(flat_chunk(costs_.family(key), question_.overlap));
  return *known;
}

const GradientBuckets& BlockTable::buckets_of(const ChunkKey& key, const Form& form) {
  std::unique_ptr<GradientBuckets>& known = buckets_[of_family(key)];
  if (known != nullptr) return *known;
  PieceGradients gradients{
      .of = {}, .layers_per_piece = key.layers_per_unit(), .partial = key.sequence_parallel};
  for (std::size_t piece = 0; piece < gradients.of.size(); ++piece)
    for (const FlatChunk::Gradient& gradient : form.gradients_of(static_cast<BackwardPiece>(piece)))
      gradients.of[piece].push_back({gradient.parameter, gradient.in_block});
  known = std::make_unique<GradientBuckets>(std::move(gradients), question_.request.layout);
  return *known;
}

const BlockTimes& BlockTable::of(const BlockRequest& request, PlanNetwork& network) {
  std::uint64_t hash = ChunkKeyHash{}(request.key);
  for (const std::int64_t value :
       {std::int64_t{request.device}, static_cast<std::int64_t>(request.tensor.group),
        std::int64_t{request.tensor.sharing}, static_cast<std::int64_t>(request.context.group),
        std::int64_t{request.context.sharing}, std::int64_t{request.recompute.layers}})
    hash = hash_with(hash, static_cast<std::uint64_t>(value));
  std::vector<Known>& bucket = known_[hash];
  for (const Known& known : bucket)
    if (known.request.key == request.key && known.request.device == request.device &&
        known.request.tensor == request.tensor && known.request.context == request.context &&
        known.request.recompute.method == request.recompute.method &&
        known.request.recompute.layers == request.recompute.layers)
      return *known.times;
  auto times = std::make_unique<BlockTimes>(timed(request, network));
  if (request.recompute.granularity == Recompute::Granularity::kFull &&
      request.recompute.method == Recompute::Method::kBlock) {
    BlockRequest others = request;
    others.key.granularity = {};
    others.recompute = {};
    put_after(*times, timed(others, network), request.recompute.layers);
  }
  std::vector<Known>& place = known_[hash];
  place.push_back({request, std::move(times)});
  return *place.back().times;
}

// So many layers of a chunk are as in `times`, and those after them, which come first in the backward
// pass, as in `others`.
void BlockTable::put_after(BlockTimes& times, const BlockTimes& others, std::int64_t layers) {
  const auto put = [&](std::vector<PassTimes>& list, const std::vector<PassTimes>& other) {
    const auto first = static_cast<std::size_t>(layers);
    for (std::size_t n = first + 1; n < list.size(); ++n) {
      const Nanoseconds run = list[first].run + other[n].run - other[first].run;
      list[n] = {.run = run,
                 .after_input = run,
                 .launched = list[first].launched + other[n].launched - other[first].launched,
                 .launch = list[first].launch + other[n].launch - other[first].launch};
    }
  };
  for (std::size_t role = 0; role < times.forward.size(); ++role) {
    put(times.forward[role], others.forward[role]);
    put(times.backward[role], others.backward[role]);
  }
}

const LayerTimes::Entry* BlockTable::measured(std::int32_t device, std::int64_t tp) {
  if (!question_.layer_times) return nullptr;
  const LayerTimes::Entry*& known = measured_[{device, tp}];
  if (known == nullptr)
    known = &question_.layer_times->find(question_.config,
                                         models_[static_cast<std::size_t>(device)].device().name, tp);
  return known;
}

const BlockTable::ChunkTimes& BlockTable::times_of(const FlatChunk& flat, const ChunkKey& key,
                                                   std::int32_t device, bool ends) {
  ChunkTimes& known = times_[{&flat, device, key.micro_batch_size, key.accumulates, ends}];
  if (!known.times.empty()) return known;
  const Graph& graph =
      flat.family->graph({.size = key.micro_batch_size, .accumulates = key.accumulates}).graph;
  known.times = op_times(graph, models_[static_cast<std::size_t>(device)], flat.same_work, ends);
  if (const LayerTimes::Entry* entry = measured(device, key.tp))
    LayerTimes::retime(*entry, graph, static_cast<double>(key.micro_batch_size), known.times);
  known.recomputes =
      std::ranges::any_of(graph.ops(), [](const Op& op) { return op.phase == Phase::kRecompute; });
  return known;
}

BlockTimes BlockTable::timed(const BlockRequest& request, PlanNetwork& network) {
  const ChunkKey& key = request.key;
  const Form& form = this->form(key);
  const DeviceModel& model = models_[static_cast<std::size_t>(request.device)];
  const LayerTimes::Entry* measured = this->measured(request.device, key.tp);
  const auto sequences = static_cast<double>(key.micro_batch_size);
  bool recomputes = false;
  const auto player_of = [&](const FlatChunk& flat, bool ends) {
    const ChunkTimes& times = times_of(flat, key, request.device, ends);
    recomputes |= times.recomputes;
    std::vector<std::int64_t> requests;
    for (const ReplayRequest& one : flat.stage.replay.requests) {
      const RankBinding& role = flat.stage.roles[one.role];
      const bool tensor = role.group == GroupKind::kTensor;
      const Bytes size{flat.family->scaled(one.size.count(), key.micro_batch_size)};
      requests.push_back(
          role.kind != RankBinding::Kind::kCollective
              ? 0
              : network.collective(one.type, size, tensor ? request.tensor : request.context).count());
    }
    return ChunkPlayer(flat, times.times, std::move(requests), model.communication_issue());
  };
  BlockTimes result;
  ChunkPlayer front = player_of(form.front, false);
  result.launches = front.launches();
  if (result.launches) result.message_issue = model.communication_issue();
  const auto at = [&](Piece piece) { return form.front.pieces[static_cast<std::size_t>(piece)]; };
  const PlayedPiece embedding = front.play(at(Piece::kBefore));
  const PlayedPiece layer_forward = front.play(at(Piece::kInnerForward), at(Piece::kFirstForward));
  const FlatChunk& back = form.back ? *form.back : form.front;
  ChunkPlayer end = player_of(back, form.back != nullptr);
  const PlayedPiece head_forward = end.play(back.pieces[static_cast<std::size_t>(Piece::kBetween)]);
  const auto backward_of = [&](BackwardPiece piece, ChunkPlayer& player, const FlatChunk::Span& before) {
    const auto number = static_cast<std::size_t>(piece);
    const PlayedPiece played = player.play(form.chunk_of(piece).backward[number], before);
    // Where launching takes longer than running, gradients become ready as they are launched.
    result.pieces[number].run = std::max(played.run, played.launch);
    const double stretched =
        played.launch > played.run ? static_cast<double>(played.launch) / static_cast<double>(played.run) : 1;
    for (const FlatChunk::Gradient& gradient : form.gradients_of(piece))
      result.pieces[number].leads.push_back(
          std::llround(static_cast<double>(player.lead(gradient.node)) * stretched));
    return played;
  };
  const PlayedPiece head_backward = backward_of(BackwardPiece::kHead, end, {});
  PlayedPiece layer_backward = backward_of(BackwardPiece::kLayers, front, at(Piece::kLastBackward));
  const PlayedPiece first_backward = backward_of(BackwardPiece::kEmbedding, front, at(Piece::kInnerBackward));
  // What the last layer of a chunk does before the gradient is there.
  if (!key.last) layer_backward.after_input = front.play(at(Piece::kLastBackward)).after_input;
  result.buckets = &buckets_of(key, form);

  const std::int64_t per_piece = key.layers_per_unit();
  result.layers_per_piece = per_piece;
  const PlayedPiece embedding_backward = without_layer(first_backward, layer_backward);
  if (measured != nullptr) {
    LayerPasses passes{.forward = {0}, .backward = {0}};
    bool differ = false;
    for (std::int64_t n = 0; n < question_.config.layers; ++n) {
      const double more =
          measured->layer(static_cast<std::size_t>(n)) - measured->layer(static_cast<std::size_t>(per_piece));
      const auto extra = [&](Phase phase) {
        return std::llround(LayerTimes::pass_seconds(more, sequences, phase) * 1e9);
      };
      differ |= extra(Phase::kBackward) != 0;
      passes.forward.push_back(passes.forward.back() + extra(Phase::kForward));
      passes.backward.push_back(passes.backward.back() + extra(Phase::kBackward) +
                                (recomputes ? extra(Phase::kRecompute) : 0));
    }
    if (differ) result.layers = std::move(passes);
  }
  for (int role = 0; role < kChunkRoles; ++role) {
    const bool first =
        role == static_cast<int>(ChunkRole::kFirst) || role == static_cast<int>(ChunkRole::kWhole);
    const bool last =
        role == static_cast<int>(ChunkRole::kLast) || role == static_cast<int>(ChunkRole::kWhole);
    result.forward[static_cast<std::size_t>(role)].reserve(static_cast<std::size_t>(question_.config.layers) +
                                                           1);
    result.backward[static_cast<std::size_t>(role)].reserve(
        static_cast<std::size_t>(question_.config.layers) + 1);
    for (std::int64_t n = 0; n <= question_.config.layers; ++n) {
      const auto more = [&](PlayedPiece piece, const std::vector<std::int64_t>& sums) {
        const std::int64_t extra = least_of(sums, static_cast<std::size_t>(n));
        piece.run += extra;
        piece.after_input += extra;
        return piece;
      };
      PlayedPiece forward = layers_of(layer_forward, n, per_piece);
      if (first) forward = followed_by(embedding, forward);
      if (last) forward = followed_by(forward, head_forward);
      forward.after_input = forward.run;
      PlayedPiece backward;
      if (first && n > 0)
        backward = followed_by(
            layers_of(layer_backward, n - std::min(n, per_piece), per_piece),
            n >= per_piece ? first_backward
                           : followed_by(layers_of(layer_backward, n, per_piece), embedding_backward));
      else if (first)
        backward = embedding_backward;
      else
        backward = layers_of(layer_backward, n, per_piece);
      if (last) backward = followed_by(head_backward, backward);
      if (first || last || n == 0) backward.after_input = std::max(backward.after_input, std::int64_t{0});
      if (last || n == 0) backward.after_input = backward.run;
      if (first && !last && n > 0)
        backward.after_input = backward.run - (layer_backward.run - layer_backward.after_input);
      if (result.layers) {
        forward = more(forward, result.layers->forward);
        backward = more(backward, result.layers->backward);
      }
      const bool empty = n == 0 && !first && !last;
      result.forward[static_cast<std::size_t>(role)].push_back(pass_of(forward, empty));
      result.backward[static_cast<std::size_t>(role)].push_back(pass_of(backward, empty));
    }
  }

  result.rates = rates_of(request.device);
  return result;
}

// What an element costs depends on the device alone: it is asked for once, of the model on one rank.
const ElementRates& BlockTable::rates_of(std::int32_t device) {
  std::optional<ElementRates>& known = rates_[static_cast<std::size_t>(device)];
  if (known) return *known;
  StepRequest step = question_.request;
  step.batch_size = 1;
  const OptimizerGraphs optimizer =
      optimizer_graphs(question_.config, block_key(step, {}), question_.request.optimizer);
  const DeviceModel& model = models_[static_cast<std::size_t>(device)];
  ElementRates rates{.gradient_bytes = optimizer.gradient_bytes};
  const auto per_element = [&](Nanoseconds time) {
    return static_cast<double>(time.count()) / static_cast<double>(optimizer.elements);
  };
  Nanoseconds update, norm, clear;
  const std::vector<OpTime> times = op_times(optimizer.reduction, model);
  for (std::uint32_t i = optimizer.optimizer.first; i < optimizer.optimizer.end; ++i) {
    const Op& op = optimizer.reduction.ops()[i];
    const bool updates = std::ranges::any_of(op.outputs, [&](const OpOutput& output) {
      return optimizer.reduction.tensor(output.tensor).role == Role::kParameter;
    });
    (updates ? update : op.kind == OpKind::kSquaredNorm ? norm : rates.once) += times[i].time;
  }
  for (const OpTime& time : op_times(optimizer.clearing, model)) clear += time.time;
  rates.update = per_element(update);
  rates.norm = per_element(norm);
  rates.clear = per_element(clear);
  known = rates;
  return *known;
}

}  // namespace nadi::inline predict
