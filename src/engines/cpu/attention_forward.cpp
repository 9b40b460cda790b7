// Attention without ever storing all scores: for a tile of queries, one tile of keys after the other, with a
// softmax that is corrected when a larger score turns up (Milakov and Gimelshein 2018; Dao et al. 2022).
//
//   scores = q k^T;  p = exp(scores - largest so far);  y = y * shrink + p v;   at the end y / sum of p
//
// A thread takes kTaskRows queries of a key-value head at a time (fewer where there would not be enough to
// share out), so that a tile of keys is transposed once for several tiles of queries. Each query is one
// thread's from beginning to end: results do not depend on how many threads there are.
#include <algorithm>
#include <cmath>

#include "nadi/base/round_up.h"
#include "nadi/cpu/attention_few_queries.h"
#include "nadi/cpu/attention_operands.h"
#include "nadi/cpu/balanced_parts.h"
#include "nadi/cpu/row_prefetch.h"
#include "nadi/cpu/softmax_row.h"
#include "nadi/cpu/workspace_slices.h"
#include "nadi/engine/host_threads.h"

namespace nadi::inline engines::cpu {
namespace {

constexpr std::int64_t kTaskRows = 4 * kQueryRows;
// Tasks per thread that even out their differences.
constexpr std::int64_t kTasksPerThread = 4;

// What a thread works on.
struct Buffers {
  Buffers(WorkspaceSlices& slices, const AttentionExtents& e)
      : q(slices.take<float>(kTaskRows * tile_stride(e.D))),
        y(slices.take<float>(kTaskRows * tile_stride(e.D))),
        softmax(slices.take<RunningSoftmax>(kTaskRows)),
        limits(slices.take<std::int64_t>(kTaskRows)),
        scores(slices.take<float>(kQueryRows * kScoreStride)),
        factors(slices.take<float>(kKeyRows)),
        k(slices.take<float>(kKeyRows * tile_stride(e.D))),
        k_transposed(slices.take<float>(e.D * kScoreStride)),
        v(slices.take<float>(kKeyRows * tile_stride(e.D))) {}

  float* q;  // times the scale
  float* y;
  RunningSoftmax* softmax;
  std::int64_t* limits;
  float* scores;
  float* factors;
  float* k;
  float* k_transposed;
  float* v;
};

std::int64_t bytes_per_thread(const AttentionExtents& extents) {
  WorkspaceSlices slices;
  const Buffers buffers(slices, extents);
  return slices.bytes();
}

struct Task {
  std::int64_t b, kv_head, first_row, rows;
};

class Forward {
 public:
  Forward(const AttentionOperands& in, const KernelCall& call, const Buffers& buffers)
      : in_(in),
        buffers_(buffers),
        D_(in.extents.D),
        stride_(tile_stride(D_)),
        y_(call.outputs[0], D_),
        add_(call.accumulates(0)),
        statistics_(call.outputs.size() > 1 ? call.out<float>(1) : nullptr) {}

  // `next` is what this thread does next; nullptr when nothing.
  void run(const Task& task, const Task* next) {
    begin(task);
    if (in_.rows <= kFewRows)
      attend_few(in_, task.b, task.kv_head,
                 {.q = buffers_.q,
                  .y = buffers_.y,
                  .scores = buffers_.scores,
                  .softmax = buffers_.softmax,
                  .factors = buffers_.factors,
                  .keys = buffers_.k,
                  .values = buffers_.v});
    else
      attend(task, next);
    finish(task);
  }

 private:
  void begin(const Task& task) {
    std::fill_n(buffers_.y, task.rows * stride_, 0.0F);
    std::fill_n(buffers_.softmax, task.rows, RunningSoftmax{});
    for (std::int64_t i = 0; i < task.rows; ++i)
      in_.q.load(in_.query(task.b, task.kv_head, task.first_row + i), in_.scale, buffers_.q + i * stride_);
  }

  void attend(const Task& task, const Task* next) {
    const std::span limits(buffers_.limits, static_cast<std::size_t>(task.rows));
    in_.fill_limits(task.b, task.first_row, limits);
    const std::int64_t largest_limit = *std::ranges::max_element(limits);
    for (std::int64_t n = 0; n < in_.key_tiles(); ++n) {
      const KeyTile tile = in_.key_tile(n * kKeyRows);
      if (tile.lowest >= largest_limit) continue;
      load(task, tile);
      foresee(task, tile, limits, next);
      for (std::int64_t first = 0; first < task.rows; first += kQueryRows)
        attend(task, first, std::min(kQueryRows, task.rows - first), tile);
    }
  }

  // Prefetches the next tile of keys, or what this task ends and the next one begins with.
  void foresee(const Task& task, const KeyTile& tile, std::span<const std::int64_t> limits,
               const Task* next) {
    const auto seeing = [&](std::int64_t position) {
      return std::ranges::count_if(limits, [&](std::int64_t limit) { return limit > position; });
    };
    prefetch_.begin(seeing(tile.lowest));
    const std::int64_t key = tile.first + tile.count;
    if (key < in_.extents.S && seeing(in_.key_tile(key).lowest) > 0) return foresee_keys(task, key);
    foresee_queries(y_, task);
    if (next == nullptr) return;
    foresee_queries(in_.q, *next);
    foresee_keys(*next, 0);
  }
  void foresee_queries(const HeadRows& heads, const Task& task) {
    const HeadRows::Place first = in_.query(task.b, task.kv_head, task.first_row);
    prefetch_.add(heads.span_of(first, divided_up(task.rows, in_.group), in_.group));
  }
  void foresee_keys(const Task& task, std::int64_t key) {
    const HeadRows::Place first{.b = task.b, .token = key, .head = task.kv_head};
    const std::int64_t count = std::min(kKeyRows, in_.extents.S - key);
    prefetch_.add(in_.k.span_of(first, count));
    prefetch_.add(in_.v.span_of(first, count));
  }

  void load(const Task& task, const KeyTile& tile) {
    const HeadRows::Place first{.b = task.b, .token = tile.first, .head = task.kv_head};
    in_.k.load_tile(first, tile.count, buffers_.k);
    transpose({.source = buffers_.k,
               .source_stride = stride_,
               .target = buffers_.k_transposed,
               .target_stride = kScoreStride},
              tile.count, D_);
    in_.v.load_tile(first, tile.count, buffers_.v);
  }

  // Queries `first` to `first` + `rows` of the task, one tile of keys.
  void attend(const Task& task, std::int64_t first, std::int64_t rows, const KeyTile& tile) {
    const SeenColumns seen({buffers_.limits + first, static_cast<std::size_t>(rows)}, tile);
    if (!seen.any()) return;
    SeenColumns::Extents extents;
    multiply({.c = buffers_.scores,
              .c_stride = kScoreStride,
              .a = buffers_.q + first * stride_,
              .a_row = stride_,
              .b = buffers_.k_transposed,
              .b_stride = kScoreStride},
             rows, seen.scores(D_, extents));
    for (std::int64_t i = 0; i < rows; ++i) {
      prefetch_.step();
      const std::int64_t columns = seen.computed(i);
      if (columns == 0) continue;
      float* scores = buffers_.scores + i * kScoreStride;
      tile.mask(scores, columns, buffers_.limits[first + i]);
      const float shrink = buffers_.softmax[first + i].add(scores, columns);
      if (shrink != 1) multiply_row(buffers_.y + (first + i) * stride_, stride_, shrink);
      if (in_.drops) {
        in_.dropout_factors(in_.query(task.b, task.kv_head, task.first_row + first + i), tile, columns,
                            buffers_.factors);
        for (std::int64_t j = 0; j < columns; ++j) scores[j] *= buffers_.factors[j];
      }
    }
    multiply({.c = buffers_.y + first * stride_,
              .c_stride = stride_,
              .a = buffers_.scores,
              .a_row = kScoreStride,
              .b = buffers_.v,
              .b_stride = stride_,
              .add = true},
             rows, seen.per_query(D_, extents));
  }

  void finish(const Task& task) {
    for (std::int64_t i = 0; i < task.rows; ++i) {
      const HeadRows::Place at = in_.query(task.b, task.kv_head, task.first_row + i);
      const RunningSoftmax& softmax = buffers_.softmax[i];
      const bool nothing_seen = softmax.largest == kMinusInfinity && softmax.sum == 0;
      y_.store(at, nothing_seen ? 0.0F : 1 / softmax.sum, buffers_.y + i * stride_, add_);
      if (statistics_ != nullptr) statistics_[in_.query_number(at)] = softmax.largest + std::log(softmax.sum);
    }
  }

  const AttentionOperands& in_;
  const Buffers buffers_;
  const std::int64_t D_;
  const std::int64_t stride_;
  const HeadRows y_;
  const bool add_;
  float* const statistics_;
  RowPrefetch prefetch_;
};

std::int64_t rows_per_task(const AttentionOperands& in, int threads) {
  const std::int64_t all_rows = in.extents.B * in.extents.K * in.rows;
  std::int64_t rows = kTaskRows;
  while (rows > kQueryRows && all_rows / rows < kTasksPerThread * threads) rows /= 2;
  return rows;
}

std::int64_t attention_workspace(const OpView& op, int threads) {
  return threads * bytes_per_thread(attention_extents(op));
}

void attention_kernel(const KernelCall& call) {
  const AttentionOperands in(call);
  const AttentionExtents& e = in.extents;
  const int threads = attention_threads(e, call.threads);
  const std::int64_t task_rows = rows_per_task(in, threads);
  const std::int64_t tasks_per_head = divided_up(in.rows, task_rows);
  const auto task = [&](std::int64_t unit) {
    const std::int64_t head = unit / tasks_per_head, first = unit % tasks_per_head * task_rows;
    return Task{.b = head / e.K,
                .kv_head = head % e.K,
                .first_row = first,
                .rows = std::min(task_rows, in.rows - first)};
  };
  const auto cost = [&](std::int64_t unit) {
    const Task t = task(unit);
    return 1 + t.rows * in.keys_seen(t.b, (t.first_row + t.rows - 1) / in.group);
  };
  const std::int64_t each = bytes_per_thread(e);
  parallel_for(threads, threads, [&](std::int64_t part, std::int64_t, int) {
    WorkspaceSlices slices(call.workspace.data() + part * each);
    Forward forward(in, call, Buffers(slices, e));
    const UnitRange mine = balanced_part(e.B * e.K * tasks_per_head, {.part = part, .parts = threads}, cost);
    for (std::int64_t unit = mine.first; unit < mine.end; ++unit) {
      const Task next = unit + 1 < mine.end ? task(unit + 1) : Task{};
      forward.run(task(unit), unit + 1 < mine.end ? &next : nullptr);
    }
  });
}

}  // namespace

const KernelEntry attention_entry{attention_kernel, attention_workspace, true};

}  // namespace nadi::inline engines::cpu
