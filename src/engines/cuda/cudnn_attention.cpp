#include "nadi/cuda/cudnn_attention.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cuda/attention_operands.h"
#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/cudnn_attention_graph.h"
#include "nadi/cuda/cudnn_attention_workspace.h"
#include "nadi/cuda/device_wait.h"
#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {
namespace {

// Up to this version the gradient is right for other numbers of keys only when it is told the lengths.
constexpr std::size_t kWantsLengthsOfOddKeys = 91500;
constexpr std::int64_t kKeyTile = 128;

TokenStrides strides_of(const HeadRows& rows) {
  return {.sequence = rows.batch_stride, .token = rows.token_stride};
}

// Heads one after the other, and addresses that cuDNN takes.
bool fits(const HeadRows& rows, std::int64_t head_width) {
  return rows.aligned(head_width) && rows.head_stride == head_width;
}

CudnnAttentionProblem problem_of(const AttentionOperands& in, const HeadRows& y) {
  const AttentionExtents& e = in.extents;
  CudnnAttentionProblem problem{.B = e.B, .T = e.T, .S = e.S, .H = e.H, .K = e.K, .D = e.D};
  problem.type = in.q.dtype == DType::kBF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
  problem.scale = in.scale;
  problem.causal = in.causal;
  problem.lengths = in.lengths != nullptr;
  problem.q = strides_of(in.q);
  problem.k = strides_of(in.k);
  problem.v = strides_of(in.v);
  problem.y = strides_of(y);
  return problem;
}

bool under_capture(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

// In memory of the device: B times T, then B times S. For cuDNN every sequence has all queries, whatever the
// number of its keys.
class TokenCounts {
 public:
  TokenCounts(const CudnnAttentionProblem& problem, cudaStream_t stream) : sequences_(problem.B) {
    std::vector<std::int32_t> counts(static_cast<std::size_t>(2 * sequences_));
    const auto keys = counts.begin() + sequences_;
    std::fill(counts.begin(), keys, static_cast<std::int32_t>(problem.T));
    std::fill(keys, counts.end(), static_cast<std::int32_t>(problem.S));
    const std::size_t bytes = counts.size() * sizeof(std::int32_t);
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), bytes), "cudaMalloc");
    check_cuda(cudaMemcpyAsync(data_, counts.data(), bytes, cudaMemcpyHostToDevice, stream),
               "cudaMemcpyAsync");
    wait_for(stream);
  }
  ~TokenCounts() { cudaFree(data_); }
  TokenCounts(const TokenCounts&) = delete;
  TokenCounts& operator=(const TokenCounts&) = delete;

  const std::int32_t* queries() const { return data_; }
  const std::int32_t* keys() const { return data_ + sequences_; }

 private:
  std::int64_t sequences_;
  std::int32_t* data_ = nullptr;
};

// The addresses of a plan's tensors.
class Bindings {
 public:
  void add(std::int64_t id, const void* address) {
    if (id != 0) bindings_.push_back({id, address});
  }
  std::span<const CudnnBinding> get() const { return bindings_; }

 private:
  std::vector<CudnnBinding> bindings_;
};

}  // namespace

class CudnnAttention::State {
 public:
  explicit State(const CudnnLibrary& cudnn) : cudnn_(cudnn) {}
  ~State() {
    plans_.clear();
    if (handle_ != nullptr) cudnn_.destroy(handle_);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  struct Entry {
    CudnnAttentionProblem problem = {};
    std::optional<CudnnAttentionPlan> plan = {};  // none means cuDNN refused it
    std::optional<TokenCounts> counts = {};       // where lengths are asked for
  };

  bool wants_lengths_of_odd_keys() const { return cudnn_.version <= kWantsLengthsOfOddKeys; }

  // nullptr means cuDNN has no plan for it.
  const Entry* plan(const CudnnAttentionProblem& problem, std::int64_t workspace, cudaStream_t stream) {
    for (const Entry& entry : plans_)
      if (entry.problem == problem) return entry.plan ? &entry : nullptr;
    check(!under_capture(stream), "a problem of attention comes first when it is captured");
    Entry& entry = plans_.emplace_back();
    entry.problem = problem;
    try {
      entry.plan = plan_attention(cudnn_, handle(), problem, workspace);
    } catch (const CudnnRefusal&) {
      return nullptr;  // the own kernels compute it
    }
    if (problem.lengths) entry.counts.emplace(problem, stream);
    return &entry;
  }

  // What forward and backward pass read.
  static Bindings inputs(const Entry& entry, const AttentionOperands& in) {
    const CudnnAttentionPlan::Ids& ids = entry.plan->ids;
    Bindings bindings;
    bindings.add(ids.q, in.q.data);
    bindings.add(ids.k, in.k.data);
    bindings.add(ids.v, in.v.data);
    if (entry.counts) {
      bindings.add(ids.query_lengths, entry.counts->queries());
      bindings.add(ids.key_lengths, in.lengths != nullptr ? in.lengths : entry.counts->keys());
    }
    return bindings;
  }

  void run(const Entry& entry, const Bindings& bindings, std::byte* workspace, cudaStream_t stream) {
    if (stream != stream_ || !has_stream_) {
      cudnn_.set_stream(handle_, stream);
      stream_ = stream;
      has_stream_ = true;
    }
    try {
      entry.plan->plan.run(handle_, bindings.get(), workspace);
    } catch (const CudnnRefusal& refusal) {
      throw environment_error(format("cuDNN {} did not run attention: {}", cudnn_.version, refusal.what()),
                              "install another version of cuDNN");
    }
  }

 private:
  cudnnHandle_t handle() {
    if (handle_ != nullptr) return handle_;
    const cudnnStatus_t status = cudnn_.create(&handle_);
    if (status != CUDNN_STATUS_SUCCESS)
      throw CudnnRefusal(format("{}: {}", cudnn_.error_string(status), cudnn_.last_error()));
    return handle_;
  }

  const CudnnLibrary& cudnn_;
  cudnnHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  bool has_stream_ = false;
  std::deque<Entry> plans_;
};

CudnnAttention::CudnnAttention(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudnnAttention::~CudnnAttention() = default;

std::unique_ptr<CudnnAttention> CudnnAttention::open(const Device& device) {
  const CudnnLibrary* cudnn = CudnnLibrary::find();
  if (cudnn == nullptr) return nullptr;
  device.make_current();
  return std::unique_ptr<CudnnAttention>(new CudnnAttention(std::make_unique<State>(*cudnn)));
}

bool CudnnAttention::run_forward(const KernelCall& call) {
  const OpView& op = call.op().op;
  if (!cudnn_takes_attention(op, call.device.traits())) return false;
  const AttentionForward forward = attention_forward_operands(call.op());
  const AttentionOperands& in = forward.in;
  for (const HeadRows& rows : {in.q, in.k, in.v, forward.y})
    if (!fits(rows, in.extents.D)) return false;

  CudnnAttentionProblem problem = problem_of(in, forward.y);
  problem.statistics = forward.statistics != nullptr;
  const auto workspace = static_cast<std::int64_t>(call.workspace.size());
  const State::Entry* entry = state_->plan(problem, workspace, call.stream);
  if (entry == nullptr) return false;
  const CudnnAttentionPlan::Ids& ids = entry->plan->ids;
  Bindings bindings = State::inputs(*entry, in);
  bindings.add(ids.y, forward.y.data);
  bindings.add(ids.statistics, forward.statistics);
  state_->run(*entry, bindings, call.workspace.data(), call.stream);
  return true;
}

bool CudnnAttention::run_gradient(const KernelCall& call) {
  const OpView& op = call.op().op;
  const DeviceTraits& traits = call.device.traits();
  if (!cudnn_takes_attention(op, traits)) return false;
  const AttentionGradient gradient = attention_gradient_operands(call.op());
  const AttentionOperands& in = gradient.in;
  for (const HeadRows& rows :
       {in.q, in.k, in.v, gradient.y, gradient.dy, gradient.dq, gradient.dk, gradient.dv})
    if (!fits(rows, in.extents.D)) return false;
  const CudnnGradientScratch scratch = cudnn_gradient_scratch(op, traits);
  if (static_cast<std::int64_t>(call.workspace.size()) < scratch.bytes()) return false;

  CudnnAttentionProblem problem = problem_of(in, gradient.y);
  problem.gradient = true;
  problem.deterministic = traits.math.deterministic;
  if (in.extents.S % kKeyTile != 0 && state_->wants_lengths_of_odd_keys()) problem.lengths = true;
  problem.dy = strides_of(gradient.dy);
  problem.dq = strides_of(gradient.dq);
  problem.dk = strides_of(gradient.dk);
  problem.dv = strides_of(gradient.dv);
  const State::Entry* entry = state_->plan(problem, scratch.plan, call.stream);
  if (entry == nullptr) return false;
  std::byte* const y_dot_dy = call.workspace.data();
  std::byte* const dq_sums = y_dot_dy + scratch.y_dot_dy;
  const CudnnAttentionPlan::Ids& ids = entry->plan->ids;
  Bindings bindings = State::inputs(*entry, in);
  bindings.add(ids.y, gradient.y.data);
  bindings.add(ids.statistics, gradient.statistics);
  bindings.add(ids.dy, gradient.dy.data);
  bindings.add(ids.dq, gradient.dq.data);
  bindings.add(ids.dk, gradient.dk.data);
  bindings.add(ids.dv, gradient.dv.data);
  bindings.add(ids.y_dot_dy, y_dot_dy);
  bindings.add(ids.dq_sums, dq_sums);
  state_->run(*entry, bindings, dq_sums + scratch.dq_sums, call.stream);
  return true;
}

}  // namespace nadi::inline engines::cuda
