// GELU and the gated activation of Llama: element-wise, one pass over memory.
#include "nadi/cpu/activation.h"

#include "nadi/base/error.h"
#include "nadi/cpu/blocks.h"
#include "nadi/cpu/vector_math.h"

namespace nadi::inline engines::cpu {
namespace {

struct Identity {
  static float value(float x) { return x; }
  static float slope(float) { return 1.0F; }
};

// With u = sqrt(2 / pi) (x + kCubic x^3), (1 + tanh u) / 2 is the sigmoid of 2 u: one exponential, and small
// values keep their digits.
struct GeluTanh {
  static constexpr float kTwiceRoot = 1.59576912160573071F;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.044715F;

  static float value(float x) { return x * sigmoid(kTwiceRoot * (x + kCubic * x * x * x)).value; }
  static float slope(float x) {
    const Sigmoid s = sigmoid(kTwiceRoot * (x + kCubic * x * x * x));
    return s.value + x * s.value * s.complement * kTwiceRoot * (1.0F + 3.0F * kCubic * x * x);
  }
};

struct GeluErf {
  static float value(float x) { return x * standard_normal(x).below; }
  static float slope(float x) {
    const Normal normal = standard_normal(x);
    return normal.below + x * normal.density;
  }
};

template <class Run>
void with_form(Activation form, const Run& run) {
  switch (form) {
    case Activation::kNone:
      return run(Identity{});
    case Activation::kGeluTanh:
      return run(GeluTanh{});
    case Activation::kGeluErf:
      return run(GeluErf{});
  }
  unreachable();
}

}  // namespace

void gelu_row(Activation form, const float* x, std::int64_t count, float* y) {
  with_form(form, [&](auto gelu) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) y[i] = gelu.value(x[i]);
  });
}

namespace {

void gelu_grad_row(Activation form, const float* x, const float* dy, std::int64_t count, float* dx) {
  with_form(form, [&](auto gelu) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) dx[i] = gelu.slope(x[i]) * dy[i];
  });
}

void gelu_kernel(const KernelCall& call) {
  const Activation form = activation_named(call.attributes().text("form"));
  const Source x(call.inputs[0]);
  const Target y(call, 0);
  for_each_block(call.inputs[0].elements(), call.threads, [&](std::int64_t first, std::int64_t count) {
    Block x_buffer, y_buffer;
    float* to = y.begin(first, y_buffer);
    gelu_row(form, x.load(first, count, x_buffer), count, to);
    y.end(first, count, to);
  });
}

void gelu_grad_kernel(const KernelCall& call) {
  const Activation form = activation_named(call.attributes().text("form"));
  const Source x(call.inputs[0]), dy(call.inputs[1]);
  const Target dx(call, 0);
  for_each_block(call.inputs[0].elements(), call.threads, [&](std::int64_t first, std::int64_t count) {
    Block x_buffer, dy_buffer, dx_buffer;
    float* to = dx.begin(first, dx_buffer);
    gelu_grad_row(form, x.load(first, count, x_buffer), dy.load(first, count, dy_buffer), count, to);
    dx.end(first, count, to);
  });
}

void swiglu_kernel(const KernelCall& call) {
  const Source gate(call.inputs[0]), up(call.inputs[1]);
  const Target y(call, 0);
  for_each_block(call.inputs[0].elements(), call.threads, [&](std::int64_t first, std::int64_t count) {
    Block gate_buffer, up_buffer, y_buffer;
    const float* g = gate.load(first, count, gate_buffer);
    const float* u = up.load(first, count, up_buffer);
    float* to = y.begin(first, y_buffer);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = g[i] * sigmoid(g[i]).value * u[i];
    y.end(first, count, to);
  });
}

// silu(g) = g s with s = sigmoid(g), s' = s (1 - s), hence silu'(g) = s (1 + g (1 - s)).
void swiglu_grad_kernel(const KernelCall& call) {
  const Source gate(call.inputs[0]), up(call.inputs[1]), dy(call.inputs[2]);
  const Target dgate(call, 0), dup(call, 1);
  for_each_block(call.inputs[0].elements(), call.threads, [&](std::int64_t first, std::int64_t count) {
    Block gate_buffer, up_buffer, dy_buffer, dgate_buffer, dup_buffer;
    const float* g = gate.load(first, count, gate_buffer);
    const float* u = up.load(first, count, up_buffer);
    const float* gradient = dy.load(first, count, dy_buffer);
    float* to_gate = dgate.begin(first, dgate_buffer);
    float* to_up = dup.begin(first, dup_buffer);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const Sigmoid s = sigmoid(g[i]);
      const float d = gradient[i];  // before to_gate, which may be its memory
      to_up[i] = d * g[i] * s.value;
      to_gate[i] = d * u[i] * s.value * (1.0F + g[i] * s.complement);
    }
    dgate.end(first, count, to_gate);
    dup.end(first, count, to_up);
  });
}

}  // namespace

const KernelEntry gelu_entry{gelu_kernel};
const KernelEntry gelu_grad_entry{gelu_grad_kernel};
const KernelEntry swiglu_entry{swiglu_kernel};
const KernelEntry swiglu_grad_entry{swiglu_grad_kernel};

}  // namespace nadi::inline engines::cpu
