// Dynamic programming of partition_search.h: for every state of a pipeline's rear part, the bounds that can
// still lead to the best pipeline.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "nadi/plan/partition_bound.h"
#include "nadi/plan/partition_search.h"

namespace nadi::inline predict {

// Sets of nodes that stages of some kinds take, numbered as they are met.
class UsedNodes {
 public:
  explicit UsedNodes(const StagesProblem& problem);
  static constexpr std::int32_t kNone = 0;      // no nodes
  static constexpr std::int32_t kTooMany = -1;  // more than there are
  // With one more block of the kind.
  std::int32_t with(std::int32_t used, std::int32_t kind);
  std::size_t count() const { return counts_.size(); }
  std::int32_t without(std::int32_t used, std::int32_t kind);

 private:
  std::int32_t number(std::vector<std::int32_t> counts);

  const StagesProblem& problem_;
  std::vector<std::vector<std::int32_t>> counts_;
  std::map<std::vector<std::int32_t>, std::int32_t> numbers_;
  std::vector<std::vector<std::int32_t>> next_;  // by number and kind; -2 means not asked for yet
};

// State of the stages from some stage s to the last one. The rear part of a pipeline in this state has `layers`
// layers, and stage s is of the kind and at the place of its block.
struct RearState {
  std::int32_t used = 0;  // nodes, with those of stage s's block only if s is the first of it
  std::int32_t kind = 0;
  std::int32_t place = 0;
  std::int32_t layers = 0;
  auto operator<=>(const RearState&) const = default;
};

struct RearLabel {
  PathBound bound;
  std::int32_t layers = 0;                        // of stage s
  std::int32_t next_state = -1, next_label = -1;  // of stage s + 1, that this bound was made from
};

struct LabelLimits {
  std::int64_t better_than = kNeverEnds;
  std::int64_t longest_stage = kNeverEnds;  // forward and backward of a stage
  std::size_t labels = 16;
  // Nanoseconds of a step that bounds may be too small by, per stage: they are rounded down to multiples of
  // it, so that those that hardly differ are one.
  std::int64_t grain = 1;
  // States and labels that may be held, some 100 bytes each. Clusters of a few kinds of nodes have thousands;
  // the number of states is exponential in the kinds.
  std::size_t most_held = 4'000'000;
  const std::function<bool()>* stop = nullptr;  // asked now and then
};

class PartitionLabels {
 public:
  PartitionLabels(const StagesProblem& problem, UsedNodes& used) : problem_(problem), used_(used) {}

  // False: it was stopped, or there are more labels than may be held. Then there is no best().
  bool build(const LabelLimits& limits);

  struct Stage {
    std::vector<RearState> states;     // ascending
    std::vector<std::uint32_t> first;  // label of each state, and the end
    std::vector<RearLabel> labels;
    std::span<const RearLabel> of(std::size_t state) const {
      return std::span(labels).subspan(first[state], first[state + 1] - first[state]);
    }
    std::optional<std::size_t> find(const RearState& state) const;
  };
  const Stage& stage(std::int64_t number) const { return stages_[static_cast<std::size_t>(number)]; }

  // The pipeline with the smallest bound; nullopt means none is below the limits.
  struct Best {
    std::vector<std::int32_t> kinds;
    std::vector<std::int64_t> layers;
    std::int64_t bound = kNeverEnds;
  };
  std::optional<Best> best() const;

  // That were worked out so far.
  std::int64_t bounds() const { return bounds_; }

  // Nanoseconds of one micro-batch through the first `stages` stages and back with so many layers in them, at
  // least; kNeverEnds: these layers do not fit.
  std::int64_t least_before(std::int64_t stages, std::int64_t layers) const {
    return least_before_[static_cast<std::size_t>(stages * (problem_.layers + 1) + layers)];
  }

 private:
  // States of the stage that is worked on.
  struct Open {
    std::vector<RearState> states;
    std::vector<std::vector<RearLabel>> labels;  // by state
  };
  std::vector<RearLabel>& open_labels(const RearState& state);
  // The most layers of each stage and kind that do not make the step too long by themselves, with the
  // messages that the stage waits for. False: there is no place for all layers, whatever the order of kinds.
  bool find_most(const LabelLimits& limits);
  bool has_places() const;
  std::int64_t least_send() const;         // there and back between two stages
  std::int64_t least_activations() const;  // there
  std::int64_t most(std::int64_t stage, std::int64_t kind) const {
    return most_[problem_.place(stage, kind)];
  }
  bool is_too_long(const PartitionCosts& costs, const LabelLimits& limits) const;
  // With what the stages before take at least.
  bool is_too_late(const PathBound& bound, std::int64_t before, const LabelLimits& limits) const;
  void find_least_before(const LabelLimits& limits);
  void start(const LabelLimits& limits);
  bool extend(std::int64_t stage, const LabelLimits& limits);
  void close(std::int64_t stage);
  // Whether work on a stage must end: there are too many labels, or somebody wants to stop.
  bool gives_up(const LabelLimits& limits);
  static void add(std::vector<RearLabel>& labels, const RearLabel& label, std::size_t most);
  void coarsen(PathBound& bound, const LabelLimits& limits) const;

  const StagesProblem& problem_;
  UsedNodes& used_;
  std::vector<std::int64_t> most_;  // layers, by stage and kind
  std::vector<std::int64_t> least_before_;
  std::vector<Stage> stages_;
  std::int32_t places_ = 1;  // the most of a block
  std::int64_t bounds_ = 0;
  std::size_t held_ = 0;   // states and labels, of all stages
  std::size_t looks_ = 0;  // of gives_up()
  Open open_;
  std::vector<std::int32_t> slots_;  // of open states; -1 means not open
};

}  // namespace nadi::inline predict
