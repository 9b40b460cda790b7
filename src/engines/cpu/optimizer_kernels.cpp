// Optimizer steps and what stands between backward pass and optimizer. Each parameter is updated in one pass
// over its memory: parameter, gradient and moments are read once and written once.
#include <cmath>

#include "nadi/base/round_up.h"
#include "nadi/cpu/blocks.h"
#include "nadi/graph/ops/adamw.h"
#include "nadi/graph/ops/next_update.h"
#include "nadi/graph/ops/sgd.h"

namespace nadi::inline engines::cpu {
namespace {

// Where nothing changes: outputs are mostly the inputs' own memory, and else copies.
void keep(const KernelCall& call, std::size_t input, std::size_t output) {
  transfer(Source(call.inputs[input]), 0, Target(call, output), 0, call.inputs[input].elements());
}

// One Adam step with its constants folded:
//   g' = g * grad_scale + coupled_decay * p,   m = beta1 m + new1 g',   v = beta2 v + new2 g'^2
//   p -= rate * m / (sqrt(v * unbias2) + epsilon) + decay * p
struct AdamWStep {
  float grad_scale, coupled_decay, beta1, new1, beta2, new2, unbias2, epsilon, rate, decay;

  explicit AdamWStep(const KernelCall& call) {
    using namespace adamw_input;
    const Attributes& attributes = call.attributes();
    const double b1 = attributes.real("beta1"), b2 = attributes.real("beta2");
    const double weight_decay =
        attributes.real("weight_decay") * static_cast<double>(call.scalar_or(kDecayFactor, 1));
    const bool decoupled = attributes.boolean("decoupled");
    const auto update_number = static_cast<double>(integer_at(call.inputs[kUpdateNumber], 0));
    const auto learning_rate = static_cast<double>(call.scalar(kLearningRate));
    grad_scale = call.scalar_or(kGradScale, 1);
    coupled_decay = decoupled ? 0 : static_cast<float>(weight_decay);
    beta1 = static_cast<float>(b1);
    new1 = static_cast<float>(1 - b1);
    beta2 = static_cast<float>(b2);
    new2 = static_cast<float>(1 - b2);
    unbias2 = static_cast<float>(1 / (1 - std::pow(b2, update_number)));
    epsilon = static_cast<float>(attributes.real("epsilon"));
    rate = static_cast<float>(learning_rate / (1 - std::pow(b1, update_number)));
    decay = decoupled ? static_cast<float>(learning_rate * weight_decay) : 0;
  }
};

// The parameter as optimizers see it: the fp32 master where there is one, of which the parameter gets a
// rounded copy.
struct KeptParameter {
  Source source;
  Target target;
  const Target* rounded;  // nullptr means the parameter is what is kept

  void end(std::int64_t first, std::int64_t count, const float* updated) const {
    if (rounded != nullptr) rounded->put(first, count, updated);
    target.end(first, count, updated);
  }
};

constexpr float kSmallNorm = 1e-6F;  // as graph/ops/gradient_scaling.h has it

void adamw_kernel(const KernelCall& call) {
  using namespace adamw_input;
  const bool has_master = call.has(kMaster);
  if (call.scalar_or(kFoundInf, 0) != 0) {
    keep(call, kParameter, 0);
    keep(call, kM, 1);
    keep(call, kV, 2);
    if (has_master) keep(call, kMaster, 3);
    return;
  }
  const AdamWStep step(call);
  const Target parameter(call, 0), new_m(call, 1), new_v(call, 2);
  const KeptParameter kept{.source = Source(call.inputs[has_master ? kMaster : kParameter]),
                           .target = Target(call, has_master ? 3 : 0),
                           .rounded = has_master ? &parameter : nullptr};
  const Source gradient(call.inputs[kGradient]), old_m(call.inputs[kM]), old_v(call.inputs[kV]);
  for_each_block(
      call.inputs[kParameter].elements(), call.threads, [&](std::int64_t first, std::int64_t count) {
        Block p_buffer, g_buffer, m_buffer, v_buffer, new_p_buffer, new_m_buffer, new_v_buffer;
        const float* p = kept.source.load(first, count, p_buffer);
        const float* g = gradient.load(first, count, g_buffer);
        const float* m = old_m.load(first, count, m_buffer);
        const float* v = old_v.load(first, count, v_buffer);
        float* to_p = kept.target.begin(first, new_p_buffer);
        float* to_m = new_m.begin(first, new_m_buffer);
        float* to_v = new_v.begin(first, new_v_buffer);
        const AdamWStep s = step;  // in registers: stores to floats cannot change it
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) {
          const float scaled = g[i] * s.grad_scale + s.coupled_decay * p[i];
          const float m_now = s.beta1 * m[i] + s.new1 * scaled;
          const float v_now = s.beta2 * v[i] + s.new2 * scaled * scaled;
          to_p[i] = p[i] - (s.rate * m_now / (std::sqrt(v_now * s.unbias2) + s.epsilon) + s.decay * p[i]);
          to_m[i] = m_now;
          to_v[i] = v_now;
        }
        kept.end(first, count, to_p);
        new_m.end(first, count, to_m);
        new_v.end(first, count, to_v);
      });
}

void sgd_kernel(const KernelCall& call) {
  using namespace sgd_input;
  const bool has_momentum = call.has(kMomentum), has_master = call.has(kMaster);
  const std::size_t master_output = has_momentum ? 2 : 1;
  if (call.scalar_or(kFoundInf, 0) != 0) {
    keep(call, kParameter, 0);
    if (has_momentum) keep(call, kMomentum, 1);
    if (has_master) keep(call, kMaster, master_output);
    return;
  }
  const float rate = call.scalar(kLearningRate), grad_scale = call.scalar_or(kGradScale, 1);
  const auto momentum = static_cast<float>(call.attributes().real("momentum"));
  const auto decay = static_cast<float>(call.attributes().real("weight_decay") *
                                        static_cast<double>(call.scalar_or(kDecayFactor, 1)));
  const Target parameter(call, 0);
  const KeptParameter kept{.source = Source(call.inputs[has_master ? kMaster : kParameter]),
                           .target = Target(call, has_master ? master_output : 0),
                           .rounded = has_master ? &parameter : nullptr};
  const Source gradient(call.inputs[kGradient]);
  for_each_block(call.inputs[kParameter].elements(), call.threads,
                 [&](std::int64_t first, std::int64_t count) {
                   Block p_buffer, g_buffer, u_buffer, new_p_buffer, update;
                   const float* p = kept.source.load(first, count, p_buffer);
                   const float* g = gradient.load(first, count, g_buffer);
#pragma omp simd
                   for (std::int64_t i = 0; i < count; ++i) update[i] = g[i] * grad_scale + decay * p[i];
                   if (has_momentum) {
                     const float* u = Source(call.inputs[kMomentum]).load(first, count, u_buffer);
#pragma omp simd
                     for (std::int64_t i = 0; i < count; ++i) update[i] += momentum * u[i];
                     Target(call, 1).put(first, count, update);
                   }
                   float* to = kept.target.begin(first, new_p_buffer);
#pragma omp simd
                   for (std::int64_t i = 0; i < count; ++i) to[i] = p[i] - rate * update[i];
                   kept.end(first, count, to);
                 });
}

std::int64_t squared_norm_workspace(const OpView&, int threads) {
  return threads * static_cast<std::int64_t>(sizeof(double));
}

// All tensors in one parallel loop over their blocks: most have far fewer elements than threads are worth.
void squared_norm_kernel(const KernelCall& call) {
  std::int64_t blocks = 0, elements = 0;
  const auto blocks_of = [](const Operand& operand) { return divided_up(operand.elements(), kBlock); };
  for (const Operand& operand : call.inputs) {
    blocks += blocks_of(operand);
    elements += operand.elements();
  }
  const int threads = worthwhile_threads(elements, call.threads);
  double* sums = call.workspace_of<double>(0, 0);
  std::fill_n(sums, threads, 0.0);
  parallel_for(blocks, threads, [&](std::int64_t first, std::int64_t end, int thread) {
    double thread_sum = 0;
    std::int64_t before = 0;  // blocks of the tensors before this one
    for (const Operand& operand : call.inputs) {
      const std::int64_t own = blocks_of(operand);
      const std::int64_t from = std::clamp<std::int64_t>(first - before, 0, own) * kBlock;
      const std::int64_t to =
          std::min(std::clamp<std::int64_t>(end - before, 0, own) * kBlock, operand.elements());
      const Source tensor(operand);
      walk_blocks(from, to, [&](std::int64_t block, std::int64_t count) {
        Block buffer;
        const float* g = tensor.load(block, count, buffer);
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(g[i]);
        thread_sum += sum;
      });
      before += own;
    }
    sums[thread] = thread_sum;
  });
  double sum = 0;
  for (int thread = 0; thread < threads; ++thread) sum += sums[thread];
  const auto result = static_cast<float>(sum * call.attributes().real("factor"));
  Target(call, 0).put(0, 1, &result);
}

// Outputs: norm of the gradients without the loss scale, what to multiply gradients by, found_inf.
void grad_scale_kernel(const KernelCall& call) {
  const float squared_norm = call.scalar(0), loss_scale = call.scalar_or(1, 1);
  const auto max_norm = static_cast<float>(call.attributes().real("max_norm"));
  const float norm = std::sqrt(squared_norm) / loss_scale;
  const float clip = max_norm > 0 ? std::min(1.0F, max_norm / (norm + kSmallNorm)) : 1;
  const float results[]{norm, clip / loss_scale, std::isfinite(squared_norm) ? 0.0F : 1.0F};
  for (std::size_t i = 0; i < std::size(results); ++i) Target(call, i).put(0, 1, &results[i]);
}

// Outputs: loss scale, good steps in a row.
void update_loss_scale_kernel(const KernelCall& call) {
  const bool found_inf = call.scalar(0) != 0;
  const auto interval = static_cast<float>(call.attributes().integer("growth_interval"));
  float scale = call.scalar(1), good_steps = call.scalar(2);
  if (found_inf) {
    scale = std::max(1.0F, scale / 2);
    good_steps = 0;
  } else if (++good_steps >= interval) {
    scale *= 2;
    good_steps = 0;
  }
  Target(call, 0).put(0, 1, &scale);
  Target(call, 1).put(0, 1, &good_steps);
}

// The variables may be inputs and outputs at once: everything is read before anything is written.
void next_update_kernel(const KernelCall& call) {
  using namespace next_update_io;
  const UpdateSchedules schedules(call.attributes());
  const bool skipped = call.scalar_or(kFoundInf, 0) != 0;
  const std::int64_t updates = integer_at(call.inputs[kUpdates], 0);
  const std::int64_t position = integer_at(call.inputs[kSchedulePosition], 0);
  const std::int64_t skipped_updates = integer_at(call.inputs[kSkippedUpdates], 0);
  const std::int64_t advance = integer_at(call.inputs[kScheduleAdvance], 0);
  *call.out<float>(kLearningRate) =
      static_cast<float>(schedules.learning_rate(static_cast<double>(position)));
  *call.out<float>(kDecayFactor) = static_cast<float>(schedules.decay_factor(static_cast<double>(position)));
  write_integer(call.outputs[kUpdateNumber], 0, updates + 1);
  write_integer(call.outputs[kUpdatesAfter], 0, updates + (skipped ? 0 : 1));
  write_integer(call.outputs[kSchedulePositionAfter], 0, position + (skipped ? 0 : advance));
  write_integer(call.outputs[kSkippedUpdatesAfter], 0, skipped_updates + (skipped ? 1 : 0));
}

}  // namespace

const KernelEntry adamw_entry{adamw_kernel};
const KernelEntry sgd_entry{sgd_kernel};
const KernelEntry squared_norm_entry{squared_norm_kernel, squared_norm_workspace};
const KernelEntry grad_scale_entry{grad_scale_kernel};
const KernelEntry update_loss_scale_entry{update_loss_scale_kernel};
const KernelEntry next_update_entry{next_update_kernel};

}  // namespace nadi::inline engines::cpu
