#include "nadi/parallel/step_summary.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/graph/value_lifetimes.h"
#include "nadi/parallel/repeated_memory.h"
#include "nadi/parallel/step_check.h"

namespace nadi::inline describe {
namespace {

constexpr std::int64_t kMoreThanBuilt = kUnitsBuilt + 1;  // a fourth layer says what one adds

bool has_equal_layers(const ModelConfig& config, const StepRequest& request, const Plan& plan) {
  const Recompute& recompute = request.recompute;
  const bool alike = recompute.granularity != Recompute::Granularity::kFull ||
                     (recompute.method == Recompute::Method::kUniform && recompute.layers == 1);
  return request.kind == StepKind::kTrain && plan.world_size() == 1 && alike && recompute.layers == 1 &&
         config.layers > kMoreThanBuilt && !has_mixed_layers(config);
}

// "model.layers.1.mlp.matmul" of block 1, for another block.
std::string renamed(const std::string& name, std::int32_t from, std::int64_t to) {
  const std::string number = "." + std::to_string(from);
  for (std::size_t at = name.find(number); at != std::string::npos; at = name.find(number, at + 1)) {
    const std::size_t end = at + number.size();
    if (end == name.size() || name[end] == '.')
      return name.substr(0, at + 1) + std::to_string(to) + name.substr(end);
  }
  return name;
}

// What `more` layers add to a figure that has `three` with three and `four` with four.
struct Growth {
  std::int64_t more = 0;

  template <typename Figure>
  Figure operator()(Figure three, Figure four) const {
    return four + (four - three) * more;
  }
  WorkSummary operator()(const WorkSummary& three, const WorkSummary& four) const {
    const Growth& grown = *this;
    return {.ops = grown(three.ops, four.ops),
            .linear = grown(three.linear, four.linear),
            .head = grown(three.head, four.head),
            .attention = grown(three.attention, four.attention),
            .cost = {.matrix = grown(three.cost.matrix, four.cost.matrix),
                     .vector = grown(three.cost.vector, four.cost.vector),
                     .read = grown(three.cost.read, four.cost.read),
                     .written = grown(three.cost.written, four.cost.written),
                     .sent = grown(three.cost.sent, four.cost.sent)}};
  }
};

class StepSummarizer {
 public:
  StepSummarizer(const ModelConfig& config, const StepRequest& request, const Plan& plan)
      : layers_(config.layers),
        grown_{config.layers - kMoreThanBuilt},
        program_(with_layers(config, kUnitsBuilt, request, plan)),
        three_(summarize(program_)),
        four_(summarize(with_layers(config, kMoreThanBuilt, request, plan))) {}

  std::optional<ProgramSummary> run() {
    ProgramSummary sum;
    sum.parameters = grown_(three_.parameters, four_.parameters);
    for (std::size_t p = 0; p < sum.phases.size(); ++p)
      sum.phases[p] = grown_(three_.phases[p], four_.phases[p]);
    for (const auto& [kind, work] : four_.op_kinds) sum.op_kinds[kind] = grown_(three_.op_kinds[kind], work);
    if (!four_.communication.empty()) return std::nullopt;
    add_layers(sum);
    sum.memory = four_.memory;
    for (std::size_t role = 0; role < sum.memory.resident.size(); ++role)
      sum.memory.resident[role] = grown_(three_.memory.resident[role], four_.memory.resident[role]);
    sum.memory.kept = grown_(three_.memory.kept, four_.memory.kept);
    if (!add_activations(sum.memory)) return std::nullopt;
    return sum;
  }

 private:
  static Program with_layers(ModelConfig config, std::int64_t layers, const StepRequest& request, Plan plan) {
    config.layers = layers;
    plan.partition.clear();
    return build_step(config, request, plan, 0);
  }

  void add_layers(ProgramSummary& sum) const {
    for (const LayerSummary& row : four_.layers) {
      LayerSummary next = row;
      if (row.block < 0) {
        const auto before = std::ranges::find(three_.layers, row.name, &LayerSummary::name);
        check(before != three_.layers.end(), "every layer outside of blocks is in the shorter model");
        next.parameters = grown_(before->parameters, row.parameters);
        for (std::size_t p = 0; p < next.phases.size(); ++p)
          next.phases[p] = grown_(before->phases[p], row.phases[p]);
        sum.layers.push_back(std::move(next));
        continue;
      }
      // The last but one stands for all that the longer model has before its last.
      const bool last = row.block == kMoreThanBuilt - 1;
      const std::int64_t first = last ? layers_ - 1 : row.block;
      const std::int64_t end = last ? layers_ : row.block == kMoreThanBuilt - 2 ? layers_ - 1 : row.block + 1;
      for (std::int64_t block = first; block < end; ++block) {
        sum.layers.push_back(row);
        sum.layers.back().name = renamed(row.name, row.block, block);
        sum.layers.back().block = static_cast<std::int32_t>(block);
      }
    }
  }

  // The arena, and what is alive at each op: an op of a repeated layer brings and ends as much as in the
  // graph with three.
  bool add_activations(MemorySummary& memory) const {
    const Graph& graph = program_.graphs[0];
    const auto forward = std::ranges::find(program_.sections, "forward", &Section::name);
    check(forward != program_.sections.end() && forward->graph == 0, "a training step has a forward pass");
    const std::vector<Piece> pieces = pieces_of(graph, {.forward_ops = forward->end_op});
    const std::vector<Allocation> allocations = value_lifetimes(graph).allocations;
    const std::optional<ArenaNeed> need = RepeatedMemory(pieces, allocations).of(layers_);
    if (!need || need->arena <= Bytes{}) return false;
    std::vector<std::int64_t> born(pieces.size(), 0), dead(pieces.size(), 0);
    for (const Allocation& allocation : allocations) {
      born[allocation.born] += allocation.size;
      dead[allocation.dies] += allocation.size;
    }
    std::int64_t live = 0, peak = 0;
    std::array<std::int64_t, kPhaseCount> most{};
    const auto play = [&](Piece piece, std::int64_t block) {
      const auto [first, last] = std::equal_range(pieces.begin(), pieces.end(), piece);
      for (auto i = static_cast<std::size_t>(first - pieces.begin());
           i < static_cast<std::size_t>(last - pieces.begin()); ++i) {
        const Op& op = graph.ops()[i];
        live += born[i];
        std::int64_t& of_phase = most[static_cast<std::size_t>(op.phase)];
        of_phase = std::max(of_phase, live);
        if (live > peak) {
          peak = live;
          memory.peak_op = op.block < 0 ? op.name : renamed(op.name, op.block, block);
        }
        live -= dead[i];
      }
    };
    play(Piece::kBefore, 0);
    play(Piece::kFirstForward, 0);
    for (std::int64_t block = 1; block + 1 < layers_; ++block) play(Piece::kInnerForward, block);
    play(Piece::kLastForward, layers_ - 1);
    play(Piece::kBetween, layers_ - 1);
    play(Piece::kLastBackward, layers_ - 1);
    for (std::int64_t block = layers_ - 2; block > 0; --block) play(Piece::kInnerBackward, block);
    play(Piece::kFirstBackward, 0);
    play(Piece::kAfter, 0);
    check(live == 0 && Bytes{peak} == need->peak,
          "what is alive in repeated layers is what their arena holds");
    memory.activations = need->arena;
    memory.activations_live = need->peak;
    for (const Phase phase : {Phase::kForward, Phase::kRecompute, Phase::kBackward})
      memory.live_by_phase[static_cast<std::size_t>(phase)] = Bytes{most[static_cast<std::size_t>(phase)]};
    return true;
  }

  const std::int64_t layers_;
  const Growth grown_;
  const Program program_;  // of three layers
  ProgramSummary three_, four_;
};

}  // namespace

ProgramSummary summarize_step(const ModelConfig& config, const StepRequest& request, const Plan& plan,
                              std::int64_t stage) {
  check_request(config, request);
  check_plan(config, request, plan);
  if (has_equal_layers(config, request, plan))
    if (std::optional<ProgramSummary> summary = StepSummarizer(config, request, plan).run())
      return std::move(*summary);
  return summarize(build_step(config, request, plan, stage));
}

}  // namespace nadi::inline describe
