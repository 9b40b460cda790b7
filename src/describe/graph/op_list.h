// Every op, one line each: NADI_OP(its name in OpKind, the name of its functions). Included wherever something exists once for each op:
// OpKind (op.h), the definitions (ops/<name>_definition()), the kernels of engines (<name>_kernel or <name>_entry). So a new op is a line here,
// and the linker names each of its functions that is missing. Not guarded: it is meant to be included several times.
//
//   #define NADI_OP(kind, name) OpDefinition name##_definition();
//   #include "nadi/graph/op_list.h"
#ifndef NADI_OP
#define NADI_OP(kind, name)
#endif

// Matrix products and attention
NADI_OP(Matmul, matmul)
NADI_OP(Attention, attention)
NADI_OP(AttentionGrad, attention_grad)
NADI_OP(Softmax, softmax)
NADI_OP(SoftmaxGrad, softmax_grad)
NADI_OP(RepeatHeads, repeat_heads)
NADI_OP(SumHeadGroups, sum_head_groups)

// Norms, activations, element-wise
NADI_OP(LayerNorm, layer_norm)
NADI_OP(LayerNormGrad, layer_norm_grad)
NADI_OP(RmsNorm, rms_norm)
NADI_OP(RmsNormGrad, rms_norm_grad)
NADI_OP(Gelu, gelu)
NADI_OP(GeluGrad, gelu_grad)
NADI_OP(Swiglu, swiglu)
NADI_OP(SwigluGrad, swiglu_grad)
NADI_OP(Rotary, rotary)
NADI_OP(Add, add)
NADI_OP(Dropout, dropout)
NADI_OP(SumRows, sum_rows)
NADI_OP(Copy, copy)
NADI_OP(Cast, cast)
NADI_OP(QuantizeFp8, quantize_fp8)
NADI_OP(Concat, concat)
NADI_OP(Fill, fill)

// Lookups and loss
NADI_OP(Embedding, embedding)
NADI_OP(EmbeddingGrad, embedding_grad)
NADI_OP(CrossEntropy, cross_entropy)
NADI_OP(CrossEntropyGrad, cross_entropy_grad)
NADI_OP(Argmax, argmax)
NADI_OP(Sample, sample)
NADI_OP(SelectRows, select_rows)
NADI_OP(CacheWrite, cache_write)
NADI_OP(Advance, advance)
NADI_OP(TakeTokens, take_tokens)
NADI_OP(VocabMax, vocab_max)
NADI_OP(VocabSums, vocab_sums)
NADI_OP(ShardedCrossEntropy, sharded_cross_entropy)

// Experts: which tokens go where, and products with a weight for each
NADI_OP(Route, route)
NADI_OP(RouteGrad, route_grad)
NADI_OP(PlaceTokens, place_tokens)
NADI_OP(PermuteTokens, permute_tokens)
NADI_OP(UnpermuteTokens, unpermute_tokens)
NADI_OP(GroupedMatmul, grouped_matmul)
NADI_OP(GroupedMatmulGrad, grouped_matmul_grad)
NADI_OP(WeightedSwiglu, weighted_swiglu)
NADI_OP(WeightedSwigluGrad, weighted_swiglu_grad)
NADI_OP(SigmoidGate, sigmoid_gate)
NADI_OP(SigmoidGateGrad, sigmoid_gate_grad)
NADI_OP(RouterSums, router_sums)
NADI_OP(RouterSumsGrad, router_sums_grad)
NADI_OP(BalanceLoss, balance_loss)
NADI_OP(BalanceLossGrad, balance_loss_grad)
NADI_OP(RouterZLoss, router_z_loss)
NADI_OP(RouterZLossGrad, router_z_loss_grad)
NADI_OP(UpdateExpertBias, update_expert_bias)
NADI_OP(PlaceReceived, place_received)

// Views: cost nothing and move nothing
NADI_OP(Reshape, reshape)
NADI_OP(Permute, permute)
NADI_OP(Split, split)
NADI_OP(CopyToGroup, copy_to_group)

// Optimizer
NADI_OP(AdamW, adamw)
NADI_OP(Sgd, sgd)
NADI_OP(SgdSai, sgd_sai)
NADI_OP(SquaredNorm, squared_norm)
NADI_OP(GradScale, grad_scale)
NADI_OP(UpdateLossScale, update_loss_scale)
NADI_OP(NextUpdate, next_update)

// Communication
NADI_OP(AllReduce, all_reduce)
NADI_OP(AllReduceGrad, all_reduce_grad)
NADI_OP(Reduce, reduce)
NADI_OP(AllGather, all_gather)
NADI_OP(ReduceScatter, reduce_scatter)
NADI_OP(BucketReduceScatter, bucket_reduce_scatter)
NADI_OP(BucketAllGather, bucket_all_gather)
NADI_OP(Broadcast, broadcast)
NADI_OP(AllToAll, all_to_all)
NADI_OP(ExchangeRows, exchange_rows)
NADI_OP(Send, send)
NADI_OP(Receive, receive)

#undef NADI_OP
