// What ran on the GPU, kernel by kernel, as CUPTI reports it: attached to the process only while steps are
// recorded, since CUPTI slows everything down that it watches.
//
//   if (const std::string reason = KernelActivity::why_not(); !reason.empty()) ...  // "libcupti.so.13: ..."
//   {
//     KernelActivity activity(device.number());        // attaches
//     cudaStreamBeginCapture(...);                     // a graph that was made before is not watched:
//     for (std::uint32_t call = 0; ...; ++call) {      // capture anew, instantiate anew
//       activity.enter(call);
//       kernel(...);                                   // enqueues any number of kernels, copies and memsets
//       activity.leave();
//     }
//     cudaGraphInstantiate(...);
//     for each step that is recorded:
//       step.reserve(...); step.enter(...) for each call, in the same order; step.start = now;
//       activity.begin_step();
//       cudaGraphLaunch(...);
//       cudaStreamSynchronize(...);
//       activity.end_step(step, first_kernel);         // times of its kernels, device work, launches
//   }                                                  // detaches: instantiate the graph anew
//
// Calls are numbered as they follow one another in a run, from 0: call n is what step.kernels[first_kernel +
// n] did. Work that is enqueued without a graph is attributed likewise; graphs and single kernels may be
// mixed, and a run may have several graphs. Whoever enqueues must be the thread that calls enter().
//
// How work in a graph is attributed: CUPTI calls back when a node is made, which happens while the call is
// captured, and when instantiation clones it; what ran carries the number of the clone.
//
// One at a time per process, and none while another profiler (nsys, ncu) is attached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace nadi::inline traces {
struct ExecutedStep;
}  // namespace nadi::inline traces

namespace nadi::inline engines {

namespace cuda {

class KernelActivity {
 public:
  // Why CUPTI cannot be used, in one sentence; empty where it can. Attaches nothing.
  static std::string why_not();

  // Error (environment) where why_not() has a reason, or where another profiler is attached.
  explicit KernelActivity(int device);
  // All work must be done.
  ~KernelActivity();
  KernelActivity(const KernelActivity&) = delete;
  KernelActivity& operator=(const KernelActivity&) = delete;

  void enter(std::uint32_t call);
  void leave();

  // Forgets what ran before. The device must be idle.
  void begin_step();
  // When all work of the run is done: gives step.kernels, from number `first_kernel` on, their times, and
  // adds step.device_work and step.launches. Kernels that did nothing on the GPU get the time at which the
  // one before them on their stream was done, unless they have an end. Kernels of one stream that overlapped
  // (the GPU starts one while the one before drains) are shown one after the other.
  void end_step(ExecutedStep& step, std::size_t first_kernel = 0);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace cuda
}  // namespace nadi::inline engines
