// Steps of a GPU in Kineto files: the shape that PyTorch's profiler writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/recording/gpu_step_for_tests.h"
#include "nadi/recording/kineto_merge.h"
#include "nadi/recording/kineto_writer.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Pair;

Json kineto_of(const Program& program, const ExecutedStep& step, const KinetoOptions& options = {}) {
  std::string text;
  write_kineto(program, std::span(&step, 1), options, [&](std::string_view part) { text += part; });
  return Json::parse(text);
}

std::vector<Json> events_of(const Json& trace, std::string_view category) {
  std::vector<Json> found;
  for (const Json& event : trace.at("traceEvents"))
    if (event.value("cat", "") == category) found.push_back(event);
  return found;
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> result;
  for (const auto& [key, value] : object.items()) result.push_back(key);
  return result;
}

// The keys of events of PyTorch 2.11's profiler on an H200, all but the estimate of occupancy.
TEST(KinetoGpu, AKernelSaysWhatPyTorchSays) {
  const Program program = program_for_tests();
  const Json trace = kineto_of(program, gpu_step_for_tests(program, 4, Nanoseconds{}), {.process = 402});
  EXPECT_EQ(trace.at("deviceProperties").dump(),
            R"([{"id":0,"name":"NVIDIA H200","numSms":132,"warpSize":32}])");
  const std::vector<Json> kernels = events_of(trace, "kernel");
  ASSERT_EQ(kernels.size(), 5u);  // of four kernels of the program, the first of two
  EXPECT_THAT(keys(kernels[0]), IsSupersetOf({"ph", "cat", "name", "pid", "tid", "ts", "dur", "args"}));
  const Json& args = kernels[0].at("args");
  EXPECT_THAT(keys(args), IsSupersetOf({"queued", "device", "context", "stream", "correlation",
                                        "registers per thread", "shared memory", "blocks per SM",
                                        "warps per SM", "grid", "block", "graph id", "graph node id"}));
  EXPECT_EQ(kernels[0].at("name"), "nvjet_sm90_tst");
  EXPECT_EQ(kernels[0].at("pid"), 0);
  EXPECT_EQ(kernels[0].at("tid"), 13);
  EXPECT_EQ(args.at("stream"), 13);
  EXPECT_EQ(args.at("correlation"), kLaunchForTests);
  EXPECT_EQ(args.at("blocks per SM"), 2.0);  // 264 / 132
  EXPECT_EQ(args.at("warps per SM"), 8.0);   // of 128 / 32 = 4 warps each
  EXPECT_EQ(args.at("grid").dump(), "[264,1,1]");
}

// The work of an op is said once, of the longest of its kernels.
TEST(KinetoGpu, AKernelSaysWhichOpItWas) {
  const Program program = program_for_tests();
  const Json trace = kineto_of(program, gpu_step_for_tests(program, 4, Nanoseconds{}));
  const std::vector<Json> kernels = events_of(trace, "kernel");
  const Json &product = kernels[0].at("args"), &reduction = kernels[1].at("args");
  for (const Json* args : {&product, &reduction}) {
    EXPECT_EQ(args->at("op"), "model.h.0.attn.matmul");
    EXPECT_EQ(args->at("kernel"), "matmul");
    EXPECT_EQ(args->at("layer"), "model.h.0.attn");
    EXPECT_EQ(args->at("phase"), "forward");
    EXPECT_EQ(args->at("step"), 4);
  }
  EXPECT_EQ(product.at("flops"), 2 * 4 * 8 * 8);
  EXPECT_EQ(product.at("Input Dims").dump(), "[[4,8],[8,8]]");
  EXPECT_FALSE(reduction.contains("flops"));
  EXPECT_EQ(kernels[1].at("name"), "void add<float>(float*)");
}

TEST(KinetoGpu, CallsOfTheHostAreShownWithArrowsToWhatTheyLaunched) {
  const Program program = program_for_tests();
  const Json trace = kineto_of(program, gpu_step_for_tests(program, 4, Nanoseconds{}), {.process = 402});
  const std::vector<Json> calls = events_of(trace, "cuda_runtime");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].at("name"), "cudaGraphLaunch");
  EXPECT_EQ(calls[0].at("pid"), 402);
  EXPECT_EQ(calls[0].at("tid"), 402);
  EXPECT_EQ(calls[0].at("ts"), 0.05);
  EXPECT_EQ(calls[0].at("dur"), 0.15);
  EXPECT_EQ(calls[0].at("args").dump(), R"({"cbid":311,"correlation":2668})");
  const std::vector<Json> arrows = events_of(trace, "ac2g");
  std::vector<std::string> ends;
  for (const Json& arrow : arrows) {
    EXPECT_EQ(arrow.at("id"), kLaunchForTests);
    ends.push_back(arrow.at("ph"));
  }
  EXPECT_THAT(ends, testing::UnorderedElementsAre("s", "f", "f", "f", "f", "f"));
}

// Steps and phases are shown over the kernels, the step over the calls of the host, too.
TEST(KinetoGpu, StepsPhasesAndLayersLieOverTheirKernels) {
  const Program program = program_for_tests();
  const Json trace = kineto_of(program, gpu_step_for_tests(program, 4, Nanoseconds{}), {.process = 402});
  std::vector<std::string> names;
  for (const Json& span : events_of(trace, "gpu_user_annotation")) {
    names.push_back(span.at("name"));
    EXPECT_EQ(span.at("tid"), 13);
  }
  EXPECT_THAT(names, ElementsAre("ProfilerStep#4", "forward", "model", "model.h.0", "model.h.0.attn",
                                 "model.h.0.mlp", "head"));
  ASSERT_EQ(events_of(trace, "user_annotation").size(), 1u);
  EXPECT_EQ(events_of(trace, "user_annotation")[0].at("pid"), 402);
  EXPECT_TRUE(events_of(trace, "cpu_op").empty());
}

TEST(KinetoGpu, CopiesOfTheEngineAreShownWithoutAnOp) {
  const Program program = program_for_tests();
  const Json trace = kineto_of(program, gpu_step_for_tests(program, 4, Nanoseconds{}));
  const std::vector<Json> copies = events_of(trace, "gpu_memcpy");
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].at("name"), "Memcpy DtoH (Device -> Pinned)");
  EXPECT_EQ(copies[0].at("args").at("bytes"), 4);
  EXPECT_EQ(copies[0].at("args").at("memory bandwidth (GB/s)"), 0.004);  // 4 bytes in 1000 ns
  EXPECT_FALSE(copies[0].at("args").contains("op"));
}

// Ranks that share a GPU send through the host: copies on the GPU, and a call of the host that takes longer.
TEST(KinetoGpu, CommunicationThroughTheHostIsACallOfTheHost) {
  const Plan plan = communicating_plan_for_tests();
  const Program program = communicating_program_for_tests();
  ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  step.device = {.kind = ExecutedDevice::Kind::kCuda};
  step.work_names = {"gemm", "Memcpy DtoH (Device -> Pinned)"};
  std::vector<DeviceWork> reported;
  for (std::uint32_t i = 0; i < step.kernels.size(); ++i) {
    const bool computes = i == 1 || i == 3;
    reported.push_back({.kind = computes ? DeviceWork::Kind::kKernel : DeviceWork::Kind::kCopy,
                        .kernel = i,
                        .name = computes ? 0U : 1U,
                        .start = step.kernels[i].start,
                        .end = step.kernels[i].end - Nanoseconds{100},
                        .bytes = Bytes{computes ? 0 : 128},
                        .stream = 13});
    if (computes) step.kernels[i].end = {};
  }
  add_device_work(step, std::move(reported));
  const Json trace = kineto_of(program, step, {.process = 402, .plan = &plan, .rank = Rank{2}});
  const std::vector<Json> records = events_of(trace, "cpu_op");
  ASSERT_EQ(records.size(), 3u);
  for (const Json& record : records) {
    EXPECT_EQ(record.at("name"), "record_param_comms");
    EXPECT_EQ(record.at("pid"), 402);
    EXPECT_EQ(record.at("dur"), 1.5);
  }
  EXPECT_EQ(events_of(trace, "gpu_memcpy").size(), 3u);
  EXPECT_EQ(events_of(trace, "kernel").size(), 2u);
  EXPECT_EQ(events_of(trace, "user_annotation")[1].at("name"), "mpi:recv");
}

// Ranks 0 and 1 share GPU 0, rank 2 has GPU 1.
TEST(KinetoGpu, RanksThatShareAGpuAreShownApart) {
  const Plan plan{.dp = 3};
  const Program program = program_for_tests();
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> files;
  for (const std::int32_t rank : {0, 1, 2}) {
    ExecutedStep step = gpu_step_for_tests(program, 4, Nanoseconds{});
    step.device.number = rank / 2;
    AtomicFile file(files.emplace_back(folder / ("rank" + std::to_string(rank))), Overwrite::kRefuse);
    write_kineto(program, std::span(&step, 1),
                 {.process = 400 + rank,
                  .process_name = "nadi rank " + std::to_string(rank),
                  .plan = &plan,
                  .rank = Rank{rank}},
                 [&](std::string_view part) { file.write(part); });
    file.commit();
  }
  merge_kineto_files(files, folder / "merged", Overwrite::kRefuse);
  const Json merged = Json::parse(read_text(folder / "merged"));
  std::map<std::int64_t, std::int64_t> launched_by;  // processes by correlation
  std::map<std::int64_t, std::set<std::int64_t>> gpu_of;
  std::map<std::int64_t, std::string> names;
  for (const Json& event : events_of(merged, "cuda_runtime"))
    EXPECT_TRUE(launched_by.emplace(event.at("args").at("correlation"), event.at("pid")).second);
  for (const Json& event : events_of(merged, "kernel")) {
    gpu_of[launched_by.at(event.at("args").at("correlation"))].insert(event.at("pid").get<std::int64_t>());
    EXPECT_EQ(event.at("tid"), 13);
  }
  for (const Json& event : merged.at("traceEvents"))
    if (event.at("name") == "process_name") names[event.at("pid")] = event.at("args").at("name");
  constexpr std::int64_t kMade = (1 << 23) + 1;  // for rank 1
  EXPECT_THAT(gpu_of, ElementsAre(Pair(400, ElementsAre(0)), Pair(401, ElementsAre(kMade)),
                                  Pair(402, ElementsAre(1))));
  EXPECT_EQ(names.at(kMade), "nadi rank 1");
  EXPECT_EQ(names.size(), 6u);
}

}  // namespace
}  // namespace nadi::inline traces
