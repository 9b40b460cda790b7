#include "nadi/analysis/work_kind.h"

#include <gtest/gtest.h>

#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

struct NameAndKind {
  std::string_view name;
  WorkKind kind;
};

TEST(WorkKind, OfOurOwnOps) {
  constexpr NameAndKind kOps[] = {
      {"matmul", WorkKind::kMatrixProduct},
      {"attention_grad", WorkKind::kAttention},
      {"layer_norm", WorkKind::kNorm},
      {"rms_norm_grad", WorkKind::kNorm},
      {"softmax", WorkKind::kSoftmax},
      {"cross_entropy_grad", WorkKind::kSoftmax},
      {"vocab_sums", WorkKind::kSoftmax},
      {"gelu_grad", WorkKind::kElementwise},
      {"add", WorkKind::kElementwise},
      {"dropout", WorkKind::kElementwise},
      {"sum_rows", WorkKind::kReduction},
      {"embedding_grad", WorkKind::kIndexing},
      {"adamw", WorkKind::kOptimizer},
      {"squared_norm", WorkKind::kOptimizer},
      {"fill", WorkKind::kCopy},
      {"cast", WorkKind::kCopy},
      {"something_of_tomorrow", WorkKind::kOther},
  };
  for (const auto& [name, kind] : kOps) EXPECT_EQ(work_kind(name), kind) << name;
}

TEST(WorkKind, OfKernels) {
  constexpr NameAndKind kKernels[] = {
      {"nvjet_sm90_tst_96x128_64x7_2x1_v_bz_TNN", WorkKind::kMatrixProduct},
      {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>(Params)",
       WorkKind::kMatrixProduct},
      {"void cublasLt::splitKreduce_kernel<32, 16, int, float>(int)", WorkKind::kMatrixProduct},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26", WorkKind::kAttention},
      {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>(Params)",
       WorkKind::kAttention},
      {"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_nhwc", WorkKind::kConvolution},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int)",
       WorkKind::kNorm},
      {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)", WorkKind::kNorm},
      {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(float*)", WorkKind::kSoftmax},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
       WorkKind::kElementwise},
      {"void "
       "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"
       ">",
       WorkKind::kCopy},
      {"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float> >(float)", WorkKind::kReduction},
      {"void at::native::vectorized_gather_kernel<16, long>(char*)", WorkKind::kIndexing},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, "
       "4>>(int)",
       WorkKind::kOptimizer},
      {"triton_poi_fused_add_mul_0", WorkKind::kElementwise},
      {"triton_red_fused_sum_3", WorkKind::kReduction},
  };
  for (const auto& [name, kind] : kKernels) EXPECT_EQ(work_kind(name), kind) << name;
}

TEST(WorkKind, SumsWithTheWorkThatIsKnown) {
  const auto work = [](std::int64_t flops) {
    return [=](TraceNode& node) { add_num_ops(node, Flops{flops}); };
  };
  // An op of the host encloses a kernel whose name says nothing, and a matrix product of a convolution.
  const auto timeline = timeline_for_tests({
      {.id = 1, .name = "aten::_scaled_dot_product_attention", .start = 1, .end = 9, .host = true},
      {.id = 2, .name = "aten::cudnn_convolution", .start = 10, .end = 19, .host = true},
      {.id = 3, .name = "unpack", .start = 20, .end = 25, .ctrl = {1}, .stream = 7},
      {.id = 4, .name = "some_gemm", .start = 30, .end = 50, .ctrl = {2}, .stream = 7},
      {.id = 5, .name = "a_gemm", .start = 60, .end = 70, .stream = 7, .more = work(500)},
      {.id = 6, .name = "b_gemm", .start = 70, .end = 100, .stream = 7, .more = work(1000)},
      {.id = 7, .name = "c_gemm", .start = 100, .end = 110, .stream = 7},
      {.id = 8, .name = "Memcpy DtoD (Device -> Device)", .start = 110, .end = 113, .stream = 7},
      {.id = 9, .name = "all", .start = 120, .end = 160, .type = NodeType::kCommColl, .stream = 8},
  });
  const std::vector<KindRow> rows = kind_rows(*timeline);
  ASSERT_EQ(rows.size(), 5);
  EXPECT_EQ(rows[0].kind, WorkKind::kMatrixProduct);  // 10 + 30 + 10
  EXPECT_EQ(rows[0].time, Nanoseconds{50});
  EXPECT_EQ(rows[0].nodes, 3);
  EXPECT_EQ(rows[0].work.amount, 1500);
  EXPECT_EQ(rows[0].work.per_second(), 1500 / 40e-9);  // of the two that say theirs
  EXPECT_EQ(rows[0].main_op(), "b_gemm");
  EXPECT_EQ(rows[1].kind, WorkKind::kCommunication);
  EXPECT_EQ(rows[2].kind, WorkKind::kConvolution);
  EXPECT_EQ(rows[3].kind, WorkKind::kAttention);
  EXPECT_EQ(rows[4].kind, WorkKind::kCopy);
  std::vector<KindRow> both = rows;
  add_kind_rows(both, rows);
  EXPECT_EQ(both[0].time, Nanoseconds{100});
  EXPECT_EQ(both[0].work.amount, 3000);
}

TEST(WorkKind, KernelsOfTheOptimizerAreItsOwn) {
  const auto phase = [](std::string_view name) {
    return [=](TraceNode& node) { node.attributes.add_text("phase", name); };
  };
  const auto timeline = timeline_for_tests(
      {{.id = 1, .name = "multi_tensor_apply", .start = 1, .end = 9, .stream = 7, .more = phase("optimizer")},
       {.id = 2, .name = "multi_tensor_apply", .start = 9, .end = 10, .stream = 7, .more = phase("backward")},
       {.id = 3, .name = "a_gemm", .start = 10, .end = 12, .stream = 7, .more = phase("optimizer")}});
  const std::vector<KindRow> rows = kind_rows(*timeline);
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].kind, WorkKind::kOptimizer);
  EXPECT_EQ(rows[0].time, Nanoseconds{8});
  EXPECT_EQ(rows[1].kind, WorkKind::kMatrixProduct);
  EXPECT_EQ(rows[2].kind, WorkKind::kElementwise);
}

TEST(WorkKind, WithoutADeviceTheHostsOps) {
  const auto timeline =
      timeline_for_tests({{.id = 1, .name = "aten::addmm", .start = 1, .end = 9, .host = true},
                          {.id = 2, .name = "aten::gelu", .start = 9, .end = 10, .host = true}});
  const std::vector<KindRow> rows = kind_rows(*timeline);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].kind, WorkKind::kMatrixProduct);
  EXPECT_EQ(rows[0].time, Nanoseconds{8});
}

}  // namespace
}  // namespace nadi::inline traces
