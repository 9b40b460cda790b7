// Addition, dropout, sums over rows, the gradient of a maximum or product over ranks.
#include "nadi/base/round_up.h"
#include "nadi/cpu/blocks.h"
#include "nadi/cpu/column_sums.h"
#include "nadi/cpu/dropout_mask.h"
#include "nadi/graph/ops/collectives.h"

namespace nadi::inline engines::cpu {
namespace {

// x as a matrix whose rows are summed. Narrow ones are read row by row, and threads take rows; where a sum
// per thread would no longer stay in the cache, threads take columns.
struct RowSums {
  static constexpr std::int64_t kNarrow = 8192;

  std::int64_t rows, columns;
  int threads;
  bool narrow;

  RowSums(const OpView& op, int most_threads)
      : rows(op.in(0).elements() / std::max<std::int64_t>(1, op.output(0).shape.elements())),
        columns(op.output(0).shape.elements()),
        threads(worthwhile_threads(rows * columns, most_threads)),
        narrow(columns <= kNarrow) {
    if (narrow) threads = static_cast<int>(std::clamp<std::int64_t>(rows, 1, threads));
  }
};

void add_row(const Source& x, std::int64_t first, std::int64_t count, float* sums) {
  walk_blocks(0, count, [&](std::int64_t done, std::int64_t block) {
    Block buffer;
    const float* from = x.load(first + done, block, buffer);
    float* to = sums + done;
#pragma omp simd
    for (std::int64_t i = 0; i < block; ++i) to[i] += from[i];
  });
}

void sum_narrow_rows(const KernelCall& call, const RowSums& plan) {
  const Source x(call.inputs[0]);
  const auto memory_of = [&](int thread) {
    return call.workspace.data() + thread * ColumnSums::bytes(plan.columns);
  };
  parallel_for(plan.rows, plan.threads, [&](std::int64_t first, std::int64_t end, int thread) {
    ColumnSums sums(memory_of(thread), plan.columns);
    for (std::int64_t row = first; row < end; ++row)
      add_row(x, row * plan.columns, plan.columns, sums.next_row());
    sums.finish();
  });
  put_sums(Target(call, 0), plan.columns, plan.rows > 0 ? plan.threads : 0,
           [&](int thread) { return reinterpret_cast<const double*>(memory_of(thread)); });
}

void sum_wide_rows(const KernelCall& call, const RowSums& plan) {
  const Source x(call.inputs[0]);
  const Target y(call, 0);
  parallel_for(divided_up(plan.columns, kBlock), plan.threads,
               [&](std::int64_t first_block, std::int64_t end_block, int) {
                 const std::int64_t end = std::min(end_block * kBlock, plan.columns);
                 walk_blocks(first_block * kBlock, end, [&](std::int64_t first, std::int64_t count) {
                   alignas(64) std::byte memory[ColumnSums::bytes(kBlock)];
                   ColumnSums sums(memory, count);
                   for (std::int64_t row = 0; row < plan.rows; ++row)
                     add_row(x, row * plan.columns + first, count, sums.next_row());
                   sums.finish();
                   Block results;
                   for (std::int64_t i = 0; i < count; ++i) results[i] = static_cast<float>(sums.totals()[i]);
                   y.put(first, count, results);
                 });
               });
}

void add_kernel(const KernelCall& call) {
  const Source a(call.inputs[0]), b(call.inputs[1]);
  const Target y(call, 0);
  const std::int64_t period = call.inputs[1].elements();
  for_each_block(call.inputs[0].elements(), call.threads, [&](std::int64_t first, std::int64_t count) {
    Block a_buffer, b_buffer, y_buffer;
    const float* left = a.load(first, count, a_buffer);
    float* to = y.begin(first, y_buffer);
    // In pieces that end where b begins anew.
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t at = (first + done) % period;
      const std::int64_t piece = std::min(count - done, period - at);
      const float* right = b.load(at, piece, b_buffer);
#pragma omp simd
      for (std::int64_t i = 0; i < piece; ++i) to[done + i] = left[done + i] + right[i];
      done += piece;
    }
    y.end(first, count, to);
  });
}

// Elements are numbered in the whole tensor where this is part of one: those of one row (of axes 2 and on)
// follow each other, and without `rows` all of them do.
void dropout_kernel(const KernelCall& call) {
  const Shape& shape = call.shape(0);
  const Source x(call.inputs[0]);
  const Target y(call, 0);
  const bool is_part = call.has(2);
  const std::int64_t rows = shape.rank() > 1 ? shape[1] : 1;
  const std::int64_t width = shape.rank() > 1 ? shape.elements(2, shape.rank()) : 1;
  const std::int64_t whole_rows = is_part ? call.attributes().integer("whole_rows") : rows;
  const std::int64_t run = is_part ? width : shape.elements();
  const DropoutMask mask({.random = call.inputs[1],
                          .rate = call.attributes().real("rate"),
                          .site = call.attributes().integer("site"),
                          .elements_per_sample = whole_rows * width});
  const auto number_of = [&](std::int64_t element) {
    if (!is_part) return element;
    const std::int64_t row = element / width;
    const std::int64_t whole_row = row / rows * whole_rows + integer_at(call.inputs[2], row % rows);
    return whole_row * width + element % width;
  };

  for_each_block(shape.elements(), call.threads, [&](std::int64_t first, std::int64_t count) {
    Block x_buffer, y_buffer, factors;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t piece = std::min(count - done, run - (first + done) % run);
      mask.factors(number_of(first + done), piece, factors + done);
      done += piece;
    }
    const float* from = x.load(first, count, x_buffer);
    float* to = y.begin(first, y_buffer);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * factors[i];
    y.end(first, count, to);
  });
}

std::int64_t sum_rows_workspace(const OpView& op, int threads) {
  const RowSums plan(op, threads);
  return plan.narrow ? plan.threads * ColumnSums::bytes(plan.columns) : 0;
}

void sum_rows_kernel(const KernelCall& call) {
  const RowSums plan(call.op, call.threads);
  if (plan.narrow)
    sum_narrow_rows(call, plan);
  else
    sum_wide_rows(call, plan);
}

// Minimum and maximum: to the members that have the extreme value, to each of several in full. Product:
// y / x is the product of the others; x must not be 0.
void all_reduce_grad_kernel(const KernelCall& call) {
  const Source x(call.inputs[0]), y(call.inputs[1]), dy(call.inputs[2]);
  const Target dx(call, 0);
  const bool product = reduce_op_named(call.attributes().text("op")) == ReduceOp::kProduct;
  for_each_block(call.inputs[0].elements(), call.threads, [&](std::int64_t first, std::int64_t count) {
    Block x_buffer, y_buffer, dy_buffer, dx_buffer;
    const float* own = x.load(first, count, x_buffer);
    const float* reduced = y.load(first, count, y_buffer);
    const float* gradient = dy.load(first, count, dy_buffer);
    float* to = dx.begin(first, dx_buffer);
    if (product) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) to[i] = gradient[i] * reduced[i] / own[i];
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) to[i] = own[i] == reduced[i] ? gradient[i] : 0.0F;
    }
    dx.end(first, count, to);
  });
}

}  // namespace

const KernelEntry add_entry{add_kernel};
const KernelEntry dropout_entry{dropout_kernel};
const KernelEntry sum_rows_entry{sum_rows_kernel, sum_rows_workspace};
const KernelEntry all_reduce_grad_entry{all_reduce_grad_kernel};

}  // namespace nadi::inline engines::cpu
