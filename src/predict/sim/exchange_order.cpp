#include "nadi/sim/exchange_order.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "nadi/parallel/pipeline_schedule.h"
#include "nadi/parallel/rank_binding.h"

namespace nadi::inline predict {
namespace {

enum class PartKind : std::uint8_t { kCompute, kSend, kReceive };

struct ChunkPart {
  PartKind kind = PartKind::kCompute;
  bool backward = false;
  std::int32_t chunk = 0;
  std::int32_t micro_batch = 0;
  auto operator<=>(const ChunkPart&) const = default;
};

class ExchangeOrder {
 public:
  ExchangeOrder(const Program& program, const Plan& plan) : program_(program), chunks_(plan.virtual_stages) {
    sort_into_parts();
  }

  bool has_backward() const { return has_backward_; }

  std::vector<PlacedInstruction> run(const std::vector<PipelineTask>& tasks) {
    for (const std::size_t instruction : before_) placed_.push_back({instruction});
    // A forward and the backward that follows it are one group, all else is one by itself.
    std::span<const PipelineTask> done, rest(tasks);
    while (!done.empty() || !rest.empty()) {
      const std::size_t size = rest.size() > 1 && !rest[0].backward && rest[1].backward ? 2 : 1;
      const std::span<const PipelineTask> group = rest.first(std::min(size, rest.size()));
      exchange(done, group, false);
      exchange(done, group, true);
      for (const PipelineTask& task : group) place(PartKind::kCompute, task);
      rest = rest.subspan(group.size());
      done = group;
    }
    for (const std::size_t instruction : after_) placed_.push_back({instruction});
    return std::move(placed_);
  }

 private:
  // What belongs to a chunk is found by its part; reductions stay behind the computation that they follow.
  void sort_into_parts() {
    std::vector<std::size_t>* last = &before_;
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      const Section& section = program_.section(instruction.section);
      const std::span<const Op> ops = program_.graph_of(section).ops();
      const RankBinding::Kind binding = binding_of(ops[section.first_op]).kind;
      const bool message = binding == RankBinding::Kind::kSend || binding == RankBinding::Kind::kReceive;
      const Phase phase = ops[section.end_op - 1].phase;
      if (!message && phase == Phase::kOptimizer && last != &before_) last = &after_;
      if (static_cast<std::int64_t>(section.graph) >= chunks_) {
        last->push_back(i);
        continue;
      }
      // A backward may start with work that is done again, and does not end with it.
      const ChunkPart part{.kind = binding == RankBinding::Kind::kSend      ? PartKind::kSend
                                   : binding == RankBinding::Kind::kReceive ? PartKind::kReceive
                                                                            : PartKind::kCompute,
                           .backward = phase != Phase::kForward,
                           .chunk = static_cast<std::int32_t>(section.graph),
                           .micro_batch = instruction.micro_batch};
      has_backward_ |= part.backward;
      parts_[part].push_back(i);
      if (!message) last = &parts_[part];
    }
  }

  void place(PartKind kind, const PipelineTask& task) {
    const auto found = parts_.find({kind, task.backward, task.chunk, task.micro_batch});
    if (found == parts_.end()) return;
    for (const std::size_t instruction : found->second) placed_.push_back({instruction, exchange_});
  }

  void exchange(std::span<const PipelineTask> done, std::span<const PipelineTask> next, bool backward) {
    ++exchange_;
    for (const PipelineTask& task : done)
      if (task.backward == backward) place(PartKind::kSend, task);
    for (const PipelineTask& task : next)
      if (task.backward == backward) place(PartKind::kReceive, task);
  }

  const Program& program_;
  const std::int64_t chunks_;
  bool has_backward_ = false;
  std::map<ChunkPart, std::vector<std::size_t>> parts_;  // instructions
  std::vector<std::size_t> before_, after_;
  std::vector<PlacedInstruction> placed_;
  std::uint64_t exchange_ = 0;
};

}  // namespace

std::vector<PlacedInstruction> exchange_order(const Program& program, const Plan& plan, std::int64_t stage) {
  if (plan.virtual_stages > 1 && plan.micro_batches > plan.pp) {
    ExchangeOrder order(program, plan);
    if (order.has_backward())
      return order.run(pipeline_tasks({.kind = plan.schedule,
                                       .stages = plan.pp,
                                       .virtual_stages = plan.virtual_stages,
                                       .micro_batches = plan.micro_batches},
                                      stage));
  }
  std::vector<PlacedInstruction> placed;
  std::uint64_t exchange = 0;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (i == 0 || !program.instructions[i - 1].with_next) ++exchange;
    placed.push_back({i, exchange});
  }
  return placed;
}

}  // namespace nadi::inline predict
