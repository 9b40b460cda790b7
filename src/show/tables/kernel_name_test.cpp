#include "nadi/tables/kernel_name.h"

#include <gmock/gmock.h>

namespace nadi::inline show {
namespace {

TEST(KernelName, LeavesOutWhatMostNamesShare) {
  EXPECT_EQ(
      kernel_name("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
                  "namespace)::TensorListMetadata<2>, std::multiplies<float>, float>(int, float)"),
      "multi_tensor_apply_kernel<TensorListMetadata<2>, multiplies<float>, float>");
  EXPECT_EQ(kernel_name("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"),
            "ncclKernel_AllReduce_RING_LL_Sum_float");
  EXPECT_EQ(kernel_name("void cutlass::Kernel2<(int)2>(Params)"), "cutlass::Kernel2<(int)2>");
}

TEST(KernelName, OtherNamesStayAsTheyAre) {
  for (const char* name : {"", "matmul", "nvjet_sm90_tst_96x128", "Memcpy DtoD (Device -> Device)",
                           "Memset (Device)", "aten::addmm", "c10d::at::x", "(odd", "odd)", "void "})
    EXPECT_EQ(kernel_name(name), name);
}

TEST(KernelName, NamesThatDifferInParametersOnlyKeepThem) {
  EXPECT_THAT(kernel_names({"void f<2>(int)", "void f<2>(float)", "void g(int)", "void g(int)"}),
              testing::ElementsAre("void f<2>(int)", "void f<2>(float)", "g", "g"));
}

}  // namespace
}  // namespace nadi::inline show
