// Communication ops of a program on a GPU: hands them to a communicator, beside the computation, and tracks
// the memory that is in use until they are done (comm/op_transfers.h).
//
//   CommOps comm(groups, device, choice);         // on all ranks
//   comm.connect(program);                        // each program that will run, before memory is bound
//   comm.reserve(size, memory);                   // reserved_for() the largest transfer_staging() of all ops
//   comm.settle(address, size, /*writes=*/true, stream);  // before a kernel on `stream` touches that memory
//   comm.start(op, stream);                       // of a kernel with planned().communicates
//   ...
//   comm.settle_all(stream);                      // before the run ends, and before a capture ends
//
// Two ways. With NCCL, all calls enqueue work and return: they may be captured into a CUDA graph, together
// with the kernels around them. Where through_host(), the host takes part: start() waits for `stream`, and
// settle() for the other ranks, so that neither may be captured. The graph of a step is then cut where they
// come. Where that is follows from the program alone: while rehearsing, start() and settle() keep track of
// memory but do nothing, and settle() says whether there is something to do.
//
//   comm.rehearse(true);
//   for (kernel : kernels) {
//     if (settle the memory of its operands) cut, remember to settle here
//     if (kernel communicates) cut, comm.start(op, stream), remember to start here
//     else capture it
//   }
//   comm.settle_all(stream);
//   comm.rehearse(false);
//
// Calls come from one thread, on which the device is current.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "nadi/base/units.h"
#include "nadi/cuda/device_choice.h"
#include "nadi/cuda/kernel.h"

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe
namespace nadi::inline traces {
struct ExecutedStep;
}  // namespace nadi::inline traces

namespace nadi::inline engines {

class PlanGroups;
}  // namespace nadi::inline engines

namespace nadi::inline engines::cuda {

class CommOps {
 public:
  // Collective. nullptr: there are no other ranks, and start() is never called.
  CommOps(const PlanGroups* groups, Device& device, const DeviceChoice& choice);
  ~CommOps();
  CommOps(const CommOps&) = delete;
  CommOps& operator=(const CommOps&) = delete;

  bool connected() const;
  // Whether messages go through memory of the host: neither start() nor settle() can be captured.
  bool through_host() const;

  // Collective: all ranks, each with the program of its stage, in the same order. Makes what the messages of
  // the program need, so that nothing is made while it runs.
  void connect(const Program& program);
  // What that took, for the user; empty where there is nothing to say.
  std::string setup() const;

  // Ends what is under way, whatever the other ranks do: for a rank that fails.
  void abort();

  // Memory of the device that messages are packed into.
  void reserve(Bytes size, std::byte* memory);

  // Begins when `stream` has done what it was given so far. Inputs may be strided. With `record` and
  // through_host(), the record's last kernel gets its end when the op is done.
  void start(const OpCall& op, cudaStream_t stream, ExecutedStep* record = nullptr);

  bool idle() const;
  // What `stream` is given later comes after what uses this memory: after what writes it, and where the
  // caller writes also after what reads it. Returns whether there was such.
  bool settle(const std::byte* address, std::int64_t size, bool writes, cudaStream_t stream);
  // After everything. Returns whether there was something.
  bool settle_all(cudaStream_t stream);

  // While true, calls keep track of memory and do nothing else. Only when idle().
  void rehearse(bool on);

  // Handed to the communicator so far, as the graph counts it. Not counted: what was rehearsed or captured.
  // Who launches a captured graph counts what it sends.
  Bytes sent() const;
  void count_sent(Bytes bytes);
  static Bytes sent_by(const OpCall& op);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi::inline engines::cuda
