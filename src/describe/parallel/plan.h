// How a job is split over ranks: the type everybody speaks who builds, runs, simulates or searches plans.
//
// Ranks are numbered with tensor parallelism fastest, then context, data, pipeline:
//   rank = tp_place + tp * (cp_place + cp * (dp_place + dp * pp_place))
// Experts may be split over the same ranks in a way of their own, as Megatron-LM's "parallel folding" does: within a
// stage, expert-tensor parallelism fastest, then expert parallelism, then copies:
//   rank = etp_place + etp * (ep_place + ep * (edp_place + edp * pp_place)),   edp = tp * cp * dp / (etp * ep)
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline describe {

enum class Rank : std::int32_t {};
constexpr std::int32_t to_number(Rank rank) {
  return static_cast<std::int32_t>(rank);
}

enum class ScheduleKind : std::uint8_t { k1F1B, kGPipe, kInterleaved };
struct ScheduleEntry {
  ScheduleKind kind;
  std::string_view name;
  std::string_view summary;
};
std::span<const ScheduleEntry> schedules();
std::string_view to_string(ScheduleKind kind);  // "1f1b", "gpipe", "interleaved"

struct Plan {
  std::int64_t tp = 1;             // tensor
  std::int64_t cp = 1;             // context
  std::int64_t dp = 1;             // data
  std::int64_t pp = 1;             // pipeline
  std::int64_t ep = 1;             // expert: they share the experts of a layer
  std::int64_t etp = 0;            // expert-tensor: they share each expert; 0 means as many as tp
  bool sequence_parallel = false;  // norms and residual stream split over the tensor-parallel ranks
  std::int64_t zero_stage = 0;     // 1 means optimizer state split over the data-parallel ranks
  ScheduleKind schedule = ScheduleKind::k1F1B;
  std::int64_t virtual_stages = 1;  // chunks of layers per rank; more than 1 with kInterleaved only
  std::int64_t micro_batches = 1;   // training: equal parts of a rank's batch, computed one by one
  // Transformer layers of each stage, in the model's order, 0 allowed; with several virtual stages one entry
  // per virtual stage (chunk c of stage s is entry c * pp + s). Empty means as even as possible.
  std::vector<std::int64_t> partition = {};

  std::int64_t world_size() const { return tp * cp * dp * pp; }
  std::int64_t stage_size() const { return tp * cp * dp; }
  std::int64_t expert_tp() const { return etp > 0 ? etp : tp; }
  std::int64_t expert_copies() const {
    return std::max<std::int64_t>(1, stage_size() / (expert_tp() * ep));
  }  // edp
  // Whether experts have a numbering of their own. Else they are split as all else is.
  bool numbers_experts() const { return ep > 1 || expert_tp() != tp; }
};

// A rank's place along each axis of the grid.
struct Coordinates {
  std::int64_t tp = 0, cp = 0, dp = 0, pp = 0;
  bool operator==(const Coordinates&) const = default;
};
Coordinates coordinates_of(const Plan& plan, Rank rank);

// Its place in the numbering of experts.
struct ExpertCoordinates {
  std::int64_t etp = 0, ep = 0, edp = 0, pp = 0;
  bool operator==(const ExpertCoordinates&) const = default;
};
ExpertCoordinates expert_coordinates_of(const Plan& plan, Rank rank);
Rank rank_at(const Plan& plan, const ExpertCoordinates& coordinates);
Rank rank_at(const Plan& plan, const Coordinates& coordinates);

// Groups of ranks that communicate, each named in the graph's ops.
enum class GroupKind : std::uint8_t {
  kTensor,     // "tp"
  kContext,    // "cp"
  kData,       // "dp": also over context ranks, which hold the same weights and other tokens
  kPipeline,   // "pp"
  kModel,      // "mp": tensor and pipeline: all parts of one copy of the model
  kEmbedding,  // "embedding": first and last stage, where both hold the word embeddings
  // Of experts, where they have a numbering of their own; else a rank is alone in them.
  kExpert,        // "ep"
  kExpertTensor,  // "etp"
  kExpertData,    // "edp": those that hold the same part of the same experts
  kWorld,         // "world": all ranks, where no smaller group has each parameter equally often
};
inline constexpr int kGroupKindCount = 10;
std::string_view to_string(GroupKind kind);
GroupKind group_named(std::string_view name);  // a bug when there is none

// The members of the rank's group, in the order of their places.
std::vector<Rank> group_members(const Plan& plan, GroupKind kind, Rank rank);
std::int64_t group_size(const Plan& plan, GroupKind kind);

}  // namespace nadi::inline describe
