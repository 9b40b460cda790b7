// Layer norm and RMS norm over the last axis, and their gradients. Letters: C the extent of that axis.
//
// A row is read from memory once: the second look at it finds it in the cache. Statistics are summed in fp32
// over blocks and in double precision over the blocks of a row. Gradients of weights and biases are summed
// per thread, in the same sweep that makes dx, and the threads' sums are added in order.
#include <cmath>

#include "nadi/cpu/blocks.h"
#include "nadi/cpu/column_sums.h"

namespace nadi::inline engines::cpu {
namespace {

struct Rows {
  std::int64_t count, C;
  int threads;  // that the work is worth

  Rows(const OpView& op, int most_threads)
      : count(op.in(0)[-1] > 0 ? op.in(0).elements() / op.in(0)[-1] : 0),
        C(op.in(0)[-1]),
        threads(static_cast<int>(std::min<std::int64_t>(std::max<std::int64_t>(count, 1),
                                                        worthwhile_threads(count * C, most_threads)))) {}
};

struct Moments {
  double mean, variance;
};

// By blocks: each has its mean and its squares around that mean, which are then joined (Chan, Golub and
// LeVeque, 1983). No difference of large squares is ever taken.
Moments moments_of(const Source& x, std::int64_t first_element, std::int64_t C) {
  double mean = 0, squares = 0;
  walk_blocks(0, C, [&](std::int64_t first, std::int64_t count) {
    Block buffer;
    const float* from = x.load(first_element + first, count, buffer);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) sum += from[i];
    const float block_mean = sum / static_cast<float>(count);
    float block_squares = 0;
#pragma omp simd reduction(+ : block_squares)
    for (std::int64_t i = 0; i < count; ++i) {
      const float distance = from[i] - block_mean;
      block_squares += distance * distance;
    }
    const double before = static_cast<double>(first), own = static_cast<double>(count);
    const double apart = static_cast<double>(block_mean) - mean;
    mean += apart * own / (before + own);
    squares += static_cast<double>(block_squares) + apart * apart * before * own / (before + own);
  });
  return {mean, squares / static_cast<double>(C)};
}

double mean_square_of(const Source& x, std::int64_t first_element, std::int64_t C) {
  double sum = 0;
  walk_blocks(0, C, [&](std::int64_t first, std::int64_t count) {
    Block buffer;
    const float* from = x.load(first_element + first, count, buffer);
    float block = 0;
#pragma omp simd reduction(+ : block)
    for (std::int64_t i = 0; i < count; ++i) block += from[i] * from[i];
    sum += static_cast<double>(block);
  });
  return sum / static_cast<double>(C);
}

// A row on the way back. RMS norm has no mean: it counts as 0.
struct GradientRow {
  const Source& x;
  const Source& weight;
  const Source& dy;
  std::int64_t start, C;
  float mean, scale;
};

// With n = (x - mean) * scale and g = dy * weight: the means of g and of g n over a row.
struct GradientMeans {
  float g, gn;
};
GradientMeans gradient_means(const GradientRow& row) {
  double sum_g = 0, sum_gn = 0;
  walk_blocks(0, row.C, [&](std::int64_t first, std::int64_t count) {
    Block x_buffer, weight_buffer, dy_buffer;
    const float* from = row.x.load(row.start + first, count, x_buffer);
    const float* w = row.weight.load(first, count, weight_buffer);
    const float* d = row.dy.load(row.start + first, count, dy_buffer);
    const float mean = row.mean, scale = row.scale;
    float g = 0, gn = 0;
#pragma omp simd reduction(+ : g, gn)
    for (std::int64_t i = 0; i < count; ++i) {
      const float product = d[i] * w[i];
      g += product;
      gn += product * ((from[i] - mean) * scale);
    }
    sum_g += static_cast<double>(g);
    sum_gn += static_cast<double>(gn);
  });
  const auto width = static_cast<double>(row.C);
  return {static_cast<float>(sum_g / width), static_cast<float>(sum_gn / width)};
}

void layer_norm_kernel(const KernelCall& call) {
  const Rows rows(call.op, call.threads);
  const Source x(call.inputs[0]), weight(call.inputs[1]), bias(call.inputs[2]);
  const Target y(call, 0);
  const double epsilon = call.attributes().real("epsilon");
  parallel_for(rows.count, rows.threads, [&](std::int64_t first_row, std::int64_t end_row, int) {
    for (std::int64_t row = first_row; row < end_row; ++row) {
      const Moments moments = moments_of(x, row * rows.C, rows.C);
      const auto mean = static_cast<float>(moments.mean);
      const auto scale = static_cast<float>(1 / std::sqrt(moments.variance + epsilon));
      walk_blocks(0, rows.C, [&](std::int64_t first, std::int64_t count) {
        Block x_buffer, weight_buffer, bias_buffer, y_buffer;
        const float* from = x.load(row * rows.C + first, count, x_buffer);
        const float* w = weight.load(first, count, weight_buffer);
        const float* b = bias.load(first, count, bias_buffer);
        float* to = y.begin(row * rows.C + first, y_buffer);
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) to[i] = (from[i] - mean) * scale * w[i] + b[i];
        y.end(row * rows.C + first, count, to);
      });
      call.out<float>(1)[row] = mean;
      call.out<float>(2)[row] = scale;
    }
  });
}

std::int64_t layer_norm_grad_workspace(const OpView& op, int threads) {
  return 2 * Rows(op, threads).threads * ColumnSums::bytes(op.in(0)[-1]);
}

// dx = (g - mean(g) - n mean(g n)) * scale,   d weight = sum of dy n,   d bias = sum of dy.
void layer_norm_grad_kernel(const KernelCall& call) {
  const Rows rows(call.op, call.threads);
  const Source x(call.inputs[0]), weight(call.inputs[1]), dy(call.inputs[4]);
  const Target dx(call, 0), dweight(call, 1), dbias(call, 2);
  const std::int64_t sums_bytes = ColumnSums::bytes(rows.C);
  const auto memory_of = [&](int thread, int which) {
    return call.workspace.data() + (2 * thread + which) * sums_bytes;
  };
  parallel_for(rows.count, rows.threads, [&](std::int64_t first_row, std::int64_t end_row, int thread) {
    ColumnSums weight_sums(memory_of(thread, 0), rows.C), bias_sums(memory_of(thread, 1), rows.C);
    for (std::int64_t row = first_row; row < end_row; ++row) {
      const std::int64_t row_start = row * rows.C;
      const float mean = call.in<float>(2)[row], scale = call.in<float>(3)[row];
      const GradientMeans means = gradient_means({x, weight, dy, row_start, rows.C, mean, scale});
      float* weight_row = weight_sums.next_row();
      float* bias_row = bias_sums.next_row();
      walk_blocks(0, rows.C, [&](std::int64_t first, std::int64_t count) {
        Block x_buffer, weight_buffer, dy_buffer, dx_buffer;
        const float* from = x.load(row_start + first, count, x_buffer);
        const float* w = weight.load(first, count, weight_buffer);
        const float* d = dy.load(row_start + first, count, dy_buffer);
        float* to = dx.begin(row_start + first, dx_buffer);
        float* to_weight = weight_row + first;
        float* to_bias = bias_row + first;
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) {
          const float n = (from[i] - mean) * scale;
          const float gradient = d[i];  // before `to`, which may be its memory
          to_weight[i] += gradient * n;
          to_bias[i] += gradient;
          to[i] = (gradient * w[i] - means.g - n * means.gn) * scale;
        }
        dx.end(row_start + first, count, to);
      });
    }
    weight_sums.finish();
    bias_sums.finish();
  });
  const auto totals_of = [&](int thread, int which) {
    return reinterpret_cast<const double*>(memory_of(thread, which));
  };
  const int parts = rows.count > 0 ? rows.threads : 0;
  put_sums(dweight, rows.C, parts, [&](int thread) { return totals_of(thread, 0); });
  put_sums(dbias, rows.C, parts, [&](int thread) { return totals_of(thread, 1); });
}

void rms_norm_kernel(const KernelCall& call) {
  const Rows rows(call.op, call.threads);
  const Source x(call.inputs[0]), weight(call.inputs[1]);
  const Target y(call, 0);
  const double epsilon = call.attributes().real("epsilon");
  parallel_for(rows.count, rows.threads, [&](std::int64_t first_row, std::int64_t end_row, int) {
    for (std::int64_t row = first_row; row < end_row; ++row) {
      const double mean_square = mean_square_of(x, row * rows.C, rows.C);
      const auto scale = static_cast<float>(1 / std::sqrt(mean_square + epsilon));
      walk_blocks(0, rows.C, [&](std::int64_t first, std::int64_t count) {
        Block x_buffer, weight_buffer, y_buffer;
        const float* from = x.load(row * rows.C + first, count, x_buffer);
        const float* w = weight.load(first, count, weight_buffer);
        float* to = y.begin(row * rows.C + first, y_buffer);
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * scale * w[i];
        y.end(row * rows.C + first, count, to);
      });
      call.out<float>(1)[row] = scale;
    }
  });
}

std::int64_t rms_norm_grad_workspace(const OpView& op, int threads) {
  return Rows(op, threads).threads * ColumnSums::bytes(op.in(0)[-1]);
}

// dx = (g - n mean(g n)) * scale,   d weight = sum of dy n.
void rms_norm_grad_kernel(const KernelCall& call) {
  const Rows rows(call.op, call.threads);
  const Source x(call.inputs[0]), weight(call.inputs[1]), dy(call.inputs[3]);
  const Target dx(call, 0), dweight(call, 1);
  const auto memory_of = [&](int thread) {
    return call.workspace.data() + thread * ColumnSums::bytes(rows.C);
  };
  parallel_for(rows.count, rows.threads, [&](std::int64_t first_row, std::int64_t end_row, int thread) {
    ColumnSums weight_sums(memory_of(thread), rows.C);
    for (std::int64_t row = first_row; row < end_row; ++row) {
      const std::int64_t row_start = row * rows.C;
      const float scale = call.in<float>(2)[row];
      const float mean_gn = gradient_means({x, weight, dy, row_start, rows.C, 0, scale}).gn;
      float* weight_row = weight_sums.next_row();
      walk_blocks(0, rows.C, [&](std::int64_t first, std::int64_t count) {
        Block x_buffer, weight_buffer, dy_buffer, dx_buffer;
        const float* from = x.load(row_start + first, count, x_buffer);
        const float* w = weight.load(first, count, weight_buffer);
        const float* d = dy.load(row_start + first, count, dy_buffer);
        float* to = dx.begin(row_start + first, dx_buffer);
        float* to_weight = weight_row + first;
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) {
          const float n = from[i] * scale;
          const float gradient = d[i];  // before `to`, which may be its memory
          to_weight[i] += gradient * n;
          to[i] = (gradient * w[i] - n * mean_gn) * scale;
        }
        dx.end(row_start + first, count, to);
      });
    }
    weight_sums.finish();
  });
  put_sums(dweight, rows.C, rows.count > 0 ? rows.threads : 0,
           [&](int thread) { return reinterpret_cast<const double*>(memory_of(thread)); });
}

}  // namespace

const KernelEntry layer_norm_entry{layer_norm_kernel};
const KernelEntry layer_norm_grad_entry{layer_norm_grad_kernel, layer_norm_grad_workspace};
const KernelEntry rms_norm_entry{rms_norm_kernel};
const KernelEntry rms_norm_grad_entry{rms_norm_grad_kernel, rms_norm_grad_workspace};

}  // namespace nadi::inline engines::cpu
