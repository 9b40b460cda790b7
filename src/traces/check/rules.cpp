#include "nadi/check/rules.h"

#include <array>

namespace nadi::inline traces {

std::span<const Rule* const> rules() {
  using namespace rule;
  static constexpr std::array kRules{&kUnreadable,
                                     &kDamaged,
                                     &kUnknownFields,
                                     &kDuplicateId,
                                     &kMissingDependency,
                                     &kDroppedDependency,
                                     &kSelfDependency,
                                     &kCycle,
                                     &kInvalidType,
                                     &kNegativeTime,
                                     &kTimeOverflow,
                                     &kStartsTooEarly,
                                     &kOrphan,
                                     &kNoTimes,
                                     &kNoWork,
                                     &kNoTensors,
                                     &kIncompleteCommunication,

                                     &kWrongRank,
                                     &kDuplicateRank,
                                     &kMissingRank,
                                     &kGroupsFile,
                                     &kNoGroupsFile,
                                     &kUnknownGroup,
                                     &kNotInGroup,
                                     &kCollectiveCount,
                                     &kCollectiveOrder,
                                     &kCollectiveType,
                                     &kCollectiveSize,
                                     &kUnevenAllToAll,
                                     &kWrongSender,
                                     &kSendWithoutReceive,
                                     &kReceiveWithoutSend,
                                     &kMessageSize,
                                     &kDeadlock,
                                     &kRefused};
  return kRules;
}

}  // namespace nadi::inline traces
