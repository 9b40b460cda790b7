#include "nadi/analysis/derived_work.h"

#include <gtest/gtest.h>

#include "nadi/analysis/memory_limit.h"
#include "nadi/analysis/timeline_for_tests.h"
#include "nadi/analysis/work_kind.h"

namespace nadi::inline traces {
namespace {

// As the profiler writes it: a product of [4, 8] and [8, 16].
void product(TraceNode& node) {
  node.inputs = {.values = "[]", .shapes = "[[4,8],[8,16]]", .types = R"(["float","float"])"};
}

// aten::linear calls aten::mm, which launches two kernels; a third kernel has no op around it.
std::vector<NodeForTests> nodes() {
  return {{.id = 1, .name = "outer", .start = 1, .end = 5, .host = true},
          {.id = 2, .name = "aten::mm", .start = 5, .end = 9, .ctrl = {1}, .host = true, .more = product},
          {.id = 3, .name = "cudaLaunchKernel", .start = 6, .end = 7, .ctrl = {2}, .host = true},
          {.id = 4, .name = "gemm", .start = 10, .end = 40, .data = {3}, .ctrl = {3}, .stream = 7},
          {.id = 5, .name = "splitk", .start = 40, .end = 50, .data = {3}, .ctrl = {2}, .stream = 7},
          {.id = 6, .name = "gemm", .start = 50, .end = 60, .stream = 7},
          {.id = 7, .name = "Memcpy DtoD", .start = 60, .end = 70, .stream = 7, .more = [](TraceNode& node) {
             node.attributes.add_int64("bytes", 500);
           }}};
}

TEST(DerivedWork, OfTheOpAroundTheLaunchAsLongAsEachKernelLasts) {
  const auto timeline = timeline_for_tests(nodes());
  // 2 * 4 * 8 * 16 = 1024, for 30 and 10 of 40.
  EXPECT_EQ(timeline->num_ops(3), Flops{768});
  EXPECT_EQ(timeline->num_ops(4), Flops{256});
  EXPECT_EQ(timeline->num_ops(5), std::nullopt);
  EXPECT_EQ(timeline->num_ops(1), std::nullopt);  // the op itself computes nothing
  EXPECT_EQ(timeline->tensor_size(6), Bytes{500});
  const std::vector<KindRow> kinds = kind_rows(*timeline);
  ASSERT_EQ(kinds[0].kind, WorkKind::kMatrixProduct);
  EXPECT_EQ(kinds[0].work.amount, 1024);
  EXPECT_EQ(kinds[0].work.nodes, 2);
  EXPECT_EQ(kinds[0].work.per_second(), 1024 / 40e-9);
}

TEST(DerivedWork, AKernelThatOnlyCopiesHasNoneOfTheFlops) {
  std::vector<NodeForTests> with_copy = nodes();
  with_copy[4].name = "nchwToNhwcKernel";
  const auto timeline = timeline_for_tests(with_copy);
  EXPECT_EQ(timeline->num_ops(3), Flops{1024});
  EXPECT_EQ(timeline->num_ops(4), std::nullopt);
  EXPECT_NE(timeline->tensor_size(4), std::nullopt);
  with_copy[3].name = "fill_kernel";  // nothing else
  EXPECT_EQ(timeline_for_tests(with_copy)->num_ops(3), Flops{768});
}

TEST(DerivedWork, IsNotAskedForWhereNodesSayTheirs) {
  std::vector<NodeForTests> said = nodes();
  said[3].more = [](TraceNode& node) { add_num_ops(node, Flops{7}); };
  const auto timeline = timeline_for_tests(said);
  EXPECT_EQ(timeline->num_ops(3), Flops{7});
  EXPECT_EQ(timeline->num_ops(4), std::nullopt);
}

TEST(DerivedWork, NothingWithoutShapes) {
  std::vector<NodeForTests> bare = nodes();
  bare[1].more = {};
  EXPECT_FALSE(derive_work(*timeline_for_tests(bare)));
}

// Simulators want more than zero, so that conversions write 1 op and 1 byte where nothing is known.
TEST(DerivedWork, OneOpAndOneByteMeanUnknown) {
  const auto work = [](std::int64_t flops, std::int64_t bytes) {
    return [=](TraceNode& node) {
      add_num_ops(node, Flops{flops});
      add_tensor_size(node, Bytes{bytes});
    };
  };
  const auto timeline = timeline_for_tests({{.id = 1, .start = 1, .end = 2, .more = work(1, 1)},
                                            {.id = 2, .start = 2, .end = 3, .more = work(1, 64)}});
  EXPECT_EQ(timeline->num_ops(0), std::nullopt);
  EXPECT_EQ(timeline->tensor_size(0), std::nullopt);
  EXPECT_EQ(timeline->num_ops(1), Flops{1});
}

// 8 GB in a microsecond: the op touched a part of its tensors, and nobody knows which.
TEST(DerivedWork, BytesBeyondTheRateOfAnyMemoryAreNotKnown) {
  const auto table = [](TraceNode& node) {
    node.inputs = {.values = "[]", .shapes = "[[2000000000]]", .types = R"(["float"])"};
  };
  const auto timeline = timeline_for_tests(
      {{.id = 1, .name = "aten::some_lookup", .start = 1, .end = 5, .host = true, .more = table},
       {.id = 2, .name = "kernel", .start = 10, .end = 1010, .data = {1}, .ctrl = {1}, .stream = 7}});
  EXPECT_EQ(timeline->tensor_size(1), std::nullopt);
  EXPECT_EQ(timeline->num_ops(1), Flops{2'000'000'000});
}

TEST(DerivedWork, ADeviceIsKnownByTheNameInProfiles) {
  EXPECT_NEAR(memory_limit("NVIDIA A100-SXM4-80GB").per_second(), 2.0e12, 0.1e12);
  EXPECT_NEAR(memory_limit("NVIDIA H100 80GB HBM3").per_second(), 3.35e12, 0.1e12);
  // One that is not in the catalogue: the fastest of it.
  EXPECT_GE(memory_limit("Artemis").per_second(), memory_limit("NVIDIA H100 80GB HBM3").per_second());
}

}  // namespace
}  // namespace nadi::inline traces
