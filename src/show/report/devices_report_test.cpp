#include "nadi/report/devices_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

DevicesView view_with_gpu() {
  return {.cpu = {.name = "A processor",
                  .cores = 4,
                  .memory = Bytes{std::int64_t{8} << 30},
                  .instruction_set = "x86-64-v3",
                  .matrix_library = "oneDNN 2.6.3"},
          .cuda = {.built = true,
                   .toolkit = "13.0",
                   .runtime = "13.0",
                   .driver = "13.1",
                   .architectures = {80, 90, 100},
                   .libraries = {{.name = "cuBLASLt",
                                  .used_for = "matrix products",
                                  .version = "13.1.0",
                                  .path = "/usr/lib/libcublasLt.so.13"},
                                 {.name = "NCCL",
                                  .used_for = "communication",
                                  .why_not = "libnccl.so.2: cannot open shared object file"}}},
          .gpus = {{.number = 0,
                    .name = "NVIDIA H200",
                    .compute_capability = 90,
                    .multiprocessors = 132,
                    .memory = Bytes{std::int64_t{140} << 30},
                    .free = Bytes{std::int64_t{139} << 30},
                    .uuid = "GPU-1",
                    .pci_bus = "0000:01:00.0"}}};
}

std::string text_of(const DevicesView& view) {
  std::ostringstream out;
  print_devices(view, out, {});
  return out.str();
}

TEST(DevicesReport, ListsGpusAndLibraries) {
  const std::string text = text_of(view_with_gpu());
  EXPECT_THAT(text, HasSubstr("CUDA             usable\n"));
  EXPECT_THAT(text, HasSubstr("machine code for 8.0, 9.0, 10.0\n"));
  EXPECT_THAT(text, HasSubstr("0  NVIDIA H200         9.0  132  140 GiB  139 GiB  0000:01:00.0"));
  EXPECT_THAT(text, HasSubstr("cuBLASLt  matrix products  13.1.0     /usr/lib/libcublasLt.so.13"));
  EXPECT_THAT(text, HasSubstr("NCCL      communication    not found  libnccl.so.2: cannot open"));
}

TEST(DevicesReport, SaysWhyCudaCannotBeUsed) {
  DevicesView view = view_with_gpu();
  view.gpus.clear();
  view.cuda = {};
  view.why_no_cuda = cuda::WhyNoCuda{"no driver", "install one"};
  EXPECT_THAT(text_of(view), HasSubstr("CUDA             no driver\nhint             install one\n"));
  const Json root = devices_json(view);
  EXPECT_EQ(root["cuda"]["usable"], false);
  EXPECT_EQ(root["cuda"]["why_not"], "no driver");
  EXPECT_EQ(root["cuda"]["toolkit"], nullptr);
  EXPECT_EQ(root["libraries"], Json::array());
}

TEST(DevicesReport, GivesNumbersToPrograms) {
  const Json root = devices_json(view_with_gpu());
  EXPECT_EQ(root["gpus"][0]["memory_bytes"], std::int64_t{140} << 30);
  EXPECT_EQ(root["gpus"][0]["compute_capability"], "9.0");
  EXPECT_EQ(root["libraries"][0]["why_not"], nullptr);
  EXPECT_EQ(root["libraries"][1]["version"], nullptr);
}

}  // namespace
}  // namespace nadi::inline show
