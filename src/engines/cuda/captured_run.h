// What a run of a program has enqueued, to be done again: pieces of the step as CUDA graphs, and between them
// what the host takes part in, where messages go through its memory.
//
//   CapturedRun run(stream);
//   run.begin_kernel();      // from here on the stream is captured
//   ...                      // enqueue the kernel
//   run.end_kernel(true);
//   run.settle(...); run.start(...);                   // end the piece: the host does these between pieces
//   run.finish();
//   run.launch(comm);        // any number of times
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/cuda/comm_ops.h"
#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

class CapturedRun {
 public:
  // A graph has at most that many kernels, where it can be cut. Larger ones take long to be made, and bring
  // nothing.
  static constexpr std::size_t kKernelsPerGraph = 8000;
  explicit CapturedRun(cudaStream_t stream, std::size_t kernels_per_graph = kKernelsPerGraph)
      : stream_(stream), most_(kernels_per_graph) {}
  ~CapturedRun();
  CapturedRun(const CapturedRun&) = delete;
  CapturedRun& operator=(const CapturedRun&) = delete;

  void begin_kernel();
  // May end the piece, unless something that was begun on another stream is still to come back.
  void end_kernel(bool may_cut);
  // Between pieces, on the host.
  void settle(std::byte* address, std::int64_t size, bool writes);
  void start(const OpCall& op);
  void settle_all();
  // What the messages within graphs send each time.
  void add_sent(Bytes bytes) { sent_ += bytes; }
  void finish();

  void launch(CommOps& comm) const;

  // A call of a kernel, for records.
  struct Call {
    std::uint32_t instruction;
    std::uint32_t first_op;
    std::uint32_t end_op;
    std::size_t graph;
    bool communicates;
  };
  std::vector<Call> calls;

 private:
  enum class Kind : std::uint8_t { kLaunch, kSettle, kStart, kSettleAll };
  struct StoredCall {
    OpView op;
    std::vector<Operand> inputs;
    std::vector<Operand> outputs;
  };
  struct Action {
    Kind kind = Kind::kLaunch;
    cudaGraphExec_t graph = nullptr;  // kLaunch
    std::byte* address = nullptr;     // kSettle
    std::int64_t size = 0;
    bool writes = false;
    std::unique_ptr<StoredCall> op = {};  // kStart
  };
  void cut();

  cudaStream_t stream_;
  std::size_t most_;
  bool capturing_ = false;
  std::size_t kernels_ = 0;  // of the piece that is captured
  std::vector<Action> actions_;
  Bytes sent_;
};

}  // namespace nadi::inline engines::cuda
