#include "nadi/trace/communication_kernels.h"

#include <gtest/gtest.h>

#include <string>

namespace nadi::inline traces {
namespace {

struct Known {
  std::string_view kernel;
  std::string_view library;
  std::optional<CollectiveType> collective = {};
};

// Names as profilers wrote them, with their arguments shortened.
TEST(CommunicationKernels, OfEveryLibraryAreKnownByName) {
  using Type = CollectiveType;
  const Known kKnown[] = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL", Type::kAllReduce},
      {"void ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)", "NCCL", Type::kReduceScatter},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "NCCL", Type::kAllReduce},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "NCCL"},
      {"ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*)", "NCCL", Type::kBroadcast},
      {"ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs)", "NCCL", Type::kAllGather},
      {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "NCCL"},  // RCCL's, too
      {"rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)", "RCCL"},
      {"mscclKernel_Sum_half_Simple_false(ncclDevComm*)", "MSCCL"},
      {"void mscclpp::allreduce8<__half>(...)", "MSCCL++"},
      {"nvshmemi_transfer_rma_p<int>(...)", "NVSHMEM"},
      {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)", "DeepEP", Type::kAllToAll},
      {"void deep_ep::internode_ll::combine<true, 4096>(void*)", "DeepEP", Type::kAllToAll},
      {"void dpsk::ep::internode::combine<false, 8, __nv_bfloat16, 8>(int4*)", "DeepEP", Type::kAllToAll},
      {"void dpsk::ep::internode::cached_notify<false>(int, int)", "DeepEP", Type::kAllToAll},
      {"void mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>(...)", "MORI", Type::kAllToAll},
      {"ucc_tl_cuda_reduce_scatter_kernel(...)", "UCC"},
      {"oneccl_allreduce_large_sycl(...)", "oneCCL", Type::kAllReduce},
      {"hcom_allReduce__742_0_1", "HCCL", Type::kAllReduce},
      {"userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int)", "Transformer Engine"},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
       "symmetric memory", Type::kAllReduce},
      {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", "custom all-reduce",
       Type::kAllReduce},
      {"void aiter::cross_device_reduce_2stage<opus::bfloat16, 8>(...)", "custom all-reduce",
       Type::kAllReduce},
      {"void quickreduce::allreduce_prototype_twoshot<...>(...)", "custom all-reduce", Type::kAllReduce},
      {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(...)>",
       "TensorRT-LLM", Type::kAllReduce},
  };
  for (const Known& known : kKnown) {
    const auto found = find_communication_kernel(known.kernel);
    ASSERT_TRUE(found) << known.kernel;
    EXPECT_EQ(found->library, known.library) << known.kernel;
    EXPECT_EQ(found->collective, known.collective) << known.kernel;
  }
}

TEST(CommunicationKernels, WhatComputesIsNone) {
  for (const std::string_view kernel : {
           "__amd_rocclr_fillBufferAligned",  // a runtime, whose name holds that of a library
           "void dpsk::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*, int*)",
           "void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*>>(...)",
           "void (anonymous namespace)::groupnorm_kernel_dispatch_down<__hip_bfloat16, 1024u>(unsigned int)",
           "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(...)",
           "_combined_routing_compute",
           "Memcpy PtoP (Device -> Device)",
       })
    EXPECT_FALSE(find_communication_kernel(kernel)) << kernel;
}

}  // namespace
}  // namespace nadi::inline traces
