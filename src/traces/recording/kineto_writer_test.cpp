#include "nadi/recording/kineto_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution_for_tests.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// 2024-05-22 17:15:22 UTC, in the 217th quarter of a year since 1970: one of the traces that Kineto wrote
// that day starts its times at 1711964646 s.
constexpr Nanoseconds kMay{1'716'398'122'000'000'000};
constexpr std::int64_t kQuarter = 1'711'964'646'000'000'000;

std::string text_of(const Program& program, std::span<const ExecutedStep> steps,
                    const KinetoOptions& options = {}) {
  std::string text;
  write_kineto(program, steps, options, [&](std::string_view part) { text += part; });
  return text;
}

std::vector<Json> events(const Json& trace, std::string_view category) {
  std::vector<Json> found;
  for (const Json& event : trace.at("traceEvents"))
    if (event.value("cat", event.value("ph", "")) == category) found.push_back(event);
  return found;
}

std::vector<std::string> names(const std::vector<Json>& list) {
  std::vector<std::string> result;
  for (const Json& event : list) result.push_back(event.at("name"));
  return result;
}

TEST(KinetoWriter, SaysWhatKinetoSaysAtTheTop) {
  const Program program = program_for_tests();
  const ExecutedStep step = execute_for_tests(program, 3, Nanoseconds{5'000'000'001});
  const std::string text =
      text_of(program, std::span(&step, 1), {.trace_name = "a \"name\"\n", .clock_origin = kMay});
  const Json trace = Json::parse(text);
  EXPECT_EQ(trace.at("schemaVersion"), 1);
  EXPECT_EQ(trace.at("deviceProperties"), Json::array());
  EXPECT_EQ(trace.at("record_shapes"), 1);
  EXPECT_EQ(trace.at("with_flops"), 1);
  EXPECT_EQ(trace.at("displayTimeUnit"), "ms");
  EXPECT_EQ(trace.at("traceName"), "a \"name\"\n");
  EXPECT_FALSE(trace.contains("profile_memory"));
  EXPECT_FALSE(trace.contains("distributedInfo"));
  EXPECT_EQ(trace.at("baseTimeNanoseconds"), kQuarter);
  // 1716398122 - 1711964646 = 4433476 s, and 5.000000001 s of the record's clock.
  EXPECT_THAT(text,
              HasSubstr("\"name\": \"ProfilerStep#3\", \"pid\": 1, \"tid\": 1, \"ts\": 4433481000000.001, "
                        "\"dur\": 7.250, "));
}

TEST(KinetoWriter, NamesTheProcessAndItsThreads) {
  const Program program = program_for_tests();
  ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  step.kernels[3].stream = StreamId{1};
  const Json trace =
      Json::parse(text_of(program, std::span(&step, 1), {.process = 402, .process_name = "nadi rank 0"}));
  const std::vector<Json> metadata = events(trace, "M");
  EXPECT_THAT(names(metadata),
              ElementsAre("process_name", "process_labels", "process_sort_index", "thread_name",
                          "thread_sort_index", "thread_name", "thread_sort_index"));
  EXPECT_EQ(metadata[0].at("args").at("name"), "nadi rank 0");
  EXPECT_EQ(metadata[1].at("args").at("labels"), "CPU");
  EXPECT_EQ(metadata[5].at("args").at("name"), "thread 16777618 (worker 1)");
  EXPECT_EQ(events(trace, "cpu_op").back().at("tid"), 402 + (1 << 24));
}

TEST(KinetoWriter, AKernelOfSeveralOpsIsOneEventThatListsThem) {
  const Program program = program_for_tests();
  constexpr std::array kFused{OpId{0}, OpId{1}, OpId{2}};
  constexpr std::array kLast{OpId{3}};
  ExecutedStep step{.end = Nanoseconds{9000}};
  step.reserve(2, 4);
  step.enter(0, kFused, kComputeStream, Nanoseconds{1000}).end = Nanoseconds{5000};
  step.enter(0, kLast, kComputeStream, Nanoseconds{6000}).end = Nanoseconds{7000};
  const Json trace = Json::parse(text_of(program, std::span(&step, 1)));
  const std::vector<Json> calls = events(trace, "cpu_op");
  EXPECT_THAT(names(calls), ElementsAre("matmul+add", "add"));
  EXPECT_EQ(calls[0].at("dur"), 4.0);
  EXPECT_EQ(calls[0].at("args").at("ops").dump(),
            R"(["model.h.0.attn.matmul","model.h.0.attn.add","model.h.0.mlp.add"])");
  EXPECT_EQ(calls[0].at("args").at("flops"), 512 + 32 + 32);
  EXPECT_FALSE(calls[1].at("args").contains("ops"));
}

TEST(KinetoWriter, ACallHasItsShapesWorkAndOrigin) {
  const Program program = program_for_tests();
  const ExecutedStep step = execute_for_tests(program, 3, Nanoseconds{});
  const Json trace = Json::parse(text_of(program, std::span(&step, 1)));
  const std::vector<Json> calls = events(trace, "cpu_op");
  EXPECT_THAT(names(calls), ElementsAre("matmul", "add", "add", "add"));
  EXPECT_EQ(calls[0].at("ts"), 0.25);
  EXPECT_EQ(calls[0].at("dur"), 1.5);
  const Json& args = calls[0].at("args");
  EXPECT_EQ(args.at("Input Dims").dump(), "[[4,8],[8,8]]");
  EXPECT_EQ(args.at("Input type").dump(), R"(["float","float"])");
  EXPECT_EQ(args.at("Concrete Inputs").dump(), R"(["",""])");
  EXPECT_EQ(args.at("flops"), 2 * 4 * 8 * 8);
  EXPECT_EQ(args.at("bytes"), 4 * (4 * 8 + 8 * 8 + 4 * 8));  // both factors and the product, 4 bytes each
  EXPECT_EQ(args.at("op"), "model.h.0.attn.matmul");
  EXPECT_EQ(args.at("layer"), "model.h.0.attn");
  EXPECT_EQ(args.at("phase"), "forward");
  EXPECT_EQ(args.at("section"), "forward");
  EXPECT_EQ(args.at("micro_batch"), 0);
  EXPECT_EQ(args.at("step"), 3);
  // Step, phase and three layers are before it.
  EXPECT_EQ(args.at("Ev Idx"), 5);
  EXPECT_EQ(args.at("External id"), 6);
  EXPECT_EQ(args.at("Record function id"), 6);
}

TEST(KinetoWriter, AnnotatesStepsPhasesAndLayers) {
  const Program program = program_for_tests();
  const std::array steps{execute_for_tests(program, 8, Nanoseconds{}),
                         execute_for_tests(program, 9, Nanoseconds{10'000})};
  const Json trace = Json::parse(text_of(program, steps));
  EXPECT_THAT(names(events(trace, "user_annotation")),
              ElementsAre("ProfilerStep#8", "forward", "model", "model.h.0", "model.h.0.attn",
                          "model.h.0.mlp", "head", "ProfilerStep#9", "forward", "model", "model.h.0",
                          "model.h.0.attn", "model.h.0.mlp", "head"));
}

// In the file as written, with its rounding to three decimals, and as a viewer sees it who adds start and
// duration as doubles, of some 10^12 us: each event ends before the one around it, and before the next one
// starts.
TEST(KinetoWriter, EventsOfAThreadAreNested) {
  const Program program =
      build_step(*find_built_in_model("gpt2"), {.batch_size = 2, .seq_length = 16}, {.micro_batches = 2});
  const std::array steps{execute_for_tests(program, 0, Nanoseconds{17}),
                         execute_for_tests(program, 1, Nanoseconds{90'000'000})};
  const Json trace = Json::parse(text_of(program, steps, {.clock_origin = kMay}));
  std::vector<std::pair<double, double>> open;
  std::set<std::int64_t> ids;
  std::size_t calls = 0;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const double start = event.at("ts"), end = start + event.at("dur").get<double>();
    while (!open.empty() && open.back().second < start) open.pop_back();
    if (!open.empty()) {
      ASSERT_LT(end, open.back().second) << event.dump();
    }
    open.emplace_back(start, end);
    EXPECT_TRUE(ids.insert(event.at("args").at("External id").get<std::int64_t>()).second);
    calls += event.at("cat") == "cpu_op";
  }
  EXPECT_EQ(calls, steps[0].kernels.size() + steps[1].kernels.size());
}

TEST(KinetoWriter, MemoryEventsAddUpToNothing) {
  const Program program = program_for_tests();
  const MemoryPlan plan = plan_memory(program.graphs[0]);
  const std::array steps{execute_for_tests(program, 0, Nanoseconds{}),
                         execute_for_tests(program, 1, Nanoseconds{10'000})};
  const Json trace = Json::parse(text_of(
      program, steps,
      {.memory = [&](const ExecutedStep&, const ExecutedKernel& call) { return plan.live[index(call.op)]; },
       .reserved = plan.arena}));
  EXPECT_EQ(trace.at("profile_memory"), 1);
  const std::vector<Json> memory = events(trace, "cpu_instant_event");
  ASSERT_GE(memory.size(), 4u);
  EXPECT_EQ(memory[0].at("ph"), "i");
  EXPECT_EQ(memory[0].at("s"), "t");
  EXPECT_EQ(memory[0].at("name"), "[memory]");
  EXPECT_EQ(memory[0].at("ts"), 0.25);
  // The product, 4 x 8 numbers of 4 bytes.
  EXPECT_EQ(memory[0].at("args").at("Bytes"), 128);
  EXPECT_EQ(memory[0].at("args").at("Total Reserved"), plan.arena.count());
  EXPECT_EQ(memory[0].at("args").at("Device Type"), 0);
  EXPECT_EQ(memory[0].at("args").at("Device Id"), -1);
  std::int64_t total = 0;
  for (const Json& event : memory) {
    total += event.at("args").at("Bytes").get<std::int64_t>();
    EXPECT_EQ(event.at("args").at("Total Allocated"), total);
  }
  EXPECT_EQ(total, 0);
}

TEST(KinetoWriter, ARankSaysItsGroupsAndPeers) {
  const Plan plan{.tp = 2, .pp = 2, .micro_batches = 1};
  const Program program =
      build_step(*find_built_in_model("gpt2"), {.batch_size = 1, .seq_length = 16}, plan, 1);
  const ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  const Json trace =
      Json::parse(text_of(program, std::span(&step, 1), {.plan = &plan, .rank = Rank{3}, .backend = "mpi"}));
  const Json& info = trace.at("distributedInfo");
  EXPECT_EQ(info.at("backend"), "mpi");
  EXPECT_EQ(info.at("rank"), 3);
  EXPECT_EQ(info.at("world_size"), 4);
  EXPECT_EQ(info.at("pg_count"), info.at("pg_config").size());
  EXPECT_EQ(info.at("pg_config")[0].at("ranks").dump(), "[0,1,2,3]");
  std::map<std::string, std::string> groups;
  for (const Json& group : info.at("pg_config"))
    groups[group.at("pg_desc")] = group.at("pg_name").get<std::string>() + group.at("ranks").dump();
  EXPECT_THAT(groups.at("tp"), HasSubstr("[2,3]"));

  bool reduced = false, received = false;
  for (const Json& call : events(trace, "cpu_op")) {
    const Json& args = call.at("args");
    if (call.at("name") != "record_param_comms") {
      EXPECT_FALSE(args.contains("Collective name"));
      continue;
    }
    EXPECT_FALSE(args.contains("flops"));
    if (args.at("Process Group Description") == "tp") {
      EXPECT_EQ(args.at("Group size"), 2);
      EXPECT_EQ(args.at("Process Group Ranks"), "[2, 3]");
      EXPECT_EQ(args.at("Process Group Name").get<std::string>() + "[2,3]", groups.at("tp"));
      reduced = true;
    }
    if (args.at("Collective name") == "recv") {
      EXPECT_EQ(args.at("Src Rank"), 1);
      EXPECT_EQ(args.at("Dst Rank"), 3);
      EXPECT_EQ(args.at("bytes"), 16 * 768 * 4);  // the activations of one sequence
      received = true;
    }
  }
  EXPECT_TRUE(reduced);
  EXPECT_TRUE(received);
}

// Calls of 1.5 us, transfers of 20 us, 0.25 us between: receive 0.25..20.25, product 0.5..2, all-reduce
// 2.25..22.25, sum 2.5..4, send 4.25..24.25. All three transfers overlap.
TEST(KinetoWriter, CommunicationHasLanesParametersAndBandwidth) {
  const Program program = communicating_program_for_tests();
  const Plan plan = communicating_plan_for_tests();
  const ExecutedStep step = execute_overlapped_for_tests(program, 0, Nanoseconds{});
  const Json trace =
      Json::parse(text_of(program, std::span(&step, 1), {.process = 2, .plan = &plan, .rank = Rank{2}}));
  std::vector<std::string> threads;
  for (const Json& event : events(trace, "M"))
    if (event.at("name") == "thread_name")
      threads.push_back(event.at("tid").dump() + ": " + event.at("args").at("name").get<std::string>());
  // The main thread has the number of the process, the others multiples of 2^24 more.
  EXPECT_THAT(threads, ElementsAre("2: thread 2 (main)", "16777218: communication 1",
                                   "33554434: communication 2", "50331650: communication 3"));
  EXPECT_THAT(names(events(trace, "user_annotation")),
              ElementsAre("ProfilerStep#0", "backward", "h", "mpi:recv", "mpi:all_reduce", "mpi:send"));

  std::vector<Json> calls;
  for (const Json& event : events(trace, "cpu_op"))
    if (event.at("name") == "record_param_comms") calls.push_back(event);
  ASSERT_EQ(calls.size(), 3u);
  const Json& reduce = calls[1];
  EXPECT_EQ(reduce.at("tid"), 2 + 2 * (1 << 24));
  EXPECT_EQ(reduce.at("ts"), 2.25);
  EXPECT_EQ(reduce.at("dur"), 20.0);
  const Json& args = reduce.at("args");
  EXPECT_EQ(args.at("Collective name"), "allreduce");
  EXPECT_EQ(args.at("dtype"), "Float");
  EXPECT_EQ(args.at("In msg nelems"), 32);
  EXPECT_EQ(args.at("Out msg nelems"), 32);
  EXPECT_EQ(args.at("Group size"), 2);
  EXPECT_EQ(args.at("Process Group Description"), "dp");
  EXPECT_EQ(args.at("Process Group Ranks"), "[2, 3]");
  EXPECT_EQ(args.at("Rank"), 2);
  EXPECT_EQ(args.at("phase"), "backward");
  EXPECT_EQ(args.at("bytes"), 128);
  // 128 bytes in 20 us are 0.0064 GB/s; of two ranks a link carries 2 (2 - 1) / 2 of that.
  EXPECT_EQ(args.at("Algorithm bandwidth (GB/s)"), 0.0064);
  EXPECT_EQ(args.at("Bus bandwidth (GB/s)"), 0.0064);
  EXPECT_FALSE(args.contains("Src Rank"));

  EXPECT_EQ(calls[2].at("args").at("Collective name"), "send");
  EXPECT_EQ(calls[2].at("args").at("Src Rank"), 2);
  EXPECT_EQ(calls[2].at("args").at("Dst Rank"), 0);
  EXPECT_EQ(calls[2].at("args").at("Process Group Description"), "pp");
  EXPECT_EQ(calls[2].at("args").at("Process Group Ranks"), "[0, 2]");
  // No collective runs in the pipeline's group, so it has no number.
  EXPECT_FALSE(calls[2].at("args").contains("Process Group Name"));
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("args").contains("Ev Idx")) {
      EXPECT_EQ(event.at("args").at("Ev Idx").get<int>() % 4, 2) << event.dump();
    }
}

// The names and kinds of values that PyTorch's own traces have.
TEST(KinetoWriter, CommunicationHasTheKeysOfPyTorch) {
  const std::string path = shared_data().string() + "/traces/bert_b4_t384_ddp_device.json.gz";
  FILE* const pipe =
      std::filesystem::exists(path) ? popen(("gzip -dc '" + path + "'").c_str(), "r") : nullptr;
  if (pipe == nullptr) GTEST_SKIP() << "no " << path;
  std::string text;
  std::array<char, 1 << 16> part;
  for (std::size_t got; (got = fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), got);
  pclose(pipe);
  const auto record_of = [](const Json& trace) {
    for (const Json& event : events(trace, "cpu_op"))
      if (event.at("name") == "record_param_comms" && event.at("args").at("Collective name") == "allreduce")
        return event;
    return Json();
  };
  const Json theirs = record_of(Json::parse(text));
  ASSERT_TRUE(theirs.is_object());

  const Program program = communicating_program_for_tests();
  const Plan plan = communicating_plan_for_tests();
  const ExecutedStep step = execute_overlapped_for_tests(program, 0, Nanoseconds{});
  const Json ours = record_of(
      Json::parse(text_of(program, std::span(&step, 1), {.process = 2, .plan = &plan, .rank = Rank{2}})));
  for (const char* key :
       {"Collective name", "dtype", "In msg nelems", "Out msg nelems", "Process Group Name",
        "Process Group Description", "Process Group Ranks", "Group size", "Rank", "External id",
        "Record function id", "Input type", "Input Dims", "Concrete Inputs", "Ev Idx"}) {
    ASSERT_TRUE(theirs.at("args").contains(key)) << key;
    ASSERT_TRUE(ours.at("args").contains(key)) << key;
    EXPECT_EQ(ours.at("args").at(key).type(), theirs.at("args").at(key).type()) << key;
  }
  EXPECT_EQ(ours.at("args").at("dtype"), theirs.at("args").at("dtype"));
}

TEST(KinetoWriter, GroupsAreNumberedAsAllStagesHaveThem) {
  const Plan plan{.tp = 2, .dp = 2, .pp = 2};
  const Program program = communicating_program_for_tests();  // which has no collectives of tp
  const ExecutedStep step = execute_overlapped_for_tests(program, 0, Nanoseconds{});
  const auto number = [&](const std::set<GroupKind>& kinds) {
    const Json trace = Json::parse(text_of(
        program, std::span(&step, 1), {.process = 4, .plan = &plan, .rank = Rank{4}, .group_kinds = kinds}));
    for (const Json& event : events(trace, "cpu_op"))
      if (event.at("name") == "record_param_comms" && event.at("args").at("Collective name") == "allreduce")
        return event.at("args").at("Process Group Name").get<std::string>();
    return std::string();
  };
  // dp groups start with ranks 0, 1, 4, 5; before them are four of tp.
  EXPECT_EQ(number({}), "3");
  EXPECT_EQ(number({GroupKind::kTensor, GroupKind::kData}), "7");
}

TEST(KinetoWriter, ALargeTraceComesInPartsAndTheSameRecordGivesTheSameBytes) {
  const Program program = build_step(*find_built_in_model("gpt2"), {.batch_size = 1, .seq_length = 16});
  std::vector<ExecutedStep> steps;
  for (std::int64_t s = 0; s < 4; ++s)
    steps.push_back(execute_for_tests(program, s, Nanoseconds{s * 1'000'000'000}));
  std::string text;
  int parts = 0;
  const std::uint64_t count = write_kineto(program, steps, {}, [&](std::string_view part) {
    text += part;
    ++parts;
  });
  EXPECT_GT(parts, 1);
  EXPECT_EQ(Json::parse(text).at("traceEvents").size(), count);
  EXPECT_EQ(text, text_of(program, steps));
}

TEST(KinetoWriter, WithoutStepsIsATraceOfItsProcess) {
  const Json trace = Json::parse(text_of(program_for_tests(), {}));
  EXPECT_EQ(trace.at("traceEvents").size(), 5u);
}

}  // namespace
}  // namespace nadi::inline traces
