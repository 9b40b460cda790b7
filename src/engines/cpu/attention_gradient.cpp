// The gradient of attention, tile by tile; probabilities are computed again from the statistics that the
// forward pass kept (Dao et al. 2022). With f what dropout multiplied them by:
//
//   p = exp(scale q k^T - statistics)        dv = (p f)^T dy
//   ds = p (f (dy v^T) - sum of dy * y)      dk = ds^T (scale q)      dq = scale ds k
//
// A tile of keys goes through all queries of its key-value head, and the thread that has it owns its dk and
// dv. dq is a sum over tiles of keys. So the work is the sequence of (sequence, key-value head, tile of
// keys), cut into one run per thread of about equal cost: heads that lie within a run are that thread's
// alone, and for a head that is cut each thread sums its own dq, which are then added in the order of the
// tiles. Sums depend on the number of threads, but on nothing else.
#include <algorithm>

#include "nadi/cpu/attention_operands.h"
#include "nadi/cpu/balanced_parts.h"
#include "nadi/cpu/row_prefetch.h"
#include "nadi/cpu/softmax_row.h"
#include "nadi/cpu/workspace_slices.h"
#include "nadi/engine/host_threads.h"

namespace nadi::inline engines::cpu {
namespace {

using namespace attention_input;

// Tokens of a head that are prefetched; more would push each other out of the second-level cache.
constexpr std::int64_t kMostForeseen = 512;

// What a thread works on.
struct Buffers {
  Buffers(WorkspaceSlices& slices, const AttentionExtents& e)
      : q(slices.take<float>(kQueryRows * tile_stride(e.D))),
        dy(slices.take<float>(kQueryRows * tile_stride(e.D))),
        p(slices.take<float>(kQueryRows * kScoreStride)),
        ds(slices.take<float>(kQueryRows * kScoreStride)),
        factors(slices.take<float>(kKeyRows)),
        k(slices.take<float>(kKeyRows * tile_stride(e.D))),
        v(slices.take<float>(kKeyRows * tile_stride(e.D))),
        k_transposed(slices.take<float>(e.D * kScoreStride)),
        v_transposed(slices.take<float>(e.D * kScoreStride)),
        dk(slices.take<float>(kKeyRows * tile_stride(e.D))),
        dv(slices.take<float>(kKeyRows * tile_stride(e.D))),
        limits(slices.take<std::int64_t>(e.T * (e.H / e.K))),
        y_dy(slices.take<float>(e.T * (e.H / e.K))),
        dq_begun_here(slices.take<float>(e.T * (e.H / e.K) * tile_stride(e.D))),
        dq_begun_before(slices.take<float>(e.T * (e.H / e.K) * tile_stride(e.D))) {}

  float* q;  // times the scale
  float* dy;
  float* p;   // scores, then p f
  float* ds;  // dy v^T, then ds
  float* factors;
  float* k;
  float* v;
  float* k_transposed;
  float* v_transposed;
  float* dk;
  float* dv;
  // Per row of the key-value head:
  std::int64_t* limits;
  float* y_dy;
  // Belongs to the heads whose first tile of keys is this thread's, and to the one that another thread began.
  float* dq_begun_here;
  float* dq_begun_before;
};

std::int64_t bytes_per_thread(const AttentionExtents& extents) {
  WorkspaceSlices slices;
  const Buffers buffers(slices, extents);
  return slices.bytes();
}

struct Head {
  std::int64_t b, kv_head;
};

class Gradient {
 public:
  Gradient(const AttentionOperands& in, const KernelCall& call, const Buffers& buffers)
      : in_(in),
        buffers_(buffers),
        D_(in.extents.D),
        stride_(tile_stride(D_)),
        y_(call.inputs[kY], D_),
        dy_(call.inputs[kDy], D_),
        statistics_(call.in<float>(kStatistics)) {
    const AttentionExtents& e = in.extents;
    const bool packed = call.outputs.size() == 1;
    dq_ = HeadRows(call.outputs[0], D_);
    dk_ = packed ? HeadRows(call.outputs[0], D_, e.H) : HeadRows(call.outputs[1], D_);
    dv_ = packed ? HeadRows(call.outputs[0], D_, e.H + e.K) : HeadRows(call.outputs[2], D_);
    add_dq_ = call.accumulates(0);
    add_dk_ = call.accumulates(packed ? 0 : 1);
    add_dv_ = call.accumulates(packed ? 0 : 2);
  }

  // What comes after the head that is run next; nullptr means nothing.
  void set_next(const Head* next) { next_ = next; }

  // dk and dv of the head's tiles of keys [first, end); `dq` becomes their part of dq / scale.
  void run(const Head& head, std::int64_t first, std::int64_t end, float* dq) {
    std::fill_n(dq, in_.rows * stride_, 0.0F);
    prefetch_.begin(in_.rows);
    foresee_queries(in_.q, head);
    foresee_keys(head, first * kKeyRows);
    in_.fill_limits(head.b, 0, {buffers_.limits, static_cast<std::size_t>(in_.rows)});
    for (std::int64_t r = 0; r < in_.rows; ++r) {
      prefetch_.step();
      const float* y = y_.read(in_.query(head.b, head.kv_head, r), buffers_.q);
      const float* dy = dy_.read(in_.query(head.b, head.kv_head, r), buffers_.dy);
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < D_; ++i) sum += y[i] * dy[i];
      buffers_.y_dy[r] = sum;
    }
    for (std::int64_t n = first; n < end; ++n) {
      const KeyTile tile = in_.key_tile(n * kKeyRows);
      foresee(head, tile, n + 1 == end);
      run_keys(head, tile, dq);
    }
  }

  void store_dq(const Head& head, float* dq) const {
    for (std::int64_t r = 0; r < in_.rows; ++r)
      dq_.store(in_.query(head.b, head.kv_head, r), in_.scale, dq + r * stride_, add_dq_);
  }

 private:
  // Prefetches where the tile's gradients go, and the next tile of keys, or what this head ends and the next
  // one begins with.
  void foresee(const Head& head, const KeyTile& tile, bool last) {
    prefetch_.begin(std::count_if(buffers_.limits, buffers_.limits + in_.rows,
                                  [&](std::int64_t limit) { return limit > tile.lowest; }));
    const HeadRows::Place first{.b = head.b, .token = tile.first, .head = head.kv_head};
    prefetch_.add(dk_.span_of(first, tile.count));
    prefetch_.add(dv_.span_of(first, tile.count));
    if (!last) return foresee_keys(head, tile.first + tile.count);
    foresee_queries(dq_, head);
    if (next_ == nullptr) return;
    foresee_queries(y_, *next_);
    foresee_queries(dy_, *next_);
  }
  void foresee_queries(const HeadRows& heads, const Head& head) {
    prefetch_.add(
        heads.span_of(in_.query(head.b, head.kv_head, 0), std::min(in_.extents.T, kMostForeseen), in_.group));
  }
  void foresee_keys(const Head& head, std::int64_t key) {
    const HeadRows::Place first{.b = head.b, .token = key, .head = head.kv_head};
    const std::int64_t count = std::min(kKeyRows, in_.extents.S - key);
    prefetch_.add(in_.k.span_of(first, count));
    prefetch_.add(in_.v.span_of(first, count));
  }

  void run_keys(const Head& head, const KeyTile& tile, float* dq) {
    load_keys(head, tile);
    std::fill_n(buffers_.dk, tile.count * stride_, 0.0F);
    std::fill_n(buffers_.dv, tile.count * stride_, 0.0F);
    for (std::int64_t first = 0; first < in_.rows; first += kQueryRows)
      run_tile(head, first, std::min(kQueryRows, in_.rows - first), tile, dq);
    for (std::int64_t j = 0; j < tile.count; ++j) {
      const HeadRows::Place at{.b = head.b, .token = tile.first + j, .head = head.kv_head};
      dk_.store(at, 1, buffers_.dk + j * stride_, add_dk_);
      dv_.store(at, 1, buffers_.dv + j * stride_, add_dv_);
    }
  }

  void load_keys(const Head& head, const KeyTile& tile) {
    const HeadRows::Place first{.b = head.b, .token = tile.first, .head = head.kv_head};
    in_.k.load_tile(first, tile.count, buffers_.k);
    in_.v.load_tile(first, tile.count, buffers_.v);
    transpose({.source = buffers_.k,
               .source_stride = stride_,
               .target = buffers_.k_transposed,
               .target_stride = kScoreStride},
              tile.count, D_);
    transpose({.source = buffers_.v,
               .source_stride = stride_,
               .target = buffers_.v_transposed,
               .target_stride = kScoreStride},
              tile.count, D_);
  }

  // Rows `first` to `first` + `rows` of the head, one tile of keys.
  void run_tile(const Head& head, std::int64_t first, std::int64_t rows, const KeyTile& tile, float* dq) {
    const SeenColumns seen({buffers_.limits + first, static_cast<std::size_t>(rows)}, tile);
    if (!seen.any()) return;
    for (std::int64_t i = 0; i < rows; ++i) {
      const HeadRows::Place at = in_.query(head.b, head.kv_head, first + i);
      in_.q.load(at, in_.scale, buffers_.q + i * stride_);
      dy_.load(at, 1, buffers_.dy + i * stride_);
    }
    SeenColumns::Extents extents;
    const auto per_score = seen.scores(D_, extents);
    multiply(scores(buffers_.q, buffers_.k_transposed, buffers_.p), rows, per_score);
    multiply(scores(buffers_.dy, buffers_.v_transposed, buffers_.ds), rows, per_score);
    for (std::int64_t i = 0; i < rows; ++i) run_row(head, first + i, i, seen.computed(i), tile);

    multiply({.c = dq + first * stride_,
              .c_stride = stride_,
              .a = buffers_.ds,
              .a_row = kScoreStride,
              .b = buffers_.k,
              .b_stride = stride_,
              .add = true},
             rows, seen.per_query(D_, extents));
    const auto per_key = seen.per_key(D_, extents);
    multiply(sums_over_queries(buffers_.p, buffers_.dy, buffers_.dv), tile.count, per_key);
    multiply(sums_over_queries(buffers_.ds, buffers_.q, buffers_.dk), tile.count, per_key);
  }

  TileProduct scores(const float* queries, const float* keys_transposed, float* result) const {
    return {.c = result,
            .c_stride = kScoreStride,
            .a = queries,
            .a_row = stride_,
            .b = keys_transposed,
            .b_stride = kScoreStride};
  }
  TileProduct sums_over_queries(const float* weights, const float* queries, float* result) const {
    return {.c = result,
            .c_stride = stride_,
            .a = weights,
            .a_row = 1,
            .a_column = kScoreStride,
            .b = queries,
            .b_stride = stride_,
            .add = true};
  }

  // Row i of the tiles, which is row r of the head: from scores and dy v^T to p f and ds.
  void run_row(const Head& head, std::int64_t r, std::int64_t i, std::int64_t columns, const KeyTile& tile) {
    float* p = buffers_.p + i * kScoreStride;
    float* ds = buffers_.ds + i * kScoreStride;
    const HeadRows::Place at = in_.query(head.b, head.kv_head, r);
    prefetch_.step();
    tile.mask(p, columns, buffers_.limits[r]);
    const float base = finite_base(statistics_[in_.query_number(at)]);
    const float y_dy = buffers_.y_dy[r];
    if (in_.drops) {
      float* factors = buffers_.factors;
      in_.dropout_factors(at, tile, columns, factors);
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) {
        const float probability = fast_exp(p[j] - base);
        p[j] = probability * factors[j];
        ds[j] = probability * (factors[j] * ds[j] - y_dy);
      }
    } else {
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) {
        p[j] = fast_exp(p[j] - base);
        ds[j] = p[j] * (ds[j] - y_dy);
      }
    }
    // Sums over queries go through whole panels, of which some may see less.
    std::fill(p + columns, p + padded_width(tile.count), 0.0F);
    std::fill(ds + columns, ds + padded_width(tile.count), 0.0F);
  }

  const AttentionOperands& in_;
  const Buffers buffers_;
  const std::int64_t D_;
  const std::int64_t stride_;
  const HeadRows y_, dy_;
  const float* const statistics_;
  HeadRows dq_, dk_, dv_;
  bool add_dq_, add_dk_, add_dv_;
  const Head* next_ = nullptr;
  RowPrefetch prefetch_;
};

std::int64_t attention_grad_workspace(const OpView& op, int threads) {
  return threads * bytes_per_thread(attention_extents(op));
}

void attention_grad_kernel(const KernelCall& call) {
  const AttentionOperands in(call);
  const AttentionExtents& e = in.extents;
  const std::int64_t tiles = in.key_tiles(), units = e.B * e.K * tiles;
  const auto head_of = [&](std::int64_t unit) {
    return Head{.b = unit / tiles / e.K, .kv_head = unit / tiles % e.K};
  };
  const int threads = attention_threads(e, call.threads);
  const auto run_of = [&](std::int64_t part) {
    return balanced_part(units, {.part = part, .parts = threads}, [&](std::int64_t unit) {
      return 1 + in.tokens_seeing(head_of(unit).b, unit % tiles * kKeyRows);
    });
  };
  const std::int64_t each = bytes_per_thread(e);
  const auto buffers_of = [&](std::int64_t part) {
    WorkspaceSlices slices(call.workspace.data() + part * each);
    return Buffers(slices, e);
  };

  parallel_for(threads, threads, [&](std::int64_t part, std::int64_t, int) {
    const Buffers buffers = buffers_of(part);
    Gradient gradient(in, call, buffers);
    const UnitRange mine = run_of(part);
    for (std::int64_t unit = mine.first; unit < mine.end;) {
      const std::int64_t first = unit % tiles, end = std::min(tiles, first + mine.end - unit);
      float* dq = first == 0 ? buffers.dq_begun_here : buffers.dq_begun_before;
      const Head next = head_of(unit + end - first);
      gradient.set_next(unit + end - first < mine.end ? &next : nullptr);
      gradient.run(head_of(unit), first, end, dq);
      if (first == 0 && end == tiles) gradient.store_dq(head_of(unit), dq);
      unit += end - first;
    }
  });
  // Heads that were cut: whoever began one adds the others' parts.
  parallel_for(threads, threads, [&](std::int64_t part, std::int64_t, int) {
    const UnitRange mine = run_of(part);
    const std::int64_t begin = mine.end / tiles * tiles, end = begin + tiles;
    if (mine.end == begin || begin < mine.first) return;
    const Buffers buffers = buffers_of(part);
    const std::int64_t elements = in.rows * tile_stride(e.D);
    for (std::int64_t other = part + 1; other < threads && run_of(other).first < end; ++other) {
      if (run_of(other).first == run_of(other).end) continue;
      const float* dq = buffers_of(other).dq_begun_before;
      for (std::int64_t i = 0; i < elements; ++i) buffers.dq_begun_here[i] += dq[i];
    }
    Gradient(in, call, buffers).store_dq(head_of(begin), buffers.dq_begun_here);
  });
}

}  // namespace

const KernelEntry attention_grad_entry{attention_grad_kernel, attention_grad_workspace, true};

}  // namespace nadi::inline engines::cpu
