#include "nadi/cuda/captured_run.h"

#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/device_wait.h"
#include "nadi/cuda/graph_fills.h"

namespace nadi::inline engines::cuda {

CapturedRun::~CapturedRun() {
  if (capturing_) {  // an error came in between
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(stream_, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  for (const Action& action : actions_)
    if (action.graph != nullptr) cudaGraphExecDestroy(action.graph);
}

void CapturedRun::begin_kernel() {
  if (capturing_) return;
  // Relaxed: libraries may ask the driver for things that a captured stream would not allow.
  check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  capturing_ = true;
}

void CapturedRun::end_kernel(bool may_cut) {
  if (++kernels_ >= most_ && may_cut) cut();
}

void CapturedRun::cut() {
  if (!capturing_) return;
  cudaGraph_t graph = nullptr;
  capturing_ = false;
  kernels_ = 0;
  check_cuda(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  fills_as_kernels(graph);
  cudaGraphExec_t executable = nullptr;
  const cudaError_t result = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check_cuda(result, "cudaGraphInstantiate");
  actions_.push_back({.kind = Kind::kLaunch, .graph = executable});
  check_cuda(cudaGraphUpload(executable, stream_), "cudaGraphUpload");
}

void CapturedRun::settle(std::byte* address, std::int64_t size, bool writes) {
  cut();
  actions_.push_back({.kind = Kind::kSettle, .address = address, .size = size, .writes = writes});
}

void CapturedRun::start(const OpCall& op) {
  cut();
  actions_.push_back(
      {.kind = Kind::kStart,
       .op = std::make_unique<StoredCall>(StoredCall{.op = op.op,
                                                     .inputs = {op.inputs.begin(), op.inputs.end()},
                                                     .outputs = {op.outputs.begin(), op.outputs.end()}})});
}

void CapturedRun::settle_all() {
  cut();
  actions_.push_back({.kind = Kind::kSettleAll});
}

void CapturedRun::finish() {
  cut();
}

void CapturedRun::launch(CommOps& comm) const {
  for (const Action& action : actions_) {
    switch (action.kind) {
      case Kind::kLaunch: {
        const GivesWork giving;
        check_cuda(cudaGraphLaunch(action.graph, stream_), "cudaGraphLaunch");
        break;
      }
      case Kind::kSettle:
        comm.settle(action.address, action.size, action.writes, stream_);
        break;
      case Kind::kStart:
        comm.start({.op = action.op->op, .inputs = action.op->inputs, .outputs = action.op->outputs},
                   stream_);
        break;
      case Kind::kSettleAll:
        comm.settle_all(stream_);
        break;
    }
  }
  comm.count_sent(sent_);
}

}  // namespace nadi::inline engines::cuda
