#include "nadi/analysis/kind_patterns.h"

#include <gmock/gmock.h>

#include "nadi/base/error.h"
#include "nadi/testing/temporary_file.h"

namespace nadi::inline traces {
namespace {

using testing::HasSubstr;

struct RealName {
  std::string_view name;
  WorkKind kind;
};

// Names as profilers wrote them, from V100 to B300 and MI300, with long arguments shortened.
constexpr RealName kRealNames[] = {
    // FBGEMM's are lookups and permutations.
    {"void fbgemm_gpu::permute_2D_data_kernel<false, long, long>(int)", WorkKind::kIndexing},
    {"void split_embedding_codegen_forward_unweighted_kernel<float, fbgemm_gpu::Vec4T<float>>(x)",
     WorkKind::kIndexing},
    {"void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<float>(x)",
     WorkKind::kIndexing},
    {"void permute_pooled_embs_kernel<float>(float const*)", WorkKind::kIndexing},
    {"void fbgemm_gpu::_block_bucketize_sparse_features_cuda_kernel2<false, false, int>(int)",
     WorkKind::kIndexing},
    {"void fbgemm_gpu::_offsets_range_cuda_kernel<int>(long)", WorkKind::kIndexing},
    {"void fbgemm_gpu::(anonymous namespace)::_FP8rowwise_to_float_cuda_kernel<float>(x)",
     WorkKind::kElementwise},
    {"split_eb_bwd_rowwise_adagrad-dtype_Half", WorkKind::kIndexing},
    // Matrix products.
    {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN", WorkKind::kMatrixProduct},
    {"Cijk_B_PostGSU2", WorkKind::kMatrixProduct},
    {"bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_sm100f", WorkKind::kMatrixProduct},
    {"bmm_Bfloat16_Bfloat16Bfloat16_Fp32_t128x8x128u2_s6_swiGlu_dynB_sm100f", WorkKind::kMatrixProduct},
    {"nvjet_sm90_tst_96x128_64x7_2x1_v_bz_TNN", WorkKind::kMatrixProduct},
    {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>>>(x)",
     WorkKind::kMatrixProduct},
    {"volta_sgemm_64x64_nt", WorkKind::kMatrixProduct},
    {"_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu", WorkKind::kMatrixProduct},
    {"aiter_fused_moe_kernel_bf16", WorkKind::kMatrixProduct},
    {"ck_moe_stage1_kernel<BF16, 128, 128>", WorkKind::kMatrixProduct},
    {"triton__moe_fused_kernel_0d1d2d3d4d5d6d7d8d9d10d", WorkKind::kMatrixProduct},
    {"triton_tem_fused_mm_3", WorkKind::kMatrixProduct},
    // Attention: FlashAttention 2 and 3, CK, aiter, SageAttention, the servers' own.
    {"void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>(x)",
     WorkKind::kAttention},
    {"void flash::compute_attn_ws<Flash_fwd_kernel_traits<128, 128>>(x)", WorkKind::kAttention},
    {"aiter::fmha_fwd_hd128_bf16_rtz", WorkKind::kAttention},
    {"_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_40BlockFmha",
     WorkKind::kAttention},
    {"void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16>(x)", WorkKind::kAttention},
    {"kernel_unified_attention_2d", WorkKind::kAttention},
    {"fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ8Kv128", WorkKind::kAttention},
    {"attn_fwd.kd", WorkKind::kAttention},
    {"sage_fwd", WorkKind::kAttention},
    {"_fwd_grouped_kernel_stage1", WorkKind::kAttention},
    {"void flashinfer::BatchDecodeWithPagedKVCacheKernel<x>(x)", WorkKind::kAttention},
    // The KV cache.
    {"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>(x)", WorkKind::kCopy},
    {"void (anonymous namespace)::store_kvcache<2048l, 4, false, long>(x)", WorkKind::kCopy},
    {"create_flashinfer_kv_indices_triton", WorkKind::kIndexing},
    // Norms of FlashInfer and others, which are no attention.
    {"kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnormFusedAddRMSNormKernel_object_at",
     WorkKind::kNorm},
    {"void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(x)", WorkKind::kNorm},
    {"std::enable_if<x>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(x)", WorkKind::kNorm},
    {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_", WorkKind::kNorm},
    {"void (anonymous namespace)::fused_qknorm_warp<128l>(x)", WorkKind::kNorm},
    {"void layer_norm::ln_fwd_kernel<layer_norm::Kernel_traits<__nv_bfloat16, float, 7168u>>(x)",
     WorkKind::kNorm},
    {"void layer_norm::ln_bwd_finalize_kernel<layer_norm::Kernel_traits_finalize<7168u>>(x)",
     WorkKind::kNorm},
    {"void transformer_engine::normalization::rmsnorm_bwd_tuned_kernel<x>(x)", WorkKind::kNorm},
    // Rotary embeddings, activations, quantization.
    {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", WorkKind::kElementwise},
    {"void (anonymous namespace)::fused_rope_kernel<true, 128l>(x)", WorkKind::kElementwise},
    {"void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel>(x)", WorkKind::kElementwise},
    {"void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16>(x)", WorkKind::kElementwise},
    {"void cuda::per_token_cast_to_fp8_with_channels<__nv_bfloat16, 128>(x)", WorkKind::kElementwise},
    {"sage_quant_kernel", WorkKind::kElementwise},
    // Mixtures of experts: routing.
    {"void moe::dev::routing::routingIndicesHistogramKernel<x>(x)", WorkKind::kIndexing},
    {"void moe::dev::finalize::finalizeKernelVecLoad<moe::dev::finalize::KernelParams<cutlass::bfloat16_t, "
     "4, true>>(x)",
     WorkKind::kReduction},
    {"aiter::topksoftmax_4x128x8_bf16", WorkKind::kIndexing},
    {"void sglang::moe_align_block_size_kernel<int>(x)", WorkKind::kIndexing},
    {"moe_sum_kernel<BF16>", WorkKind::kReduction},
    // Beside grouped products there are copies.
    {"void dpsk::grouped_gemm::cuda::utils::transpose<512, 128, 4, 4>(x)", WorkKind::kCopy},
    // Convolutions of cuDNN and MIOpen.
    {"void cutlass_cudnn_train::Kernel<cutlass_tensorop_s1688wgrad_optimized_tf32_256x128_16x3_nhwc>(x)",
     WorkKind::kConvolution},
    {"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64>(x)",
     WorkKind::kConvolution},
    {"_ZN2ck16tensor_operation6device37kernel_batched_gemm_xdlops_bwd_weightINS_47GridwiseGemm_bk0mk1",
     WorkKind::kConvolution},
    {"void implicit_convolve_sgemm<float, float, 128>(x)", WorkKind::kConvolution},
    {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32", WorkKind::kConvolution},
    {"_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_"
     "34GridwiseGemm",
     WorkKind::kConvolution},
    {"void fft2d_r2c_16x16<float>(float2*)", WorkKind::kConvolution},
    // Inductor: what was fused into an elementwise kernel does not make it a matrix product.
    {"triton_poi_fused_addmm_cat_gelu_view_25", WorkKind::kElementwise},
    {"triton_red_fused_add_addmm_cat_mul_native_layer_norm_slice_split_unsqueeze_27", WorkKind::kNorm},
    {"triton_per_fused_add_mean_mul_pow_rsqrt_0", WorkKind::kNorm},
    {"triton_red_fused__softmax_3", WorkKind::kSoftmax},
    {"triton_red_fused_abs_amax_transpose_view_32", WorkKind::kReduction},
    {"triton__0d1d2d3d4d5d6d", WorkKind::kElementwise},
    // PyTorch's own.
    {"void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>(x)", WorkKind::kReduction},
    {"void at::native::(anonymous namespace)::upsample_nearest2d_out_frame<c10::BFloat16, "
     "&at::native::nearest_neighbor_compute_source_index>(x)",
     WorkKind::kElementwise},
    {"void at::native::triu_tril_kernel<float, int, false>(x)", WorkKind::kElementwise},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::addmm_scale<float>>(int)",
     WorkKind::kElementwise},
    {"void transpose_readWrite_alignment_kernel<float2, cublasGemvTensor>(x)", WorkKind::kCopy},
    {"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<int>>(x)", WorkKind::kIndexing},
    {"void cunn_ClassNLLCriterion_updateOutput_kernel<float>(x)", WorkKind::kSoftmax},
    // Of servers and of libraries for training that the profiles at hand do not show, as their sources name them.
    {"void cuComputeGradInput<c10::Half, float, c10::Half>(x)", WorkKind::kNorm},
    {"void fused_residual_ln<__half, 4>(x)", WorkKind::kNorm},
    {"void transformer_engine::gated_act_kernel<8, __nv_bfloat16>(x)", WorkKind::kElementwise},
    {"void vllm::apply_repetition_penalties_kernel<float>(x)", WorkKind::kElementwise},
    {"void at::native::_amp_update_scale_cuda_kernel(x)", WorkKind::kElementwise},
    {"void bias_add_transform_0213<__half>(x)", WorkKind::kCopy},
    {"void at::native::detail::chunk_cat_cuda_kernel<float, c10::BFloat16>(x)", WorkKind::kCopy},
    {"void at::native::(anonymous namespace)::krn_partials_per_segment<int>(x)", WorkKind::kIndexing},
    {"void flashinfer::sampling::SamplingFromProbKernel<1024u>(x)", WorkKind::kIndexing},
    {"_fwd_kernel_ep_scatter_1", WorkKind::kIndexing},
    {"chunk_gated_delta_rule_fwd_kernel_h_blockdim64", WorkKind::kAttention},
    {"void deep_gemm::sm90_fp8_gemm_1d2d_impl<1u>(x)", WorkKind::kMatrixProduct},
    // Nothing is said.
    {"at::cuda::(anonymous namespace)::spin_kernel(long)", WorkKind::kOther},
};

TEST(KindPatterns, OfRealKernels) {
  for (const auto& [name, kind] : kRealNames)
    EXPECT_EQ(work_kind(name), kind) << name << " is " << to_string(work_kind(name));
}

TEST(KindPatterns, OfAUserComeFirstAndTheLongestOfThemCounts) {
  const TemporaryFile file("kinds.json",
                           R"({"spin": "other", "spin_kernel": "reduction", "GEMM_of_mine": "attention"})");
  const KindPatterns patterns = KindPatterns::from_file(file.path());
  EXPECT_EQ(patterns.kind_of("my_spin_kernel(long)"), WorkKind::kReduction);
  EXPECT_EQ(patterns.kind_of("gemm_of_mine_64x64"), WorkKind::kAttention);
  EXPECT_EQ(patterns.kind_of("gemm_of_yours"), WorkKind::kMatrixProduct);
}

std::string refusal(std::string_view text) {
  const TemporaryFile file("kinds.json", text);
  try {
    KindPatterns::from_file(file.path());
  } catch (const Error& error) {
    return error.message() + " | " + error.hint();
  }
  return "taken";
}

TEST(KindPatterns, FilesWithMistakesAreRefused) {
  EXPECT_THAT(refusal(R"({"a": "matrix produkt"})"), HasSubstr("'matrix produkt' is no kind of work"));
  EXPECT_THAT(refusal(R"({"a": "matrix produkt"})"), HasSubstr("did you mean 'matrix product'?"));
  EXPECT_THAT(refusal(R"(["a"])"), HasSubstr("an object of parts of names and kinds"));
  EXPECT_THAT(refusal(R"({"": "other"})"), HasSubstr("a part of a name is empty"));
}

}  // namespace
}  // namespace nadi::inline traces
