#include "nadi/work/torch_work.h"

#include <gtest/gtest.h>

namespace nadi::inline traces {
namespace {

struct Case {
  const char* op;
  const char* shapes;
  const char* types;
  const char* output_shapes;
  const char* output_types;
  std::int64_t flops;
  std::int64_t bytes;
};

TEST(TorchWork, FollowsFromShapes) {
  const Case cases[] = {
      // 2 * 2 * 3 * 4; bf16: 2 * (6 + 12 + 8)
      {"aten::mm", "[[2,3],[3,4]]", R"json(["Tensor(c10::BFloat16)","Tensor(c10::BFloat16)"])json", "[[2,4]]",
       R"json(["Tensor(c10::BFloat16)"])json", 48, 52},
      // The bias is added on the way: 4 * (4 + 6 + 12 + 8).
      {"aten::addmm", "[[4],[2,3],[3,4],[],[]]",
       R"json(["Tensor(float)","Tensor(float)","Tensor(float)","Int","Int"])json", "[[2,4]]",
       R"json(["Tensor(float)"])json", 48, 120},
      {"aten::bmm", "[[5,2,3],[5,3,4]]", R"json(["Tensor(float)","Tensor(float)"])json", "[[5,2,4]]",
       R"json(["Tensor(float)"])json", 240, 4 * (30 + 60 + 40)},
      // As Kineto has it: no outputs, so that one like the largest input is assumed.
      {"aten::linear", "[[7,2,3],[4,3],[4]]", R"json(["float","float","float"])json", "", "", 2 * 42 * 4,
       4 * (42 + 12 + 4 + 42)},
      // 8 x 8 inputs, 3 x 3 filters with 3 channels, 16 of them, 6 x 6 outputs: 2 * 16 * 36 * 27.
      {"aten::cudnn_convolution", "[[1,3,8,8],[16,3,3,3],[[],[]],[]]",
       R"json(["Tensor(float)","Tensor(float)","GenericList[Int,Int]","Int"])json", "[[1,16,6,6]]",
       R"json(["Tensor(float)"])json", 2 * 16 * 36 * 27, 4 * (192 + 432 + 576)},
      // Only the gradient of the weight is wanted, as at the first layer.
      {"aten::convolution_backward", "[[1,16,6,6],[1,3,8,8],[16,3,3,3]]",
       R"json(["Tensor(float)","Tensor(float)","Tensor(float)"])json", "[[],[16,3,3,3],[]]",
       R"json(["Tensor(nullptr (uninitialized))","Tensor(float)","Tensor(nullptr (uninitialized))"])json",
       2 * 16 * 36 * 27, 4 * (576 + 192 + 432 + 432)},
      // 2 products of 4 x 5 queries with 5 keys of width 8: 4 * (1 * 4 * 5 * 8) * 5.
      {"aten::_scaled_dot_product_flash_attention", "[[1,4,5,8],[1,4,5,8],[1,4,5,8]]",
       R"json(["Tensor(c10::Half)","Tensor(c10::Half)","Tensor(c10::Half)"])json", "[[1,4,5,8]]",
       R"json(["Tensor(c10::Half)"])json", 4 * 160 * 5, 2 * 4 * 160},
      {"aten::_flash_attention_forward", "[[1,5,4,8],[1,5,4,8],[1,5,4,8]]",
       R"json(["Tensor(c10::Half)","Tensor(c10::Half)","Tensor(c10::Half)"])json", "[[1,5,4,8]]",
       R"json(["Tensor(c10::Half)"])json", 4 * 160 * 5, 2 * 4 * 160},
      {"aten::_cudnn_attention_forward", "[[1,4,5,8],[1,4,5,8],[1,4,5,8]]",
       R"json(["Tensor(c10::Half)","Tensor(c10::Half)","Tensor(c10::Half)"])json", "[[1,4,5,8]]",
       R"json(["Tensor(c10::Half)"])json", 4 * 160 * 5, 2 * 4 * 160},
      {"aten::_cudnn_attention_backward", "[[1,4,5,8],[1,4,5,8],[1,4,5,8],[1,4,5,8]]",
       R"json(["Tensor(c10::Half)","Tensor(c10::Half)","Tensor(c10::Half)","Tensor(c10::Half)"])json", "[]",
       "[]", 10 * 160 * 5, 2 * 5 * 160},
      {"aten::_flash_attention_backward", "[[1,5,4,8],[1,5,4,8],[1,5,4,8],[1,5,4,8]]",
       R"json(["Tensor(c10::Half)","Tensor(c10::Half)","Tensor(c10::Half)","Tensor(c10::Half)"])json", "[]",
       "[]", 10 * 160 * 5, 2 * 5 * 160},
      {"aten::add", "[[4,6],[4,6],[]]", R"json(["Tensor(float)","Tensor(long int)","Int"])json", "[[4,6]]",
       R"json(["Tensor(float)"])json", 24, 24 * (4 + 8 + 4)},
      // Lists of tensors count as one.
      {"aten::_foreach_add_", "[[[4],[6]],[[4],[6]]]",
       R"json(["GenericList[Tensor(float),Tensor(float)]","GenericList[Tensor(float),Tensor(float)]"])json",
       "[]", "[]", 10, 4 * (10 + 10 + 10)},
      {"aten::_foreach_add_", "[[[4],[6]],[]]", R"json(["TensorList","Scalar"])json", "", "", 10, 80},
      // Made from nothing: only the output is a tensor.
      {"aten::arange", "[[],[]]", R"json(["Int","Int"])json", "[[512]]", R"json(["Tensor(long int)"])json",
       512, 4096},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.op);
    const auto work = torch_work(c.op, {.values = "", .shapes = c.shapes, .types = c.types},
                                 {.values = "", .shapes = c.output_shapes, .types = c.output_types});
    ASSERT_TRUE(work);
    EXPECT_EQ(work->flops.count(), c.flops);
    EXPECT_EQ(work->bytes.count(), c.bytes);
  }
}

// Tables are not moved as a whole: 6 rows of 8 are read and written, with 6 indices of 8 bytes.
TEST(TorchWork, OfLookupsIsWhatTheyTouch) {
  const auto embedding =
      torch_work("aten::embedding",
                 {.values = "", .shapes = "[[1000,8],[2,3]]", .types = R"(["float","long int"])"}, {});
  ASSERT_TRUE(embedding);
  EXPECT_EQ(embedding->flops.count(), 6 * 8);
  EXPECT_EQ(embedding->bytes.count(), 6 * 8 + 2 * 4 * 6 * 8);
  const auto gradient =
      torch_work("aten::embedding_dense_backward",
                 {.values = "", .shapes = "[[2,3,8],[2,3]]", .types = R"(["float","long int"])"},
                 {.values = "", .shapes = "[[1000,8]]", .types = R"(["float"])"});
  ASSERT_TRUE(gradient);
  EXPECT_EQ(gradient->bytes.count(), 6 * 8 + 2 * 4 * 6 * 8);
  // One class of 1,000 for each of 6 tokens.
  const auto loss = torch_work(
      "aten::nll_loss_backward",
      {.values = "", .shapes = "[[],[6,1000],[6]]", .types = R"(["float","float","long int"])"}, {});
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->flops.count(), 6);
  EXPECT_EQ(loss->bytes.count(), 6 * 8 + 2 * 4 * 6);
}

TEST(TorchWork, IsNotKnownWithoutShapes) {
  EXPECT_FALSE(torch_work("aten::mm", {}, {}));
  EXPECT_FALSE(torch_work("aten::item", {.values = "[1]", .shapes = "[[]]", .types = R"(["Int"])"}, {}));
  // A product whose second factor is no tensor, and shapes that are none.
  EXPECT_FALSE(
      torch_work("aten::mm", {.values = "", .shapes = "[[2,3],[]]", .types = R"(["float","Scalar"])"}, {}));
  EXPECT_FALSE(torch_work("aten::add", {.values = "", .shapes = "[[2,-3]]", .types = R"(["float"])"}, {}));
  EXPECT_FALSE(torch_work("aten::add", {.values = "", .shapes = "[[2", .types = R"(["float"])"}, {}));
}

TEST(TorchWork, TooMuchIsTheMostThereIs) {
  const auto work = torch_work(
      "aten::mm",
      {.values = "", .shapes = "[[4000000000,4000000000],[4000000000,4]]", .types = R"(["float","float"])"},
      {});
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops.count(), std::numeric_limits<std::int64_t>::max());
}

// A lookup touches rows, not the table: 8 rows of 64 floats, read and written, and the indices.
TEST(TorchWork, LookupsTouchWhatTheyLookUp) {
  const auto bytes = [](std::string_view name, std::string_view shapes, std::string_view types) {
    const auto work = torch_work(name, IoInfo{.values = "", .shapes = shapes, .types = types}, IoInfo{});
    return work ? work->bytes.count() : -1;
  };
  constexpr std::int64_t kRows = 2 * 8 * 64 * 4 + 8 * 8;
  EXPECT_EQ(bytes("aten::index_select", "[[1000000, 64], [], [8]]", R"(["float", "Scalar", "long int"])"),
            kRows);
  EXPECT_EQ(bytes("aten::embedding_bag", "[[1000000, 64], [8], [2]]", R"(["float", "long int", "long int"])"),
            kRows);
  EXPECT_EQ(bytes("aten::gather", "[[1000000, 64], [], [8, 1]]", R"(["float", "Scalar", "long int"])"),
            2 * 8 * 4 + 8 * 8);
  // Two tokens of 8 heads of 128 go into a cache of a gigabyte.
  EXPECT_EQ(bytes("_C_cache_ops::reshape_and_cache_flash",
                  "[[2, 8, 128], [2, 8, 128], [30000, 16, 8, 128], [30000, 16, 8, 128], [2]]",
                  R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "long int"])"),
            2 * 2 * (2 * 8 * 128) * 2 + 2 * 8);
}

TEST(TorchWork, PagesAndTablesInOneTensorAreKnownToBeUnknown) {
  for (const std::string_view name : {"vllm::unified_attention_with_output", "_rocm_C::paged_attention",
                                      "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function"}) {
    const auto work =
        torch_work(name, IoInfo{.values = "", .shapes = "[[100, 4]]", .types = R"(["float"])"}, IoInfo{});
    ASSERT_TRUE(work) << name;
    EXPECT_FALSE(work->known) << name;
  }
}

}  // namespace
}  // namespace nadi::inline traces
