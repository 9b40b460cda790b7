#include "nadi/draw/timeline_of_comparison.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "nadi/base/format.h"
#include "nadi/draw/activity_kind.h"

namespace nadi::inline show {

void timeline_of_comparison(TimelineView& view, std::span<const ComparedRank> ranks) {
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const ComparedRank& rank : ranks)
    for (const ComparedNode& node : rank.nodes) origin = std::min(origin, node.start.count());
  const std::uint32_t error = view.number_column("error of the prediction, 1/1000");
  for (const ComparedRank& rank : ranks) {
    const std::uint32_t group = view.add_group(format("rank {}", rank.rank));
    for (const bool communicates : {false, true}) {
      if (std::none_of(rank.nodes.begin(), rank.nodes.end(),
                       [&](const ComparedNode& node) { return node.communicates == communicates; }))
        continue;
      const Activity activity = communicates ? Activity::kCommunication : Activity::kCompute;
      const std::string what(to_string(activity));
      const std::uint32_t measured = view.add_lane({.name = what, .group = group});
      const std::uint32_t predicted =
          view.add_lane({.name = what + ", predicted", .group = group, .predicted_of = measured});
      const TimelineKind kind = kind_of(activity);
      for (const ComparedNode& node : rank.nodes) {
        if (node.communicates != communicates) continue;
        const std::uint32_t label = view.label(node.kind, kind);
        const std::uint32_t detail = view.detail({{"node", node.name}});
        const TimelineEventRef ran = view.add(measured, {.start = node.start.count() - origin,
                                                         .duration = node.measured.count(),
                                                         .label = label,
                                                         .detail = detail});
        const std::array<TimelineNumber, 1> numbers{
            {{.column = error, .value = static_cast<std::int64_t>(node.error() * 1000)}}};
        const TimelineEventRef said = view.add(predicted, {.start = node.predicted_start.count(),
                                                           .duration = node.predicted.count(),
                                                           .label = label,
                                                           .detail = detail,
                                                           .numbers = numbers});
        view.link(said, ran, TimelineLinkKind::kPrediction);
      }
    }
  }
}

}  // namespace nadi::inline show
