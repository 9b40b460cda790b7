// Optimizer steps, each one pass over its memory: parameter (or master), gradient and state are read once and
// written once. What the engine joined (fusing.h, kUpdates) comes as one long operand.
//
// Everything that changes from step to step is read on the device: the rate, the number of the update, the
// factor of gradients, and whether the step is skipped. One thread of a block folds it into a few fp32
// constants, in double precision, while the block's elements are on their way.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "nadi/cuda/common_head.h"
#include "nadi/cuda/device_code.cuh"
#include "nadi/cuda/integers.cuh"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/optimizer_workspace.h"
#include "nadi/graph/ops/adamw.h"
#include "nadi/graph/ops/sgd.h"
#include "nadi/graph/ops/sgd_sai.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTogether = CommonHead::kVector;         // elements of each operand that a thread has in flight
constexpr std::int64_t kGroup = kThreads * kTogether;  // elements of a block

__device__ float value_or(const float* scalar, float fallback) {
  return scalar == nullptr ? fallback : *scalar;
}

// base^exponent by squaring, exact enough for 1 - beta^t: what is lost with a large t is lost of a number
// near 0. A few multiplications, where pow() would take most of the time of a small tensor.
__device__ double power(double base, std::int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent % 2 != 0) result *= base;
  return result;
}

// To about 2^-22, which no step of an optimizer can tell from exact ones, in a fraction of the instructions.
__device__ float quick_root(float x) {
  float result;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// What a rule reads besides elements: fp32 scalars, nullptr where absent.
struct Scalars {
  const float* learning_rate;
  const float* grad_scale;
  const float* decay_factor;
};

// One Adam step with its constants folded:
//   g' = g * grad_scale + coupled_decay * p,   m = beta1 m + new1 g',   v = beta2 v + new2 g'^2
//   p -= rate * m / (sqrt(v * unbias2) + epsilon) + decay * p
struct AdamWRule {
  static constexpr int kStates = 2;
  Scalars scalars;
  Integers update_number;
  double beta1, beta2, epsilon, weight_decay;
  bool decoupled;

  struct Step {
    float grad_scale, coupled_decay, beta1, new1, beta2, new2, unbias2, epsilon, rate, decay;

    __device__ float apply(float p, float g, float (&states)[kStates]) const {
      const float scaled = g * grad_scale + coupled_decay * p;
      const float m = beta1 * states[0] + new1 * scaled;
      const float v = beta2 * states[1] + new2 * scaled * scaled;
      states[0] = m;
      states[1] = v;
      return p - (__fdividef(rate * m, quick_root(v * unbias2) + epsilon) + decay * p);
    }
  };

  __device__ Step step() const {
    const std::int64_t number = update_number[0];
    const double rate = *scalars.learning_rate;
    const double decay = weight_decay * value_or(scalars.decay_factor, 1);
    return {.grad_scale = value_or(scalars.grad_scale, 1),
            .coupled_decay = decoupled ? 0.0F : static_cast<float>(decay),
            .beta1 = static_cast<float>(beta1),
            .new1 = static_cast<float>(1 - beta1),
            .beta2 = static_cast<float>(beta2),
            .new2 = static_cast<float>(1 - beta2),
            .unbias2 = static_cast<float>(1 / (1 - power(beta2, number))),
            .epsilon = static_cast<float>(epsilon),
            .rate = static_cast<float>(rate / (1 - power(beta1, number))),
            .decay = decoupled ? static_cast<float>(rate * decay) : 0.0F};
  }
};

template <bool kMomentum>
struct SgdRule {
  static constexpr int kStates = kMomentum ? 1 : 0;
  Scalars scalars;
  float momentum;
  double weight_decay;

  struct Step {
    float grad_scale, decay, momentum, rate;

    __device__ float apply(float p, float g, float* states) const {
      float update = g * grad_scale + decay * p;
      if constexpr (kMomentum) update = states[0] = update + momentum * states[0];
      return p - rate * update;
    }
  };

  __device__ Step step() const {
    return {.grad_scale = value_or(scalars.grad_scale, 1),
            .decay = static_cast<float>(weight_decay * value_or(scalars.decay_factor, 1)),
            .momentum = momentum,
            .rate = *scalars.learning_rate};
  }
};

template <bool kMomentum>
struct SgdSaiRule {
  static constexpr int kStates = kMomentum ? 1 : 0;
  Scalars scalars;
  const float* lr_scale;  // the one after it was taken
  double momentum, weight_decay;

  struct Step {
    float old_part, new_part, remaining, rate;

    __device__ float apply(float p, float g, float* states) const {
      float now = new_part * g;
      if constexpr (kMomentum) now = states[0] = old_part * states[0] + now;
      return remaining * p - rate * now;
    }
  };

  __device__ Step step() const {
    const double rate = *scalars.learning_rate;
    const double decay = weight_decay * value_or(scalars.decay_factor, 1);
    const float grad_scale = value_or(scalars.grad_scale, 1);
    return {.old_part = static_cast<float>(momentum),
            .new_part = kMomentum ? static_cast<float>(1 - momentum) * grad_scale : grad_scale,
            .remaining = static_cast<float>(1 - rate * decay),
            .rate = static_cast<float>(rate * *lr_scale)};
  }
};

// Inputs and outputs are mostly the same memory.
template <class P, int kStates>
struct UpdateOperands {
  static constexpr int kArrays = kStates > 0 ? kStates : 1;
  const P* parameter;
  const float* master;  // nullptr means the parameter itself is what is kept
  const void* gradient;
  DType gradient_type;
  const float* states[kArrays];
  P* new_parameter;
  float* new_master;
  float* new_states[kArrays];
  const float* found_inf;
  std::int64_t elements;
  std::int64_t head;  // elements before the first that all operands have at a round address, or kNoHead
};

// Which elements a thread has at once: kTogether side by side, kTogether that are kThreads apart, or one.
enum class Access { kVector, kApart, kSingle };

template <Access kAccess>
inline constexpr int kElements = kAccess == Access::kSingle ? 1 : kTogether;

template <Access kAccess, class T>
__device__ void load_some(const T* from, std::int64_t i, float (&into)[kElements<kAccess>]) {
  constexpr int N = kElements<kAccess>;
  if constexpr (kAccess == Access::kApart) {
#pragma unroll
    for (int k = 0; k < N; ++k) into[k] = to_float(from[i + k * kThreads]);
  } else {
    const auto values = load_vector<T, N>(from + i);
#pragma unroll
    for (int k = 0; k < N; ++k) into[k] = values.at(k);
  }
}
template <Access kAccess, class T>
__device__ void store_some(T* to, std::int64_t i, const float (&from)[kElements<kAccess>]) {
  constexpr int N = kElements<kAccess>;
  if constexpr (kAccess == Access::kApart) {
#pragma unroll
    for (int k = 0; k < N; ++k) to[i + k * kThreads] = from_float<T>(from[k]);
  } else {
    Vector<T, N> values;
#pragma unroll
    for (int k = 0; k < N; ++k) values.set(k, from[k]);
    if constexpr (N == 1) {
      to[i] = values.elements[0];
    } else {
      // By name: from an assignment the compiler makes a store per element.
      using Word = std::conditional_t<sizeof(values) == sizeof(uint4), uint4, uint2>;
      Word word;
      memcpy(&word, &values, sizeof(word));
      __stwb(reinterpret_cast<Word*>(to + i), word);
    }
  }
}

// The elements of one thread.
template <Access kAccess, class P, int kStates>
struct Elements {
  static constexpr int N = kElements<kAccess>;
  float gradient[N], kept[N], states[kStates > 0 ? kStates : 1][N];

  __device__ Elements(const UpdateOperands<P, kStates>& o, std::int64_t i) {
    if (o.gradient_type == DType::kF32)
      load_some<kAccess>(static_cast<const float*>(o.gradient), i, gradient);
    else if (o.gradient_type == DType::kBF16)
      load_some<kAccess>(static_cast<const __nv_bfloat16*>(o.gradient), i, gradient);
    else
      load_some<kAccess>(static_cast<const __half*>(o.gradient), i, gradient);
    if (o.master != nullptr)
      load_some<kAccess>(o.master, i, kept);
    else
      load_some<kAccess>(o.parameter, i, kept);
#pragma unroll
    for (int s = 0; s < kStates; ++s) load_some<kAccess>(o.states[s], i, states[s]);
  }

  template <class Step>
  __device__ void update(const Step& step) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      float own[kStates > 0 ? kStates : 1];
#pragma unroll
      for (int s = 0; s < kStates; ++s) own[s] = states[s][k];
      kept[k] = step.apply(kept[k], gradient[k], own);
#pragma unroll
      for (int s = 0; s < kStates; ++s) states[s][k] = own[s];
    }
  }

  __device__ void store(const UpdateOperands<P, kStates>& o, std::int64_t i) const {
    store_some<kAccess>(o.new_parameter, i, kept);
    if (o.master != nullptr) store_some<kAccess>(o.new_master, i, kept);
#pragma unroll
    for (int s = 0; s < kStates; ++s) store_some<kAccess>(o.new_states[s], i, states[s]);
  }
};

// Where nothing changes.
template <class T>
__device__ void keep(const T* from, T* to, std::int64_t elements) {
  if (from == to) return;
  const std::int64_t threads = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements; i += threads)
    to[i] = from[i];
}

// The constants of the step. All threads of a block together.
template <class Rule>
__device__ typename Rule::Step shared_step(const Rule& rule) {
  __shared__ typename Rule::Step step;
  if (threadIdx.x == 0) step = rule.step();
  __syncthreads();
  return step;
}

template <Access kAccess, class P, class Rule>
__device__ void update_group(const UpdateOperands<P, Rule::kStates>& o, const Rule& rule, std::int64_t i) {
  Elements<kAccess, P, Rule::kStates> elements(o, i);
  elements.update(shared_step(rule));
  elements.store(o, i);
}

// A block per group, and one for the elements before the first group and behind the last. Blocks that go
// round all groups take 5% longer.
template <class P, class Rule>
__global__ void __launch_bounds__(kThreads, 5)
    update_elements(const UpdateOperands<P, Rule::kStates> o, const Rule rule, std::int64_t groups) {
  // Before anything is loaded: a step that is skipped reads nothing.
  if (value_or(o.found_inf, 0) != 0) {
    keep(o.parameter, o.new_parameter, o.elements);
    if (o.master != nullptr) keep(o.master, o.new_master, o.elements);
#pragma unroll
    for (int s = 0; s < Rule::kStates; ++s) keep(o.states[s], o.new_states[s], o.elements);
    return;
  }
  const std::int64_t first = o.head == kNoHead ? 0 : o.head, start = first + blockIdx.x * kGroup;
  if (blockIdx.x == groups) {
    const typename Rule::Step step = shared_step(rule);
    for (std::int64_t i = threadIdx.x; i < o.elements - groups * kGroup; i += kThreads) {
      const std::int64_t place = i < first ? i : i + groups * kGroup;
      Elements<Access::kSingle, P, Rule::kStates> element(o, place);
      element.update(step);
      element.store(o, place);
    }
  } else if (o.head == kNoHead) {
    update_group<Access::kApart>(o, rule, start + threadIdx.x);
  } else {
    update_group<Access::kVector>(o, rule, start + threadIdx.x * kTogether);
  }
}

// Which inputs and outputs of an op are what.
struct UpdatePlaces {
  std::size_t gradient, master, found_inf;
  std::size_t states[2] = {};      // inputs
  std::size_t new_states[2] = {};  // outputs
  std::size_t new_master;
};

template <class Rule>
void launch_update(const KernelCall& call, const UpdatePlaces& places, const Rule& rule) {
  const OpCall& op = call.op();
  with_type(op.dtype(0), [&](auto tag) {
    using P = typename decltype(tag)::type;
    UpdateOperands<P, Rule::kStates> o{};
    o.parameter = op.in<P>(0);
    o.new_parameter = op.out<P>(0);
    o.gradient = op.inputs[places.gradient].data;
    o.gradient_type = op.dtype(places.gradient);
    o.found_inf = op.in<float>(places.found_inf);
    o.elements = op.inputs[0].elements();
    CommonHead head;
    head.add(o.parameter, sizeof(P));
    head.add(o.new_parameter, sizeof(P));
    head.add(o.gradient, size_of(o.gradient_type));
    if (op.has(places.master)) {
      o.master = op.in<float>(places.master);
      o.new_master = op.out<float>(places.new_master);
      head.add(o.master, sizeof(float));
      head.add(o.new_master, sizeof(float));
    }
    for (int s = 0; s < Rule::kStates; ++s) {
      o.states[s] = op.in<float>(places.states[s]);
      o.new_states[s] = op.out<float>(places.new_states[s]);
      head.add(o.states[s], sizeof(float));
      head.add(o.new_states[s], sizeof(float));
    }
    o.head = head.of(o.elements);
    if (o.elements == 0) return;
    const std::int64_t groups = (o.elements - std::max<std::int64_t>(o.head, 0)) / kGroup;
    const auto blocks = static_cast<unsigned>(groups + (groups * kGroup < o.elements ? 1 : 0));
    update_elements<P, Rule><<<blocks, kThreads, 0, call.stream>>>(o, rule, groups);
    check_launch(call);
  });
}

// --- The scale of SGD-SaI's learning rate

// Sums of g^2, and of d = g - g[0] and d^2: the squared deviations are sum d^2 - (sum d)^2 / n, which is 0 when
// all elements are equal.
struct GradientSums {
  double squares = 0, shifted = 0, shifted_squares = 0;
};

__device__ double block_sum(double x, double* scratch) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(kWholeWarp, x, offset);
  __syncthreads();
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = x;
  __syncthreads();
  double sum = 0;
  for (int warp = 0; warp < kThreads / kWarp; ++warp) sum += scratch[warp];
  return sum;
}

__device__ bool takes_scale(const float* lr_scale, const float* found_inf) {
  return *lr_scale == 0 && value_or(found_inf, 0) == 0;
}

__global__ void __launch_bounds__(kThreads)
    sum_gradient(const void* gradient, DType dtype, std::int64_t elements, const float* lr_scale,
                 const float* found_inf, GradientSums* sums) {
  if (!takes_scale(lr_scale, found_inf)) return;
  __shared__ double scratch[kThreads / kWarp];
  const double shift = load_as_float(gradient, dtype, 0);
  GradientSums own;
  const std::int64_t threads = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements; i += threads) {
    const double g = load_as_float(gradient, dtype, i), d = g - shift;
    own.squares += g * g;
    own.shifted += d;
    own.shifted_squares += d * d;
  }
  const GradientSums all{block_sum(own.squares, scratch), block_sum(own.shifted, scratch),
                         block_sum(own.shifted_squares, scratch)};
  if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

__global__ void __launch_bounds__(kThreads)
    take_lr_scale(const GradientSums* sums, int count, std::int64_t elements, const float* lr_scale,
                  const float* grad_scale, const float* found_inf, float* new_lr_scale) {
  if (!takes_scale(lr_scale, found_inf)) {
    if (threadIdx.x == 0) *new_lr_scale = *lr_scale;
    return;
  }
  __shared__ double scratch[kThreads / kWarp];
  GradientSums own;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    own.squares += sums[i].squares;
    own.shifted += sums[i].shifted;
    own.shifted_squares += sums[i].shifted_squares;
  }
  const double squares = block_sum(own.squares, scratch), shifted = block_sum(own.shifted, scratch);
  const double shifted_squares = block_sum(own.shifted_squares, scratch);
  if (threadIdx.x != 0) return;
  const auto n = static_cast<double>(elements);
  double deviations = shifted_squares - shifted * shifted / n;
  if (deviations < 0) deviations = 0;  // NaN stays: a gradient that is no number must not look like one
  const double scale = fabs(static_cast<double>(value_or(grad_scale, 1)));
  const double deviation = sqrt(deviations / (n - 1)) * scale;
  *new_lr_scale =
      elements == 1 ? 1.0F : static_cast<float>(sqrt(squares) * scale / (deviation + kSgdSaiEpsilon));
}

}  // namespace

void adamw_kernel(const KernelCall& call) {
  using namespace adamw_input;
  const OpCall& op = call.op();
  const Attributes& attributes = op.attributes();
  launch_update(call,
                {.gradient = kGradient,
                 .master = kMaster,
                 .found_inf = kFoundInf,
                 .states = {kM, kV},
                 .new_states = {1, 2},
                 .new_master = 3},
                AdamWRule{.scalars = {.learning_rate = op.in<float>(kLearningRate),
                                      .grad_scale = op.in<float>(kGradScale),
                                      .decay_factor = op.in<float>(kDecayFactor)},
                          .update_number = integers_of(op, kUpdateNumber),
                          .beta1 = attributes.real("beta1"),
                          .beta2 = attributes.real("beta2"),
                          .epsilon = attributes.real("epsilon"),
                          .weight_decay = attributes.real("weight_decay"),
                          .decoupled = attributes.boolean("decoupled")});
}

void sgd_kernel(const KernelCall& call) {
  using namespace sgd_input;
  const OpCall& op = call.op();
  const auto launch = [&]<bool kHasMomentum>() {
    launch_update(call,
                  {.gradient = kGradient,
                   .master = kMaster,
                   .found_inf = kFoundInf,
                   .states = {kMomentum},
                   .new_states = {1},
                   .new_master = kHasMomentum ? std::size_t{2} : std::size_t{1}},
                  SgdRule<kHasMomentum>{.scalars = {.learning_rate = op.in<float>(kLearningRate),
                                                    .grad_scale = op.in<float>(kGradScale),
                                                    .decay_factor = op.in<float>(kDecayFactor)},
                                        .momentum = static_cast<float>(op.attributes().real("momentum")),
                                        .weight_decay = op.attributes().real("weight_decay")});
  };
  if (op.has(kMomentum))
    launch.template operator()<true>();
  else
    launch.template operator()<false>();
}

void sgd_sai_kernel(const KernelCall& call) {
  using namespace sgd_sai_input;
  const OpCall& op = call.op();
  const auto* lr_scale = op.in<float>(kLrScale);
  const auto* found_inf = op.in<float>(kFoundInf);
  const std::int64_t elements = op.inputs[kGradient].elements();
  auto* sums = reinterpret_cast<GradientSums*>(call.workspace.data());
  const int blocks = gradient_sums_blocks(call.device.traits());
  sum_gradient<<<blocks, kThreads, 0, call.stream>>>(op.inputs[kGradient].data, op.dtype(kGradient), elements,
                                                     lr_scale, found_inf, sums);
  take_lr_scale<<<1, kThreads, 0, call.stream>>>(sums, blocks, elements, lr_scale, op.in<float>(kGradScale),
                                                 found_inf, op.out<float>(1));
  const auto launch = [&]<bool kHasMomentum>() {
    launch_update(call,
                  {.gradient = kGradient,
                   .master = kMaster,
                   .found_inf = kFoundInf,
                   .states = {kMomentum},
                   .new_states = {2},
                   .new_master = kHasMomentum ? std::size_t{3} : std::size_t{2}},
                  SgdSaiRule<kHasMomentum>{.scalars = {.learning_rate = op.in<float>(kLearningRate),
                                                       .grad_scale = op.in<float>(kGradScale),
                                                       .decay_factor = op.in<float>(kDecayFactor)},
                                           .lr_scale = op.out<float>(1),
                                           .momentum = op.attributes().real("momentum"),
                                           .weight_decay = op.attributes().real("weight_decay")});
  };
  if (op.has(kMomentum))
    launch.template operator()<true>();
  else
    launch.template operator()<false>();
}

}  // namespace nadi::inline engines::cuda
