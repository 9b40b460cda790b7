#include "nadi/convert/conversion_report.h"

#include "nadi/base/error.h"

namespace nadi::inline traces {

std::string_view dropped_because(KinetoCategory category) {
  switch (category) {
    case KinetoCategory::kCpuOp:
    case KinetoCategory::kRuntime:
    case KinetoCategory::kDriver:
    case KinetoCategory::kKernel:
    case KinetoCategory::kMemcpy:
    case KinetoCategory::kMemset:
      return "";
    case KinetoCategory::kUserAnnotation:
      return "say what their ops say, too";
    case KinetoCategory::kPythonFunction:
      return "frames of Python code; modules name the layers of ops";
    case KinetoCategory::kGpuAnnotation:
      return "repeat annotations of the host";
    case KinetoCategory::kSync:
      return "are dependencies";
    case KinetoCategory::kOverhead:
      return "work of the profiler";
    case KinetoCategory::kSpan:
      return "the profiler's window";
    case KinetoCategory::kOther:
      return "of no known kind";
  }
  unreachable();
}

}  // namespace nadi::inline traces
