// For tests: a step as the CUDA engine records it, with the work that CUPTI reports for a captured graph.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "nadi/recording/device_work.h"
#include "nadi/recording/execution_for_tests.h"

namespace nadi::inline traces {

inline constexpr std::uint32_t kLaunchForTests = 2668;  // correlation of the graph's launch

// The program as one graph on device 0, launched 100 ns after `start` by a call of 150 ns, and waited for.
// Each kernel of the program is one on the GPU, of kCallForTests, 250 ns apart; the first one is two, a
// product and the reduction of its parts, with 100 ns between. At the end a copy brings a scalar to the host.
inline ExecutedStep gpu_step_for_tests(const Program& program, std::int64_t number, Nanoseconds start) {
  ExecutedStep step = execute_for_tests(program, number, start);
  step.device = {.kind = ExecutedDevice::Kind::kCuda,
                 .name = "NVIDIA H200",
                 .properties = {{"numSms", 132}, {"warpSize", 32}}};
  step.work_names = {"cudaGraphLaunch", "cudaStreamSynchronize", "nvjet_sm90_tst", "void add<float>(float*)",
                     "Memcpy DtoH (Device -> Pinned)"};
  std::vector<DeviceWork> reported;
  Nanoseconds last;
  for (std::uint32_t i = 0; i < step.kernels.size(); ++i) {
    ExecutedKernel& kernel = step.kernels[i];
    DeviceWork work{.kernel = i,
                    .name = i == 0 ? 2U : 3U,
                    .start = kernel.start,
                    .end = kernel.end,
                    .correlation = kLaunchForTests,
                    .grid = {264, 1, 1},
                    .block = {128, 1, 1},
                    .registers = 40,
                    .shared_memory = Bytes{1024},
                    .graph = 5,
                    .graph_node = 100 + i,
                    .context = 1,
                    .stream = 13};
    if (i == 0) {
      work.end = work.start + Nanoseconds{1000};
      reported.push_back(work);
      work.name = 3;
      work.start = work.end + Nanoseconds{100};
      work.end = kernel.end;
      work.graph_node = 99;
    }
    reported.push_back(work);
    last = kernel.end;
    kernel.end = {};
  }
  reported.push_back({.kind = DeviceWork::Kind::kCopy,
                      .name = 4,
                      .start = last + Nanoseconds{500},
                      .end = last + Nanoseconds{1500},
                      .correlation = kLaunchForTests + 1,
                      .bytes = Bytes{4},
                      .context = 1,
                      .stream = 13});
  step.end = last + Nanoseconds{2000};
  step.launches = {{.name = 0,
                    .start = start + Nanoseconds{50},
                    .end = start + Nanoseconds{200},
                    .correlation = kLaunchForTests,
                    .callback = 311},
                   {.name = 1,
                    .start = start + Nanoseconds{220},
                    .end = step.end - Nanoseconds{100},
                    .correlation = kLaunchForTests + 2,
                    .callback = 131}};
  add_device_work(step, std::move(reported));
  return step;
}

}  // namespace nadi::inline traces
