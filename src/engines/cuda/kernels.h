// The kernels of the CUDA engine, by file, and the table of them. kernel.h says what a kernel is.
#pragma once

#include "nadi/cuda/fusing.h"
#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

// The kernel of a single op, or of several that are fused. nullptr where there is none: views, fp8, and ops
// that meet other ranks.
Kernel kernel_of(OpKind kind);
Kernel kernel_of(FusedKind fused);

// matmul_kernel.cpp
void matmul_kernel(const KernelCall& call);
void matmul_add_kernel(const KernelCall& call);

// joined_products_kernel.cpp
void joined_products_kernel(const KernelCall& call);

// attention_kernels.cpp
void attention_kernel(const KernelCall& call);
void attention_grad_kernel(const KernelCall& call);

// softmax_kernels.cu
void softmax_kernel(const KernelCall& call);
void softmax_grad_kernel(const KernelCall& call);
void repeat_heads_kernel(const KernelCall& call);
void sum_head_groups_kernel(const KernelCall& call);

// norm_kernels.cu, norm_gradient_kernels.cu
void layer_norm_kernel(const KernelCall& call);
void layer_norm_grad_kernel(const KernelCall& call);
void rms_norm_kernel(const KernelCall& call);
void rms_norm_grad_kernel(const KernelCall& call);
void residual_norm_kernel(const KernelCall& call);
void norm_grad_sum_kernel(const KernelCall& call);

// activation_kernels.cu
void gelu_kernel(const KernelCall& call);
void gelu_grad_kernel(const KernelCall& call);
void gelu_grad_sums_kernel(const KernelCall& call);
void swiglu_kernel(const KernelCall& call);
void swiglu_grad_kernel(const KernelCall& call);

// rotary_kernel.cu
void rotary_kernel(const KernelCall& call);

// elementwise_kernels.cu, strided_copy.cu
void add_kernel(const KernelCall& call);
void dropout_kernel(const KernelCall& call);
void sum_rows_kernel(const KernelCall& call);
void copy_kernel(const KernelCall& call);  // also cast, and collectives of a group of one rank; any strides
void concat_kernel(const KernelCall& call);
void fill_kernel(const KernelCall& call);
void all_reduce_grad_kernel(const KernelCall& call);

// lookup_kernels.cu
void embedding_kernel(const KernelCall& call);
void embeddings_sum_kernel(const KernelCall& call);
void select_rows_kernel(const KernelCall& call);
void cache_write_kernel(const KernelCall& call);
void advance_kernel(const KernelCall& call);
void take_tokens_kernel(const KernelCall& call);

// embedding_grad_kernel.cu
void embedding_grad_kernel(const KernelCall& call);

// sample_kernels.cu
void argmax_kernel(const KernelCall& call);
void sample_kernel(const KernelCall& call);

// loss_kernels.cu
void cross_entropy_kernel(const KernelCall& call);
void cross_entropy_grad_kernel(const KernelCall& call);
void vocab_max_kernel(const KernelCall& call);
void vocab_sums_kernel(const KernelCall& call);
void sharded_cross_entropy_kernel(const KernelCall& call);

// loss_grad_sums_kernel.cu, loss_with_gradient_kernel.cu
void loss_grad_sums_kernel(const KernelCall& call);
void loss_with_gradient_kernel(const KernelCall& call);
void gradient_of_loss_kernel(const KernelCall& call);

// optimizer_kernels.cu
void adamw_kernel(const KernelCall& call);
void sgd_kernel(const KernelCall& call);
void sgd_sai_kernel(const KernelCall& call);

// gradient_scaling_kernels.cu
void squared_norm_kernel(const KernelCall& call);
void grad_scale_kernel(const KernelCall& call);
void update_loss_scale_kernel(const KernelCall& call);
void next_update_kernel(const KernelCall& call);

// decode_kernels.cu: products with few rows, in which reading the weights is all that takes time
void decode_norm_products_kernel(const KernelCall& call);
void decode_gated_products_kernel(const KernelCall& call);
void decode_product_add_kernel(const KernelCall& call);

}  // namespace nadi::inline engines::cuda
