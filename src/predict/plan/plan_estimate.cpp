#include "nadi/plan/plan_estimate.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/graph/optimizer.h"
#include "nadi/plan/plan_network.h"
#include "nadi/plan/stage_memory.h"

namespace nadi::inline predict {
namespace {

constexpr Bytes kScalar{4};  // the loss, or a norm

// One layer there and back, launched or run: which of several kinds of ranks is the slowest.
std::int64_t layer_time(const BlockTimes& blocks) {
  const auto role = static_cast<std::size_t>(ChunkRole::kMiddle);
  const auto one = [](const PassTimes& pass) { return std::max(pass.run, pass.launch).count(); };
  return one(blocks.forward[role][1]) + one(blocks.backward[role][1]);
}

}  // namespace

class PlanEstimator::State {
 public:
  explicit State(const PlanQuestion& question)
      : question_(question),
        network_(question.cluster, question.collective),
        memory_(question.config),
        blocks_(question, memory_.costs()),
        reductions_(question) {}

  // With entries for all numbers of layers, or for those of a partition alone, then without memory.
  const PlanTables& tables(const PlanCandidate& candidate, std::span<const std::int64_t> only = {}) {
    tables_.plan = candidate.plan;
    tables_.plan.partition.clear();
    tables_.request = request_of(question_, candidate);
    tables_.layers = question_.config.layers;
    const Plan& plan = tables_.plan;
    const PlacedPlan& placed = network_.place(plan, candidate.nodes);
    tables_.stages.resize(static_cast<std::size_t>(plan.pp));
    tables_.chunks.resize(static_cast<std::size_t>(plan.pp * plan.virtual_stages));
    tables_.launches = false;
    const ChunkKey key = block_key(tables_.request, plan);
    for (std::int64_t s = 0; s < plan.pp; ++s)
      fill_stage(s, key, placed.stages[static_cast<std::size_t>(s)],
                 only.empty() ? ReductionTable::kAnyLayers : only[static_cast<std::size_t>(s)]);
    if (only.empty() && plan.virtual_stages == 1)
      for (std::int64_t s = 0; s < plan.pp; ++s)
        tables_.stages[static_cast<std::size_t>(s)].memory = memory_.of(tables_.request, plan, s);
    fill_messages(placed);
    fill_after(placed);
    return tables_;
  }

  Nanoseconds iteration(const PlanTables& tables, std::span<const std::int64_t> partition) {
    return Nanoseconds{run(tables, partition).iteration};
  }

  Bytes missing_memory(const PlanTables& tables, std::span<const std::int64_t> partition,
                       const std::optional<Bytes>& allowed) {
    if (tables.plan.virtual_stages > 1) memory_of_plan(tables, partition);
    std::int64_t missing = 0;
    for (std::size_t s = 0; s < tables.stages.size(); ++s) {
      const StageTable& stage = tables.stages[s];
      const Bytes memory = tables.plan.virtual_stages > 1
                               ? stage_memory_[s]
                               : stage.memory[static_cast<std::size_t>(partition[s])];
      if (stage.capacity > Bytes{}) missing = std::max(missing, (memory - stage.capacity).count());
      if (allowed) missing = std::max(missing, (memory - *allowed).count());
    }
    return Bytes{missing};
  }

  StageAfter least_after(const PlanTables& tables, std::int64_t stage,
                         std::span<const std::int64_t> partition) {
    constexpr std::int64_t kLongBefore = 1'000'000'000'000'000;  // nanoseconds: longer than any step
    const std::size_t stages = tables.stages.size(), s = static_cast<std::size_t>(stage);
    list_chunks(partition, stages, s);
    for (ReductionTable::ChunkEnd& chunk : chunk_ends_) chunk.before_end = kLongBefore;
    chunk_ends_.back().before_end = 0;
    const ReductionTable::Sums sums = reductions_.of_chunks(tables.stages[s].after, chunk_ends_, network_);
    return {.reduction = sums.reduction, .update = sums.update};
  }

  std::span<const Bytes> memory_by_layers(const PlanCandidate& candidate, std::int64_t stage) {
    return memory_.of(request_of(question_, candidate), candidate.plan, stage);
  }

  Bytes stage_memory(const PlanCandidate& candidate, std::int64_t stage) {
    return memory_.costs().memory_of(request_of(question_, candidate), candidate.plan, stage,
                                     candidate.plan.partition);
  }

  PlanEstimate of(const PlanCandidate& candidate) {
    const std::vector<std::int64_t> partition = resolved_partition(question_.config, candidate.plan);
    return of(tables(candidate, partition), candidate, partition);
  }

  // The tables are of the candidate, with entries for the partition at least.
  PlanEstimate of(const PlanTables& tables, const PlanCandidate& candidate,
                  std::span<const std::int64_t> partition) {
    const Parts parts = run(tables, partition);
    PlanEstimate estimate{.iteration = Nanoseconds{parts.iteration},
                          .pipeline = Nanoseconds{parts.pipeline},
                          .embedding_reduction = Nanoseconds{parts.embedding},
                          .data_reduction = Nanoseconds{parts.reduction},
                          .update = Nanoseconds{parts.update}};
    estimate.stages.resize(tables.stages.size());
    memory_of_plan(tables, partition);
    const std::size_t stages = tables.stages.size();
    for (std::size_t s = 0; s < stages; ++s) {
      StageEstimate& stage = estimate.stages[s];
      stage.device = tables.stages[s].device;
      stage.capacity = capacities_[s];
      for (std::size_t c = s; c < tables.chunks.size(); c += stages) {
        stage.layers += partition[c];
        stage.forward += std::max(forward_[c].run, forward_[c].launch);
        stage.backward += std::max(backward_[c].run, backward_[c].launch);
      }
      if (s < tables.activations.size()) stage.send = tables.activations[s];
      stage.reduction = after_[s].reduction;
      stage.update = after_[s].update;
      stage.memory = stage_memory_[s];
      if (tables.stages[s].capacity > Bytes{})
        estimate.missing_memory = std::max(estimate.missing_memory, stage.memory - tables.stages[s].capacity);
    }
    if (const auto hourly = dollars_per_hour(question_.cluster, candidate.nodes)) {
      constexpr double kSecondsPerHour = 3600;
      estimate.dollars_per_step =
          *hourly / kSecondsPerHour * static_cast<double>(estimate.iteration.count()) * 1e-9;
    }
    return estimate;
  }

 private:
  struct Parts {
    std::int64_t pipeline = 0, embedding = 0, reduction = 0, update = 0, iteration = 0;  // nanoseconds
  };

  void fill_stage(std::int64_t s, const ChunkKey& key, const PlacedStage& placed, std::int64_t layers) {
    const Plan& plan = tables_.plan;
    StageTable& stage = tables_.stages[static_cast<std::size_t>(s)];
    const BlockTimes* slowest = nullptr;
    GroupUse tensor;
    for (const PlacedRanks& ranks : placed.ranks) {
      const BlockTimes& times = blocks_.of({.key = key,
                                            .device = ranks.device,
                                            .tensor = ranks.tensor,
                                            .context = placed.context,
                                            .recompute = tables_.request.recompute},
                                           network_);
      if (slowest != nullptr && layer_time(times) <= layer_time(*slowest)) continue;
      slowest = &times;
      tensor = ranks.tensor;
      stage.device = ranks.device;
    }
    tables_.launches |= slowest->launches;
    for (std::int64_t v = 0; v < plan.virtual_stages; ++v) {
      const std::int64_t c = v * plan.pp + s;
      const auto role =
          static_cast<std::size_t>(role_of_chunk(c == 0, c + 1 == plan.pp * plan.virtual_stages));
      tables_.chunks[static_cast<std::size_t>(c)] = {.forward = slowest->forward[role],
                                                     .backward = slowest->backward[role],
                                                     .layers = slowest->layers ? &*slowest->layers : nullptr};
    }
    stage.after = {.blocks = slowest,
                   .role = role_of_chunk(s == 0, s + 1 == plan.pp),
                   .tensor = plan.sequence_parallel ? tensor : GroupUse{},
                   .zero = plan.zero_stage >= 1,
                   .clears = plan.micro_batches > 1 || tables_.request.keeps_gradients,
                   .counts_tied = s == 0};
    stage.reductions = nullptr;
    stage.start = stage.reduction = stage.update = {};
    stage.memory = {};
    if (!placed.data.empty()) stage.after.data = placed.data.front();
    if (plan.virtual_stages == 1) {
      // The slowest group is that of an even partition, whatever is asked for.
      const std::int64_t even = tables_.layers / plan.pp;
      for (std::size_t i = 0; i < std::max<std::size_t>(1, placed.data.size()); ++i) {
        ReductionRequestOfStage request = stage.after;
        if (!placed.data.empty()) request.data = placed.data[i];
        const StageReductions& after = reductions_.of(request, network_, even);
        const auto at = static_cast<std::size_t>(even);
        if (stage.reductions != nullptr && after.reduction[at] <= stage.reductions->reduction[at]) continue;
        stage.reductions = &after;
        stage.after = request;
      }
      reductions_.of(stage.after, network_, layers);
      stage.start = stage.reductions->start;
      stage.reduction = stage.reductions->reduction;
      stage.update = stage.reductions->update;
    }
    capacities_.resize(tables_.stages.size());
    capacities_[static_cast<std::size_t>(s)] = placed.memory;
    stage.capacity = Bytes{static_cast<std::int64_t>(static_cast<double>(placed.memory.count()) *
                                                     question_.limits.memory_share)};
  }

  void fill_messages(const PlacedPlan& placed) {
    const Plan& plan = tables_.plan;
    const StepRequest& request = tables_.request;
    const std::int64_t chunks = plan.pp * plan.virtual_stages;
    tables_.activations.clear();
    tables_.gradients.clear();
    const std::int64_t parts = plan.sequence_parallel ? plan.tp : 1;
    const Bytes size{request.batch_size / plan.micro_batches * (request.seq_length / plan.cp) / parts *
                     question_.config.width * size_of(request.dtype)};
    const bool scatters = question_.overlap.scattered_messages && plan.tp > 1 && !plan.sequence_parallel;
    const Bytes sent{scatters ? (size.count() + plan.tp - 1) / plan.tp : size.count()};
    const auto slowest = [&](const std::vector<MessageWay>& ways, std::int64_t receiver) {
      Nanoseconds time;
      for (const MessageWay& way : ways) time = std::max(time, network_.message(sent, way));
      if (!scatters) return time;
      Nanoseconds gather;
      for (const PlacedRanks& ranks : placed.stages[static_cast<std::size_t>(receiver)].ranks)
        gather = std::max(gather, network_.collective(CollectiveType::kAllGather, sent, ranks.tensor));
      return time + gather;
    };
    for (std::int64_t c = 0; c + 1 < chunks; ++c) {
      const auto boundary = static_cast<std::size_t>(c % plan.pp);
      tables_.activations.push_back(slowest(placed.up[boundary], (c + 1) % plan.pp));
      tables_.gradients.push_back(slowest(placed.down[boundary], c % plan.pp));
    }
  }

  void fill_after(const PlacedPlan& placed) {
    const Plan& plan = tables_.plan;
    const StepRequest& request = tables_.request;
    tables_.norm_joins = takes_grad_norm(request.optimizer, request.dtype == DType::kF16);
    tables_.norm = {};
    if (tables_.norm_joins) {
      if (plan.zero_stage >= 1) {
        Nanoseconds over_data;
        for (const StageTable& stage : tables_.stages)
          over_data =
              std::max(over_data, network_.collective(CollectiveType::kAllReduce, kScalar, stage.after.data));
        tables_.norm += over_data;
      }
      tables_.norm += network_.collective(CollectiveType::kAllReduce, kScalar, placed.model);
    }
    tables_.embedding_reduction = {};
    if (plan.pp == 1 || !question_.config.tied_embeddings) return;
    const StageTable& first = tables_.stages.front();
    const Bytes size = first.reductions != nullptr ? first.reductions->tied_size
                                                   : reductions_.of(first.after, network_, 0).tied_size;
    for (const GroupUse& pair : placed.embedding)
      tables_.embedding_reduction =
          std::max(tables_.embedding_reduction, network_.collective(CollectiveType::kAllReduce, size, pair));
  }

  // Memory of each stage, without tables.
  void memory_of_plan(const PlanTables& tables, std::span<const std::int64_t> partition) {
    if (tables.plan.virtual_stages > 1) {
      Plan plan = tables.plan;
      plan.partition.assign(partition.begin(), partition.end());
      stage_memory_ = memory_.of_plan(tables.request, plan);
      return;
    }
    stage_memory_.clear();
    for (std::int64_t s = 0; s < tables.plan.pp; ++s)
      stage_memory_.push_back(
          memory_.of(tables.request, tables.plan, s, partition[static_cast<std::size_t>(s)]));
  }

  Parts run(const PlanTables& tables, std::span<const std::int64_t> partition) {
    const Plan& plan = tables.plan;
    const std::size_t stages = tables.stages.size(), chunks = tables.chunks.size();
    check(partition.size() == chunks, "a partition has an entry for each chunk");
    forward_.resize(chunks);
    backward_.resize(chunks);
    std::size_t first_layer = 0;
    for (std::size_t c = 0; c < chunks; ++c) {
      const auto layers = static_cast<std::size_t>(partition[c]);
      forward_[c] = tables.chunks[c].forward[layers];
      backward_[c] = tables.chunks[c].backward[layers];
      if (tables.chunks[c].layers != nullptr) put_layers(tables.chunks[c], c, first_layer, layers);
      first_layer += layers;
    }
    after_.resize(stages);
    starts_.resize(stages);
    for (std::size_t s = 0; s < stages; ++s) {
      starts_[s] = {.busy = {}, .issue = tables.stages[s].after.blocks->message_issue};
      if (tables.stages[s].reductions != nullptr)
        starts_[s].busy = tables.stages[s].start[static_cast<std::size_t>(partition[s])];
      else
        starts_[s].busy = start_of_chunks(tables, partition, s);
    }
    const OverlapOptions overlap = question_.overlap.with(plan.virtual_stages);
    const PipelineLatency::Ends ends = latency_.of({.schedule = plan.schedule,
                                                    .stages = plan.pp,
                                                    .virtual_stages = plan.virtual_stages,
                                                    .micro_batches = plan.micro_batches,
                                                    .forward = forward_,
                                                    .backward = backward_,
                                                    .activations = tables.activations,
                                                    .gradients = tables.gradients,
                                                    .starts = starts_,
                                                    .launches = tables.launches,
                                                    .blocking_messages = overlap.blocking_messages,
                                                    .messages_stop_host = overlap.messages_stop_host});
    return after_pipeline(tables, partition, ends);
  }

  // Measured layers that differ: those of the partition instead of the least of as many.
  void put_layers(const ChunkTable& table, std::size_t c, std::size_t first, std::size_t layers) {
    const auto put = [&](PassTimes& pass, const std::vector<std::int64_t>& sums) {
      std::int64_t least = sums[layers] - sums[0];
      for (std::size_t at = 0; at + layers < sums.size(); ++at)
        least = std::min(least, sums[at + layers] - sums[at]);
      const Nanoseconds more{sums[first + layers] - sums[first] - least};
      pass.run += more;
      pass.after_input += more;
    };
    put(forward_[c], table.layers->forward);
    put(backward_[c], table.layers->backward);
  }

  Nanoseconds start_of_chunks(const PlanTables& tables, std::span<const std::int64_t> partition,
                              std::size_t s) {
    list_chunks(partition, tables.stages.size(), s);
    return reductions_.start_of(tables.stages[s].after, chunk_ends_, network_);
  }

  // Those of a stage, in the order in which their last backward passes end.
  void list_chunks(std::span<const std::int64_t> partition, std::size_t stages, std::size_t s) {
    chunk_ends_.clear();
    for (std::size_t c = partition.size() - stages + s;; c -= stages) {
      chunk_ends_.push_back(
          {.role = role_of_chunk(c == 0, c + 1 == partition.size()), .layers = partition[c]});
      if (c < stages) break;
    }
  }

  Parts after_pipeline(const PlanTables& tables, std::span<const std::int64_t> partition,
                       const PipelineLatency::Ends& ends) {
    const std::size_t stages = tables.stages.size();
    Parts parts;
    ends_.assign(stages, 0);
    for (std::size_t s = 0; s < stages; ++s) {
      const StageTable& stage = tables.stages[s];
      if (stage.reductions != nullptr) {
        const auto layers = static_cast<std::size_t>(partition[s]);
        after_[s] = {.reduction = stage.reduction[layers],
                     .update = stage.update[layers],
                     .tied = stage.reductions->tied,
                     .tied_update = stage.reductions->tied_update,
                     .tied_size = stage.reductions->tied_size,
                     .collectives = stage.reductions->collectives[layers]};
        ends_[s] = ends.backward[s];
      } else {
        for (std::size_t c = s; c < partition.size(); c += stages)
          ends_[s] = std::max(ends_[s], ends.backward[c]);
        list_chunks(partition, stages, s);
        for (std::size_t i = 0; i < chunk_ends_.size(); ++i)
          chunk_ends_[i].before_end = ends_[s] - ends.backward[partition.size() - stages * (i + 1) + s];
        after_[s] = reductions_.of_chunks(stage.after, chunk_ends_, network_);
      }
      // The host launches the reductions among the last backward pass.
      if (tables.launches)
        ends_[s] = std::max(ends_[s],
                            ends.host[s] + after_[s].collectives * stage.after.blocks->message_issue.count());
      parts.pipeline = std::max(parts.pipeline, ends_[s]);
    }
    const std::int64_t both = std::max(ends_.front(), ends_.back()) + tables.embedding_reduction.count();
    const bool tied = tables.embedding_reduction > Nanoseconds{};
    std::int64_t with_embedding = parts.pipeline, settled = 0;
    if (tied) with_embedding = std::max(with_embedding, both);
    const auto settled_at = [&](std::size_t s) {
      std::int64_t end = ends_[s] + after_[s].reduction.count();
      if (tied && s == 0) end = std::max(end, both) + after_[s].tied.count();
      return end;
    };
    for (std::size_t s = 0; s < stages; ++s) {
      const std::int64_t end = settled_at(s);
      settled = std::max(settled, end);
      if (!tables.norm_joins) parts.iteration = std::max(parts.iteration, end + after_[s].update.count());
    }
    settled += tables.norm.count();
    if (tables.norm_joins)
      for (std::size_t s = 0; s < stages; ++s)
        parts.iteration = std::max(parts.iteration, settled + after_[s].update.count());
    // On the last stage tied weights have no part in the norm: only their own update waits for them.
    if (tied)
      parts.iteration =
          std::max(parts.iteration, std::max(ends_.back() + after_.back().reduction.count(), both) +
                                        (after_.back().tied + after_.back().tied_update).count());
    parts.embedding = with_embedding - parts.pipeline;
    parts.reduction = std::max<std::int64_t>(0, std::min(settled, parts.iteration) - with_embedding);
    parts.update = parts.iteration - parts.pipeline - parts.embedding - parts.reduction;
    return parts;
  }

  const PlanQuestion& question_;
  PlanNetwork network_;
  StageMemoryTable memory_;
  BlockTable blocks_;
  ReductionTable reductions_;
  PipelineLatency latency_;
  PlanTables tables_;
  std::vector<Bytes> capacities_;    // by stage of tables_
  std::vector<Bytes> stage_memory_;  // of the plan under way
  // Times of the plan under way.
  std::vector<PassTimes> forward_, backward_;
  std::vector<PipelineStart> starts_;
  std::vector<ReductionTable::Sums> after_;
  std::vector<ReductionTable::ChunkEnd> chunk_ends_;
  std::vector<std::int64_t> ends_;
};

PlanEstimator::PlanEstimator(const PlanQuestion& question) : state_(std::make_unique<State>(question)) {}
PlanEstimator::~PlanEstimator() = default;

PlanEstimate PlanEstimator::of(const PlanCandidate& candidate) {
  return state_->of(candidate);
}

PlanEstimate PlanEstimator::of(const PlanTables& tables, const PlanCandidate& candidate) {
  return state_->of(tables, candidate, candidate.plan.partition);
}

const PlanTables& PlanEstimator::tables(const PlanCandidate& candidate) {
  return state_->tables(candidate);
}

Nanoseconds PlanEstimator::iteration(const PlanTables& tables, std::span<const std::int64_t> partition) {
  return state_->iteration(tables, partition);
}

Bytes PlanEstimator::missing_memory(const PlanTables& tables, std::span<const std::int64_t> partition,
                                    const std::optional<Bytes>& allowed) {
  return state_->missing_memory(tables, partition, allowed);
}

StageAfter PlanEstimator::least_after(const PlanTables& tables, std::int64_t stage,
                                      std::span<const std::int64_t> partition) {
  return state_->least_after(tables, stage, partition);
}

std::span<const Bytes> PlanEstimator::memory_by_layers(const PlanCandidate& candidate, std::int64_t stage) {
  return state_->memory_by_layers(candidate, stage);
}

Bytes PlanEstimator::stage_memory(const PlanCandidate& candidate, std::int64_t stage) {
  return state_->stage_memory(candidate, stage);
}

}  // namespace nadi::inline predict
