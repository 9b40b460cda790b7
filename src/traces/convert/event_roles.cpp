#include "nadi/convert/event_roles.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

#include "nadi/trace/communication_kernels.h"

namespace nadi::inline traces {

namespace {

constexpr std::string_view kModulePrefix = "nn.Module: ";
constexpr std::string_view kStepPrefix = "ProfilerStep#";
// Programs that are built with a default stream for each thread call cudaStreamSynchronize_ptsz.
constexpr std::string_view kPerThreadSuffix = "_ptsz";

struct RoleEntry {
  std::string_view name;
  EventRole role;
};

constexpr std::array kRolesByName{
    RoleEntry{"record_param_comms", EventRole::kCommunicationRecord},
    RoleEntry{"cudaDeviceSynchronize", EventRole::kDeviceSync},
    RoleEntry{"cuCtxSynchronize", EventRole::kDeviceSync},
    RoleEntry{"hipDeviceSynchronize", EventRole::kDeviceSync},
    RoleEntry{"cudaStreamSynchronize", EventRole::kStreamSync},
    RoleEntry{"cuStreamSynchronize", EventRole::kStreamSync},
    RoleEntry{"hipStreamSynchronize", EventRole::kStreamSync},
    RoleEntry{"cudaEventSynchronize", EventRole::kEventSync},
    RoleEntry{"cuEventSynchronize", EventRole::kEventSync},
    RoleEntry{"hipEventSynchronize", EventRole::kEventSync},
    RoleEntry{"cudaStreamWaitEvent", EventRole::kStreamWait},
    RoleEntry{"cuStreamWaitEvent", EventRole::kStreamWait},
    RoleEntry{"hipStreamWaitEvent", EventRole::kStreamWait},
};

constexpr std::array kRolesByPrefix{
    RoleEntry{"cudaMemcpy", EventRole::kCopyCall},
    RoleEntry{"cuMemcpy", EventRole::kCopyCall},
    RoleEntry{"hipMemcpy", EventRole::kCopyCall},
    RoleEntry{"autograd::engine::evaluate_function", EventRole::kBackward},
    RoleEntry{"Optimizer.step#", EventRole::kOptimizer},
    RoleEntry{"Optimizer.zero_grad#", EventRole::kOptimizer},
    RoleEntry{kModulePrefix, EventRole::kModule},
    RoleEntry{kStepPrefix, EventRole::kStep},
    RoleEntry{"nccl:", EventRole::kDeviceCommunication},
    RoleEntry{"rccl:", EventRole::kDeviceCommunication},
    RoleEntry{"xccl:", EventRole::kDeviceCommunication},
    RoleEntry{"hccl:", EventRole::kDeviceCommunication},
    // NCCL's own ranges, as Nsight Systems records them.
    RoleEntry{"ncclAll", EventRole::kDeviceCommunication},
    RoleEntry{"ncclReduce", EventRole::kDeviceCommunication},
    RoleEntry{"ncclBroadcast", EventRole::kDeviceCommunication},
    RoleEntry{"ncclSend", EventRole::kDeviceCommunication},
    RoleEntry{"ncclRecv", EventRole::kDeviceCommunication},
    RoleEntry{"gloo:", EventRole::kHostCommunication},
    RoleEntry{"mpi:", EventRole::kHostCommunication},
    RoleEntry{"ucc:", EventRole::kHostCommunication},
};

// Marks that people set around the phases of a step: "## forward ##", "backward".
std::optional<EventRole> phase_mark(std::string_view name) {
  constexpr std::array kMarks{
      RoleEntry{"forward", EventRole::kForward},
      RoleEntry{"backward", EventRole::kBackward},
      RoleEntry{"optimizer", EventRole::kOptimizer},
  };
  constexpr std::string_view kDecoration = "# ";
  const std::size_t first = name.find_first_not_of(kDecoration);
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view word = name.substr(first, name.find_last_not_of(kDecoration) + 1 - first);
  const auto* const found = std::ranges::find(kMarks, word, &RoleEntry::name);
  return found == kMarks.end() ? std::nullopt : std::optional(found->role);
}

}  // namespace

EventRole event_role(std::string_view name) {
  if (name.ends_with(kPerThreadSuffix)) name.remove_suffix(kPerThreadSuffix.size());
  const auto* const known = std::ranges::find(kRolesByName, name, &RoleEntry::name);
  if (known != kRolesByName.end()) return known->role;
  for (const RoleEntry& entry : kRolesByPrefix)
    if (name.starts_with(entry.name)) return entry.role;
  if (find_communication_kernel(name)) return EventRole::kCommunicationKernel;
  return phase_mark(name).value_or(EventRole::kPlain);
}

EventRoles::EventRoles(const Trace& events) : events_(&events) {
  by_name_.resize(events.text_count());
  std::vector<bool> known(events.text_count());
  for (std::size_t row = 0; row < events.size(); ++row) {
    const std::uint32_t number = events.name_number(row);
    if (known[number]) continue;
    known[number] = true;
    by_name_[number] = event_role(events.text(number));
  }
}

std::string_view module_of(std::string_view name) {
  return name.starts_with(kModulePrefix) ? name.substr(kModulePrefix.size()) : name;
}

std::int64_t step_of(std::string_view name) {
  std::int64_t step = -1;
  if (name.starts_with(kStepPrefix))
    std::from_chars(name.data() + kStepPrefix.size(), name.data() + name.size(), step);
  return step;
}

}  // namespace nadi::inline traces
