// `nadi analyze` of profiles, which it converts in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "nadi/analysis/verdict.h"
#include "nadi/base/format.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/cli/train_for_tests.h"
#include "nadi/convert/converted_trace.h"
#include "nadi/pytorch/kineto_reader.h"
#include "nadi/report/verdict_text.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

// The tables of the same traces, once converted to files and once in memory, are the same.
void expect_same_tables(const Json& direct, const Json& converted) {
  EXPECT_EQ(direct["tables"], converted["tables"]);
  EXPECT_EQ(direct["verdict"], converted["verdict"]);
}

class AnalyzeProfiles : public testing::Test {
 protected:
  AnalyzeProfiles() { copy_sample_traces("."); }
  const WorkingFolder folder_;
};

TEST_F(AnalyzeProfiles, OfSeveralRanks) {
  ASSERT_EQ(run("convert 'run_rank*_device.json' -o out/run").code, 0);
  expect_same_tables(run_json("analyze 'run_rank*_device.json'"), run_json("analyze 'out/run.*.et'"));
}

TEST_F(AnalyzeProfiles, WithTheTracesOfTheirHosts) {
  ASSERT_EQ(run("convert 'run_rank*_host.json' --device 'run_rank*_device.json' -o out/run").code, 0);
  expect_same_tables(run_json("analyze 'run_rank*_device.json' 'run_rank*_host.json'"),
                     run_json("analyze 'out/run.*.et'"));
}

class AnalyzeOwnRuns : public TrainFolder {};

// A run writes a Chakra trace and a profile: both tell the same.
TEST_F(AnalyzeOwnRuns, TraceAndProfileTellTheSame) {
  ASSERT_EQ(train({{"--enable-tracing", ""}}).code, 0);
  const Json trace = run_json("analyze outputs/tiny_trace.et");
  const Json profile = run_json("analyze outputs/tiny_trace_kineto.json");
  EXPECT_EQ(trace["verdict"]["device"], "CPU");
  EXPECT_EQ(profile["verdict"], trace["verdict"]);
  for (const char* table : {"kinds", "ops", "layers", "phases"})
    EXPECT_EQ(profile["tables"][table], trace["tables"][table]) << table;
  std::set<std::string> kinds;
  for (const Json& kind : trace["tables"]["kinds"]) {
    kinds.insert(kind["kind"]);
    if (kind["kind"] == "matrix product" || kind["kind"] == "attention") {
      EXPECT_GT(kind["flops_per_second"], 0);
      EXPECT_EQ(kind["work_nodes"], kind["nodes"]);
    }
  }
  EXPECT_THAT(kinds,
              testing::IsSupersetOf({"matrix product", "attention", "norm", "elementwise", "optimizer"}));
  EXPECT_FALSE(kinds.contains("other"));
}

TEST_F(AnalyzeProfiles, ATraceOfTheHostAloneHasNoTimes) {
  const Json json = run_json("analyze 'run_rank*_host.json'");
  EXPECT_EQ(json["ranks"].size(), 2);
  EXPECT_EQ(json["verdict"]["limit"], "not timed");
  EXPECT_GT(json["tables"]["work"][0]["host_nodes"], 0);
}

TEST_F(AnalyzeProfiles, WhatDoesNotGoTogether) {
  ASSERT_EQ(run("convert run_rank0_device.json -o run.0.et").code, 0);
  EXPECT_THAT(run("analyze run.0.et run_rank1_device.json").err, HasSubstr("give them on their own"));
  EXPECT_THAT(run("analyze run_rank0_host.json run_rank1_host.json run_rank0_device.json").err,
              HasSubstr("2 traces of the host and 1 profiles"));
  EXPECT_THAT(run("analyze run_rank0_device.json run_rank0_device.json").err, HasSubstr("both of rank 0"));
}

TEST_F(AnalyzeProfiles, Damaged) {
  const std::string whole = read_text("run_rank0_device.json");
  write_text("cut.json", whole.substr(0, whole.size() / 2));
  EXPECT_EQ(run("analyze cut.json").code, 3);
  const CliRun lenient = run("analyze cut.json --lenient");
  EXPECT_EQ(lenient.code, 0) << lenient.err;
  EXPECT_THAT(lenient.err, HasSubstr("cut.json is cut short"));
}

// What PyTorch wrote on an H200, and an older one of two GPUs.
struct RealProfile {
  const char* name;
  const char* limit;
};
constexpr RealProfile kProfiles[] = {
    {.name = "gpt2_b4_t512", .limit = "host-bound"},
    {.name = "bert_b4_t384_ddp", .limit = "host-bound"},
    {.name = "resnet_2gpu", .limit = "host-bound"},
};

TEST(AnalyzeRealProfiles, VerdictsAddUpToTheirTables) {
  for (const auto& [name, limit] : kProfiles) {
    const std::string file = format("{}/traces/{}_device.json.gz", shared_data().string(), name);
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "the real traces are not on this machine";
    const Json json = run_json("analyze " + file);
    EXPECT_EQ(json["verdict"]["limit"], limit) << name;
    EXPECT_EQ(json["verdict"]["device"], "GPU");
    const Json& device = json["tables"]["breakdown"][0];
    EXPECT_EQ(device["compute_ns"].get<std::int64_t>() +
                  device["exposed_communication_ns"].get<std::int64_t>() +
                  device["exposed_memory_ns"].get<std::int64_t>() + device["idle_ns"].get<std::int64_t>(),
              device["span_ns"].get<std::int64_t>());
    const Json& idle = json["tables"]["idle"][0];
    EXPECT_EQ(idle["lane"], "device");
    EXPECT_EQ(idle["idle_ns"], device["idle_ns"]);
    if (json["verdict"]["limit"] == "host-bound") {
      EXPECT_EQ(json["verdict"]["limit_share"], device["idle_share"]);
      EXPECT_EQ(json["verdict"]["cause_share"], idle["host_share"]);
    }
    std::int64_t kinds = 0, others = 0, nodes = 0;
    for (const Json& kind : json["tables"]["kinds"]) {
      kinds += kind["time_ns"].get<std::int64_t>();
      nodes += kind["nodes"].get<std::int64_t>();
      if (kind["kind"] == "other") others += kind["time_ns"].get<std::int64_t>();
    }
    EXPECT_EQ(kinds, device["compute_sum_ns"].get<std::int64_t>() +
                         device["communication_sum_ns"].get<std::int64_t>() +
                         device["memory_sum_ns"].get<std::int64_t>());
    EXPECT_GT(nodes, 1000);
    EXPECT_LT(static_cast<double>(others), 0.05 * static_cast<double>(kinds)) << name;
  }
}

// The work of a GPT-2 follows from its shapes, 4 x 512 tokens, forward and backward: 3 products of 2 FLOPs
// for each weight of the 12 blocks (12 * 768^2 each) and of the output layer (50,257 * 768), and attention of
// 12 heads of width 64, 4 FLOPs for each element of the queries and key, and 2.5 times that backward.
TEST(AnalyzeRealProfiles, WorkFollowsFromShapes) {
  const std::string file = format("{}/traces/gpt2_b4_t512_device.json.gz", shared_data().string());
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "the real traces are not on this machine";
  const Json json = run_json("analyze " + file);
  constexpr double kTokens = 4 * 512;
  constexpr double kProducts = 3 * 2 * kTokens * 768 * (12 * 12 * 768 + 50'257);
  constexpr double kAttention = 12 * 3.5 * 4 * (kTokens * 768) * 512;
  std::map<std::string, double> flops;
  for (const Json& kind : json["tables"]["kinds"])
    if (!kind["flops"].is_null()) flops[kind["kind"]] = kind["flops"];
  EXPECT_NEAR(flops["matrix product"], kProducts, 0.01 * kProducts);
  EXPECT_NEAR(flops["attention"], kAttention, 0.01 * kAttention);
}

// Nodes that start within a window, with the dependencies that stay.
Trace cut(const Trace& whole, Nanoseconds from, Nanoseconds to) {
  Trace part;
  std::set<TraceNodeId> kept;
  TraceNode node;
  for (std::size_t row = 0; row < whole.size(); ++row) {
    if (whole.start(row) < from || whole.start(row) >= to) continue;
    whole.get(row, node);
    part.add(node);
    kept.insert(whole.id(row));
  }
  part.remove_dependencies([&](TraceNodeId id) { return !kept.contains(id); });
  return part;
}

// Whatever is cut out of a real trace, the figures add up.
TEST(AnalyzeRealProfiles, RandomWindowsAddUp) {
  std::mt19937_64 random(11);
  for (const auto& [name, limit] : kProfiles) {
    const std::string file = format("{}/traces/{}_device.json.gz", shared_data().string(), name);
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "the real traces are not on this machine";
    GroupNumbers groups;
    const Trace whole =
        to_trace(ConvertedTrace({.kineto = std::make_shared<const KinetoTrace>(read_kineto(file))}, groups));
    std::vector<Nanoseconds> starts;
    for (std::size_t row = 0; row < whole.size(); ++row) starts.push_back(whole.start(row));
    for (int round = 0; round < 20; ++round) {
      const Nanoseconds a = starts[random() % starts.size()], b = starts[random() % starts.size()];
      const Trace part = cut(whole, std::min(a, b), std::max(a, b));
      if (part.size() == 0) continue;
      SCOPED_TRACE(format("{}: {} nodes from {}", name, part.size(), std::min(a, b).count()));
      RunAnalysis run;
      add_rank(run, {.trace = part, .file = file, .rank = 0}, {});
      finish(run);
      const RankAnalysis& rank = run.ranks[0];
      const RunTime time = judge(run).time;
      EXPECT_EQ(time.compute + time.communication() + time.copies + time.idle(), time.span);
      EXPECT_EQ(rank.idle.device.total(), rank.breakdown.idle);
      EXPECT_EQ(verdict_lines(run).size(), 3);
      Nanoseconds kinds;
      for (const KindRow& kind : run.kinds) kinds += kind.time;
      const Breakdown& sums = rank.breakdown;
      const Nanoseconds device = sums.compute_sum.time + sums.communication_sum.time + sums.memory_sum.time;
      EXPECT_EQ(kinds, device.count() > 0 ? device : sums.host_sum.time);
      for (const CriticalPath& path : run.paths) EXPECT_EQ(path.length(), path.end - path.start);
    }
  }
}

}  // namespace
}  // namespace nadi::inline show
