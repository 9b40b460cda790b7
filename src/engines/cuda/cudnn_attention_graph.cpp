#include "nadi/cuda/cudnn_attention_graph.h"

#include <limits>
#include <optional>

namespace nadi::inline engines::cuda {
namespace {

using Ids = CudnnAttentionPlan::Ids;

class AttentionGraph {
 public:
  AttentionGraph(const CudnnLibrary& cudnn, const CudnnAttentionProblem& problem)
      : p_(problem),
        version_(cudnn.version),
        graph_(cudnn),
        scores_extents_{p_.B, p_.H, p_.T, p_.S},
        row_extents_{p_.B, p_.H, p_.T, 1} {}

  CudnnAttentionPlan plan(cudnnHandle_t handle, std::int64_t workspace_limit) {
    if (p_.gradient)
      add_gradient();
    else
      add_forward();
    return {.plan = graph_.plan(handle, workspace_limit, preferred_kernel()), .ids = ids_};
  }

 private:
  // The first proposals of early versions are slower than the second ones for sequences that are not long.
  // On an H200 with 9.14, D = 64: 44 us instead of 61 (32 x 384 tokens, 12 heads), 152 instead of 165
  // (32 x 1024, causal), 179 instead of 168 (1 x 4096, 32 heads, causal).
  std::optional<std::int64_t> preferred_kernel() const {
    if (p_.gradient || version_ >= kKnowsTheFasterKernel || p_.S >= kLongSequence) return std::nullopt;
    return kFasterKernel;
  }
  static constexpr std::size_t kKnowsTheFasterKernel = 91900;
  static constexpr std::int64_t kFasterKernel = 7;
  static constexpr std::int64_t kLongSequence = 2048;

  CudnnTensor heads(std::int64_t heads, std::int64_t tokens, const TokenStrides& strides) {
    return graph_.tensor(p_.type, {p_.B, heads, tokens, p_.D}, {strides.sequence, p_.D, strides.token, 1});
  }
  // [B, K, D, S]: as the second factor of a product.
  CudnnTensor transposed(const TokenStrides& strides) {
    return graph_.tensor(p_.type, {p_.B, p_.K, p_.D, p_.S}, {strides.sequence, p_.D, 1, strides.token});
  }
  CudnnTensor rows() { return graph_.tensor(CUDNN_DATA_FLOAT, row_extents_, {p_.H * p_.T, p_.T, 1, 1}); }

  CudnnTensor masked(const CudnnTensor& scores, const CudnnTensor& mask) {
    const CudnnTensor nothing = graph_.scalar(-std::numeric_limits<float>::infinity());
    return graph_.pointwise(CUDNN_POINTWISE_BINARY_SELECT, {scores, nothing, mask});
  }
  CudnnTensor without_padding(const CudnnTensor& scores) {
    if (!p_.lengths) return scores;
    const CudnnTensor query = graph_.index(scores, 2);
    const CudnnTensor key = graph_.index(scores, 3);
    const CudnnTensor is_query = graph_.compare(CUDNN_POINTWISE_CMP_LT, query, *query_lengths_);
    const CudnnTensor is_key = graph_.compare(CUDNN_POINTWISE_CMP_LT, key, *key_lengths_);
    return masked(scores, graph_.compare(CUDNN_POINTWISE_LOGICAL_AND, is_query, is_key));
  }
  CudnnTensor without_later_keys(const CudnnTensor& scores) {
    if (!p_.causal) return scores;
    const CudnnTensor query = graph_.index(scores, 2);
    const CudnnTensor key = graph_.index(scores, 3);
    return masked(scores, graph_.compare(CUDNN_POINTWISE_CMP_GE, query, key));
  }
  void add_lengths() {
    if (!p_.lengths) return;
    query_lengths_ = graph_.tensor(CUDNN_DATA_INT32, {p_.B, 1, 1, 1}, {1, 1, 1, 1});
    key_lengths_ = graph_.tensor(CUDNN_DATA_INT32, {p_.B, 1, 1, 1}, {1, 1, 1, 1});
    ids_.query_lengths = query_lengths_->id;
    ids_.key_lengths = key_lengths_->id;
  }

  // For products that sum over keys.
  CudnnLengths per_query() const { return {.m = query_lengths_, .k = key_lengths_}; }

  CudnnTensor scaled_scores(const CudnnTensor& q, const CudnnTensor& k_transposed) {
    CudnnLengths lengths{.m = query_lengths_, .n = key_lengths_};
    if (p_.lengths && !p_.gradient) lengths.padding = 0;
    const CudnnTensor scores = graph_.matmul(q, k_transposed, graph_.inner(scores_extents_), lengths);
    return graph_.pointwise(CUDNN_POINTWISE_MUL, {scores, *(scale_ = graph_.scalar(p_.scale))});
  }

  void add_forward() {
    add_lengths();
    const CudnnTensor q = heads(p_.H, p_.T, p_.q), k = transposed(p_.k), v = heads(p_.K, p_.S, p_.v);
    const CudnnTensor y = heads(p_.H, p_.T, p_.y);
    ids_.q = q.id, ids_.k = k.id, ids_.v = v.id, ids_.y = y.id;
    const CudnnTensor scores = without_later_keys(without_padding(scaled_scores(q, k)));
    const CudnnTensor most = graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, graph_.inner(row_extents_));
    const CudnnTensor powers =
        graph_.pointwise(CUDNN_POINTWISE_EXP, {graph_.pointwise(CUDNN_POINTWISE_SUB, {scores, most})});
    const CudnnTensor sum = graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, graph_.inner(row_extents_));
    const CudnnTensor log = graph_.pointwise(CUDNN_POINTWISE_LOG, {sum});
    const CudnnTensor statistics = p_.statistics ? rows() : graph_.inner(row_extents_);
    if (p_.statistics) ids_.statistics = statistics.id;
    graph_.pointwise(CUDNN_POINTWISE_ADD, {most, log}, statistics);
    const CudnnTensor probabilities =
        graph_.pointwise(CUDNN_POINTWISE_DIV, {powers, sum}, graph_.inner(scores_extents_, p_.type));
    graph_.matmul(probabilities, v, y, per_query());
  }

  CudnnTensor transposed_scores(const CudnnTensor& x) {
    return graph_.transpose(x, graph_.inner({p_.B, p_.H, p_.S, p_.T}, p_.type,
                                            CudnnExtents{p_.H * p_.T * p_.S, p_.T * p_.S, 1, p_.S}));
  }
  // Products per query head; the heads of a group are summed.
  void key_gradient(const CudnnTensor& a, const CudnnTensor& b, const CudnnTensor& out) {
    const CudnnLengths lengths{.m = key_lengths_, .k = query_lengths_};
    if (p_.H == p_.K) {
      graph_.matmul(a, b, out, lengths);
    } else {
      const CudnnTensor per_head =
          graph_.matmul(a, b, graph_.inner({p_.B, p_.H, p_.S, p_.D}, p_.type), lengths);
      graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, per_head, out);
    }
  }

  void add_gradient() {
    add_lengths();
    const CudnnTensor q = heads(p_.H, p_.T, p_.q), k = transposed(p_.k), v = transposed(p_.v);
    const CudnnTensor y = heads(p_.H, p_.T, p_.y), dy = heads(p_.H, p_.T, p_.dy);
    const CudnnTensor dq = heads(p_.H, p_.T, p_.dq), dk = heads(p_.K, p_.S, p_.dk),
                      dv = heads(p_.K, p_.S, p_.dv);
    const CudnnTensor statistics = rows(), y_dot_dy = rows();
    ids_ = {.q = q.id,
            .k = k.id,
            .v = v.id,
            .y = y.id,
            .statistics = statistics.id,
            .query_lengths = ids_.query_lengths,
            .key_lengths = ids_.key_lengths,
            .dy = dy.id,
            .dq = dq.id,
            .dk = dk.id,
            .dv = dv.id,
            .y_dot_dy = y_dot_dy.id};

    const CudnnTensor products = graph_.pointwise(CUDNN_POINTWISE_MUL, {dy, y});
    const CudnnTensor sums = graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, products, graph_.inner(row_extents_));
    graph_.pointwise(CUDNN_POINTWISE_MUL, {sums, graph_.scalar(1)}, y_dot_dy);

    const CudnnTensor scores = without_padding(scaled_scores(q, k));
    const CudnnTensor logarithms = graph_.pointwise(CUDNN_POINTWISE_SUB, {scores, statistics});
    const CudnnTensor probabilities = graph_.pointwise(CUDNN_POINTWISE_EXP, {without_later_keys(logarithms)});
    key_gradient(transposed_scores(probabilities), dy, dv);

    const CudnnTensor d_probabilities =
        graph_.matmul(dy, v, graph_.inner(scores_extents_), {.m = query_lengths_, .n = key_lengths_});
    const CudnnTensor centred = graph_.pointwise(CUDNN_POINTWISE_SUB, {d_probabilities, y_dot_dy});
    const CudnnTensor d_softmax = graph_.pointwise(CUDNN_POINTWISE_MUL, {centred, probabilities});
    const CudnnTensor d_scores = graph_.pointwise(CUDNN_POINTWISE_MUL, {d_softmax, *scale_});
    key_gradient(transposed_scores(d_scores), q, dk);

    const CudnnTensor keys = graph_.transpose(
        k, graph_.inner({p_.B, p_.K, p_.S, p_.D}, p_.type, CudnnExtents{p_.k.sequence, p_.D, p_.k.token, 1}));
    if (p_.deterministic) {
      graph_.matmul(d_scores, keys, dq, per_query());
    } else {
      const CudnnTensor dq_sums =
          graph_.tensor(CUDNN_DATA_FLOAT, q.extents, {p_.H * p_.T * p_.D, p_.T * p_.D, p_.D, 1});
      ids_.dq_sums = dq_sums.id;
      graph_.matmul(d_scores, keys, dq_sums, per_query());
      graph_.pointwise(CUDNN_POINTWISE_IDENTITY, {dq_sums}, dq);
    }
  }

  const CudnnAttentionProblem& p_;
  const std::size_t version_;
  CudnnGraph graph_;
  const CudnnExtents scores_extents_, row_extents_;
  Ids ids_;
  std::optional<CudnnTensor> scale_, query_lengths_, key_lengths_;
};

}  // namespace

CudnnAttentionPlan plan_attention(const CudnnLibrary& cudnn, cudnnHandle_t handle,
                                  const CudnnAttentionProblem& problem, std::int64_t workspace_limit) {
  return AttentionGraph(cudnn, problem).plan(handle, workspace_limit);
}

}  // namespace nadi::inline engines::cuda
