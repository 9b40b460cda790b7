// What each rank does in one step of a workload that is text (layer_workload.h).
//
//   const LayerWorkloadTrace trace(workload, {.ranks = 16});
//   for (std::int64_t rank = 0; rank < trace.ranks(); ++rank) {
//     const auto groups = trace.group_numbers(rank, numbers);   // in the order of the ranks
//     for (std::size_t row = 0; row < trace.size(); ++row) trace.get(row, groups, node);
//   }
//
// All ranks do the same, in the order in which ASTRA-sim 1 goes through the layers: forward from the first to
// the last, each waiting for its collective; then from the last to the first the gradient of the input, that
// of the weights, and their collectives, of which the weights' hold up nothing. Where layers are computed
// again, the forward since the last checkpoint comes first. A collective of one rank is left out.
//
// Groups: `model_group` ranks in a row share layers, those at equal places have the same part (in
// HYBRID_MODEL_DATA the other way round); experts are shared by `ep` consecutive members of a data group. Of
// a pipeline the file holds one stage, so there are as many ranks as one stage has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "nadi/convert/layer_workload.h"
#include "nadi/convert/process_group_numbers.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

struct LayerWorkloadOptions {
  std::optional<std::int64_t> ranks = {};        // of one stage; needed where the file does not say
  std::optional<std::int64_t> model_group = {};  // the same
  std::optional<bool> gathers_are_whole = {};    // wins over what the file suggests
};

class LayerWorkloadTrace {
 public:
  // Throws Error: usage where the number of ranks or of a group is not known, input where they do not divide.
  LayerWorkloadTrace(const LayerWorkload& workload, const LayerWorkloadOptions& options);

  LayerWorkloadTrace(const LayerWorkloadTrace&) = delete;
  LayerWorkloadTrace& operator=(const LayerWorkloadTrace&) = delete;

  std::int64_t ranks() const { return ranks_; }
  std::size_t size() const { return steps_.size(); }
  std::size_t dependencies() const;

  // The process group of each WorkloadGroup for this rank; 0 means all ranks.
  using Groups = std::array<std::uint32_t, 6>;
  Groups group_numbers(std::int64_t rank, GroupNumbers& numbers) const;
  // Valid as long as this.
  void get(std::size_t row, const Groups& groups, TraceNode& node) const;

 private:
  struct Step {
    std::string name;
    std::string_view layer, phase;
    std::optional<CollectiveType> type = {};  // nothing means computation
    WorkloadGroup group = WorkloadGroup::kNone;
    Bytes size = {};
    Nanoseconds duration = {};
    std::vector<std::uint32_t> after = {};
  };
  using Known = std::optional<std::uint32_t>;  // a step, if there is one

  std::int64_t members_of(WorkloadGroup group) const;
  std::vector<std::int64_t> members(WorkloadGroup group, std::int64_t rank) const;
  void settle_groups(const LayerWorkloadOptions& options);

  void forward(const WorkloadLayer& layer, std::string_view phase);
  void backward();
  void backward_of(std::size_t number);
  void dlrm();
  void compute(const WorkloadLayer& layer, const char* what, std::string_view phase, Nanoseconds time);
  Known communicate(const WorkloadLayer& layer, const LayerPart& part, const char* what,
                    std::string_view phase);
  void wait_for(const Known& step);

  LayerWorkload workload_;
  std::int64_t ranks_ = 0, model_ = 1, data_ = 1;
  bool model_outside_ = false;
  bool whole_gathers_ = false;
  std::vector<Step> steps_;
  Known last_compute_;
  std::vector<std::uint32_t> waits_;  // besides: what the next computation waits for
};

}  // namespace nadi::inline traces
