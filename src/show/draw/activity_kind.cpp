#include "nadi/draw/activity_kind.h"

#include "nadi/base/error.h"

namespace nadi::inline show {

TimelineKind kind_of(Activity activity) {
  switch (activity) {
    case Activity::kNone:
      return TimelineKind::kOther;
    case Activity::kHost:
      return TimelineKind::kHost;
    case Activity::kCompute:
      return TimelineKind::kCompute;
    case Activity::kCommunication:
      return TimelineKind::kCommunication;
    case Activity::kMemory:
      return TimelineKind::kMemory;
  }
  unreachable();
}

}  // namespace nadi::inline show
