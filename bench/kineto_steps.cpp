#include "kineto_steps.h"

#include <algorithm>

namespace nadi::bench {

namespace {

using Group = std::vector<OpTemplate>;

constexpr int kLayers = 12;

const std::vector<Group>& forward_groups() {
  static const std::vector<Group> groups{
      {{"aten::layer_norm", 0},
       {"aten::native_layer_norm", 1, Launch::kKernel},
       {"aten::empty", 2},
       {"aten::empty", 2},
       {"aten::view", 2}},
      {{"aten::to", 0},
       {"aten::_to_copy", 1},
       {"aten::empty_strided", 2},
       {"aten::copy_", 2, Launch::kKernel}},
      {{"aten::view", 0},
       {"aten::t", 0},
       {"aten::transpose", 1},
       {"aten::as_strided", 2},
       {"aten::addmm", 0, Launch::kKernel}},
      {{"aten::split", 0},
       {"aten::narrow", 1},
       {"aten::slice", 2},
       {"aten::as_strided", 3},
       {"aten::view", 0},
       {"aten::transpose", 0},
       {"aten::as_strided", 1}},
      {{"aten::scaled_dot_product_attention", 0},
       {"aten::_scaled_dot_product_cudnn_attention", 1, Launch::kDriverKernel},
       {"aten::empty", 2},
       {"aten::empty_like", 2},
       {"aten::transpose", 1},
       {"aten::as_strided", 2}},
      {{"aten::dropout", 0},
       {"aten::native_dropout", 1, Launch::kKernel},
       {"aten::empty_like", 2},
       {"aten::empty_strided", 3}},
      {{"aten::add", 0, Launch::kKernel}},
      {{"aten::pow", 0, Launch::kKernel}, {"aten::result_type", 1}, {"aten::to", 1}},
      {{"aten::mul", 0, Launch::kKernel}},
      {{"aten::tanh", 0, Launch::kKernel}},
  };
  return groups;
}

const std::vector<Group>& backward_groups() {
  static const std::vector<Group> groups{
      {{"autograd::engine::evaluate_function: AddBackward0", 0}, {"AddBackward0", 1}},
      {{"autograd::engine::evaluate_function: NativeDropoutBackward0", 0},
       {"NativeDropoutBackward0", 1},
       {"aten::native_dropout_backward", 2, Launch::kKernel},
       {"aten::empty_like", 3}},
      {{"autograd::engine::evaluate_function: AddmmBackward0", 0},
       {"AddmmBackward0", 1},
       {"aten::t", 2},
       {"aten::transpose", 3},
       {"aten::as_strided", 4},
       {"aten::mm", 2, Launch::kDriverKernel},
       {"aten::t", 2},
       {"aten::transpose", 3},
       {"aten::as_strided", 4},
       {"aten::mm", 2, Launch::kKernel},
       {"aten::sum", 1, Launch::kKernel},
       {"aten::as_strided", 2},
       {"aten::fill_", 2, Launch::kMemset}},
      {{"autograd::engine::evaluate_function: ToCopyBackward0", 0},
       {"ToCopyBackward0", 1},
       {"aten::to", 2},
       {"aten::_to_copy", 3},
       {"aten::empty_strided", 4},
       {"aten::copy_", 4, Launch::kKernel}},
      {{"autograd::engine::evaluate_function: TanhBackward0", 0},
       {"TanhBackward0", 1},
       {"aten::tanh_backward", 2, Launch::kKernel}},
      {{"autograd::engine::evaluate_function: ViewBackward0", 0},
       {"ViewBackward0", 1},
       {"aten::reshape", 2},
       {"aten::view", 3}},
      {{"autograd::engine::evaluate_function: ScaledDotProductCudnnAttentionBackward0", 0},
       {"ScaledDotProductCudnnAttentionBackward0", 1},
       {"aten::_scaled_dot_product_cudnn_attention_backward", 2, Launch::kDriverKernel},
       {"aten::empty_like", 3},
       {"aten::empty_like", 3}},
      {{"autograd::engine::evaluate_function: NativeLayerNormBackward0", 0},
       {"NativeLayerNormBackward0", 1},
       {"aten::native_layer_norm_backward", 2, Launch::kKernel},
       {"aten::empty", 3},
       {"aten::empty", 3}},
      {{"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 0},
       {"torch::autograd::AccumulateGrad", 1},
       {"aten::detach", 2},
       {"detach", 3},
       {"aten::copy_", 2, Launch::kMemcpy}},
  };
  return groups;
}

const Group kAllReduce{
    {"c10d::allreduce_", 0}, {"record_param_comms", 1}, {"nccl:all_reduce", 2, Launch::kAllReduce, true}};

const Group kOptimizer{
    {"aten::item", 0}, {"aten::_local_scalar_dense", 1}, {"aten::add_", 0, Launch::kKernel},
    {"aten::item", 0}, {"aten::_local_scalar_dense", 1}, {"aten::addcmul_", 0, Launch::kKernel}};

std::string_view call_of(Launch launch) {
  switch (launch) {
    case Launch::kNone:
      return "cudaStreamIsCapturing";
    case Launch::kKernel:
      return "cudaLaunchKernel";
    case Launch::kDriverKernel:
      return "cuLaunchKernelEx";
    case Launch::kMemset:
      return "cudaMemsetAsync";
    case Launch::kMemcpy:
      return "cudaMemcpyAsync";
    case Launch::kAllReduce:
      return "cudaLaunchKernelExC";
  }
  return {};
}

}  // namespace

std::int64_t KinetoSteps::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low));
}

// A call of CUDA's runtime without work on the GPU.
void KinetoSteps::call(std::string_view name, Cursor& cursor, std::int64_t end) {
  step_.device.push_back({.launch = Launch::kNone,
                          .call = name,
                          .kernel = 0,
                          .thread = cursor.thread,
                          .stream = 0,
                          .call_start = cursor.now,
                          .call_end = end,
                          .start = 0,
                          .end = 0,
                          .external_id = 0,
                          .correlation = ++correlation_});
  cursor.now = end;
}

void KinetoSteps::launch(const HostOp& op, Cursor& cursor) {
  const bool communication = op.op->launch == Launch::kAllReduce;
  if (communication) {
    call("cudaEventRecordWithFlags", cursor, cursor.now + between(1'500, 3'000));
    cursor.now += between(300, 900);
    call("cudaStreamWaitEvent", cursor, cursor.now + between(1'500, 3'000));
    cursor.now += between(300, 900);
    communication_free_ = std::max(communication_free_, compute_free_);
  }
  const std::int64_t call_start = cursor.now;
  const std::int64_t call_end = call_start + between(6'000, 16'000);
  std::int64_t& free = communication ? communication_free_ : compute_free_;
  const std::int64_t start = std::max(free + between(600, 1'400), call_start + between(7'000, 20'000));
  const std::int64_t length = communication ? between(200'000, 400'000) : between(900, 60'000);
  free = start + length;
  step_.device.push_back({.launch = op.op->launch,
                          .call = call_of(op.op->launch),
                          .kernel = static_cast<int>((random_() >> 20) % kKernels),
                          .thread = cursor.thread,
                          .stream = communication ? kCommunicationStream : kComputeStream,
                          .call_start = call_start,
                          .call_end = call_end,
                          .start = start,
                          .end = free,
                          .external_id = op.external_id,
                          .correlation = ++correlation_});
  cursor.now = call_end;
}

// Ops in pre-order: an op ends when the next one is not deeper.
void KinetoSteps::run_group(const Group& group, Cursor& cursor, int variant, bool differentiable) {
  std::array<std::size_t, 8> open{};  // row of the op at each depth
  int depth = -1;
  const std::uint64_t sequence = differentiable ? sequence_++ : 0;
  const auto close_down_to = [&](int level) {
    for (; depth >= level; --depth) {
      cursor.now += between(1'500, 6'000);
      step_.host[open[static_cast<std::size_t>(depth)]].end = cursor.now;
    }
  };
  for (const OpTemplate& op : group) {
    close_down_to(op.depth);
    cursor.now += between(3'000, 12'000);
    depth = op.depth;
    open[static_cast<std::size_t>(depth)] = step_.host.size();
    step_.host.push_back({.op = &op,
                          .variant = variant,
                          .thread = cursor.thread,
                          .start = cursor.now,
                          .end = 0,
                          .external_id = external_id_,
                          .record_function = external_id_ + 7,
                          .sequence = op.depth <= 1 ? sequence : 0,
                          .event_index = event_index_++});
    ++external_id_;
    cursor.now += between(2'000, 9'000);
    if (op.launch != Launch::kNone) launch(HostOp(step_.host.back()), cursor);
  }
  close_down_to(0);
}

const Step& KinetoSteps::next() {
  step_.number = steps_++;
  step_.host.clear();
  step_.device.clear();
  step_.start = now_;
  step_.external_id = external_id_++;
  step_.record_function = step_.external_id + 7;

  Cursor main{kMainThread, now_ + 20'000};
  const std::uint64_t first_sequence = sequence_;
  for (int layer = 0; layer < kLayers; ++layer)
    for (const Group& group : forward_groups()) run_group(group, main, layer % kVariants, true);
  const std::uint64_t last_sequence = sequence_;
  // Each backward op has the number of a forward op.
  sequence_ = first_sequence;
  Cursor autograd{kAutogradThread, main.now + 50'000};
  for (int layer = 0; layer < kLayers; ++layer) {
    for (const Group& group : backward_groups()) run_group(group, autograd, layer % kVariants, true);
    run_group(kAllReduce, autograd, layer % kVariants, false);
  }
  sequence_ = last_sequence;
  main.now = autograd.now + 30'000;
  for (int parameter = 0; parameter < 4 * kLayers; ++parameter)
    run_group(kOptimizer, main, parameter % kVariants, false);
  const std::int64_t done = std::max({main.now, compute_free_, communication_free_}) + 5'000;
  call("cudaDeviceSynchronize", main, done);
  step_.end = done + 10'000;
  now_ = step_.end + 40'000;
  return step_;
}

}  // namespace nadi::bench
