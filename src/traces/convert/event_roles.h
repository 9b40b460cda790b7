// What an event of a profile means to its conversion, told by its name. Names repeat, so each is looked at
// once.
//
//   EventRoles roles(kineto.events);
//   if (roles.of(row) == EventRole::kStreamWait) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "nadi/trace/trace.h"

namespace nadi::inline traces {

enum class EventRole : std::uint8_t {
  kPlain,
  // Calls of the runtime or driver in which the host waits for the device.
  kDeviceSync,  // for all of it: cudaDeviceSynchronize, cuCtxSynchronize
  kStreamSync,  // for a stream: cudaStreamSynchronize
  kEventSync,   // for an event: cudaEventSynchronize
  // A stream is told to wait for an event: cudaStreamWaitEvent.
  kStreamWait,
  kCopyCall,  // cudaMemcpyAsync and its like: one copy, which the call may wait for
  // What encloses the ops of a phase.
  kForward,
  kBackward,   // autograd::engine::evaluate_function: ...
  kOptimizer,  // Optimizer.step#..., Optimizer.zero_grad#...
  kModule,     // nn.Module: Linear_0
  kStep,       // ProfilerStep#12
  // Communication.
  kCommunicationRecord,  // record_param_comms
  kDeviceCommunication,  // nccl:all_reduce: the annotation of a backend that runs on the device
  kHostCommunication,    // gloo:all_reduce, mpi:all_reduce, ...: of one that runs on the host
  kCommunicationKernel,  // ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)
};

EventRole event_role(std::string_view name);

class EventRoles {
 public:
  explicit EventRoles(const Trace& events);  // which must outlive this

  EventRole of(std::size_t row) const { return by_name_[events_->name_number(row)]; }

 private:
  const Trace* events_;
  std::vector<EventRole> by_name_;  // by number of text
};

// "nn.Module: Linear_0" -> "Linear_0".
std::string_view module_of(std::string_view name);
// "ProfilerStep#12" -> 12; -1 where there is no number.
std::int64_t step_of(std::string_view name);

}  // namespace nadi::inline traces
