#include <array>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

std::vector<OpDefinition> make_table() {
  std::vector<OpDefinition> table{
      matmul_definition(),
      attention_definition(),
      attention_grad_definition(),
      softmax_definition(),
      softmax_grad_definition(),
      repeat_heads_definition(),
      sum_head_groups_definition(),
      layer_norm_definition(),
      layer_norm_grad_definition(),
      rms_norm_definition(),
      rms_norm_grad_definition(),
      gelu_definition(),
      gelu_grad_definition(),
      swiglu_definition(),
      swiglu_grad_definition(),
      rotary_definition(),
      add_definition(),
      dropout_definition(),
      sum_rows_definition(),
      copy_definition(),
      cast_definition(),
      quantize_fp8_definition(),
      concat_definition(),
      fill_definition(),
      embedding_definition(),
      embedding_grad_definition(),
      cross_entropy_definition(),
      cross_entropy_grad_definition(),
      argmax_definition(),
      sample_definition(),
      select_rows_definition(),
      cache_write_definition(),
      advance_definition(),
      take_tokens_definition(),
      vocab_max_definition(),
      vocab_sums_definition(),
      sharded_cross_entropy_definition(),
      reshape_definition(),
      permute_definition(),
      split_definition(),
      copy_to_group_definition(),
      adamw_definition(),
      sgd_definition(),
      sgd_sai_definition(),
      squared_norm_definition(),
      grad_scale_definition(),
      update_loss_scale_definition(),
      next_update_definition(),
      all_reduce_definition(),
      all_reduce_grad_definition(),
      reduce_definition(),
      all_gather_definition(),
      reduce_scatter_definition(),
      bucket_reduce_scatter_definition(),
      bucket_all_gather_definition(),
      broadcast_definition(),
      all_to_all_definition(),
      send_definition(),
      receive_definition(),
  };
  check(table.size() == kOpKindCount, "the op table lacks an op");
  for (std::size_t i = 0; i < table.size(); ++i)
    check(table[i].kind == OpKind{static_cast<std::uint8_t>(i)},
          "the op table is not in the order of OpKind");
  return table;
}

const std::vector<OpDefinition>& table() {
  static const std::vector<OpDefinition> kTable = make_table();
  return kTable;
}

}  // namespace

const OpDefinition& definition(OpKind kind) {
  return table()[static_cast<std::size_t>(kind)];
}

}  // namespace nadi::inline describe
