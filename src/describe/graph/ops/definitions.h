// The definitions that graph/ops/table.cpp collects, one function per op. A new op adds its line here and
// there.
#pragma once

#include "nadi/graph/op_definition.h"

namespace nadi::inline describe {

OpDefinition matmul_definition();
OpDefinition attention_definition();
OpDefinition attention_grad_definition();
OpDefinition softmax_definition();
OpDefinition softmax_grad_definition();
OpDefinition repeat_heads_definition();
OpDefinition sum_head_groups_definition();
OpDefinition layer_norm_definition();
OpDefinition layer_norm_grad_definition();
OpDefinition rms_norm_definition();
OpDefinition rms_norm_grad_definition();
OpDefinition gelu_definition();
OpDefinition gelu_grad_definition();
OpDefinition swiglu_definition();
OpDefinition swiglu_grad_definition();
OpDefinition rotary_definition();
OpDefinition add_definition();
OpDefinition dropout_definition();
OpDefinition sum_rows_definition();
OpDefinition copy_definition();
OpDefinition cast_definition();
OpDefinition quantize_fp8_definition();
OpDefinition concat_definition();
OpDefinition fill_definition();
OpDefinition embedding_definition();
OpDefinition embedding_grad_definition();
OpDefinition cross_entropy_definition();
OpDefinition cross_entropy_grad_definition();
OpDefinition argmax_definition();
OpDefinition sample_definition();
OpDefinition select_rows_definition();
OpDefinition cache_write_definition();
OpDefinition advance_definition();
OpDefinition take_tokens_definition();
OpDefinition vocab_max_definition();
OpDefinition vocab_sums_definition();
OpDefinition sharded_cross_entropy_definition();
OpDefinition reshape_definition();
OpDefinition permute_definition();
OpDefinition split_definition();
OpDefinition copy_to_group_definition();
OpDefinition adamw_definition();
OpDefinition sgd_definition();
OpDefinition sgd_sai_definition();
OpDefinition squared_norm_definition();
OpDefinition grad_scale_definition();
OpDefinition update_loss_scale_definition();
OpDefinition next_update_definition();
OpDefinition all_reduce_definition();
OpDefinition all_reduce_grad_definition();
OpDefinition reduce_definition();
OpDefinition all_gather_definition();
OpDefinition reduce_scatter_definition();
OpDefinition bucket_reduce_scatter_definition();
OpDefinition bucket_all_gather_definition();
OpDefinition broadcast_definition();
OpDefinition all_to_all_definition();
OpDefinition send_definition();
OpDefinition receive_definition();

}  // namespace nadi::inline describe
