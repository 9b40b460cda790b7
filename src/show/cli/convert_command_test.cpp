#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "nadi/base/json.h"
#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

// Profiles and host traces of two ranks: run_rank0_device.json, run_rank0_host.json, and those of rank 1.
class ConvertCommandTest : public testing::Test {
 protected:
  ConvertCommandTest() { copy_sample_traces("."); }
  const WorkingFolder folder_;
};

TEST_F(ConvertCommandTest, LinksBothHalves) {
  const CliRun done = run("convert --host run_rank0_host.json --device run_rank0_device.json -o run.0.et");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out, HasSubstr("run.0.et: rank 0, "));
  EXPECT_THAT(done.out, HasSubstr(" nodes matched"));
  EXPECT_THAT(done.out, HasSubstr(" by correlation, 0 by external id"));
  EXPECT_EQ(run("check run.0.et").code, 0);
}

TEST_F(ConvertCommandTest, AProfileAloneSaysWhatItCannotKnow) {
  const CliRun done = run("convert run_rank0_device.json -o run.0.et");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("--host adds the host's trace"));
  EXPECT_EQ(run("check run.0.et").code, 0);
}

TEST_F(ConvertCommandTest, AHostsTraceAloneHasNoTimes) {
  const CliRun done = run("convert --host run_rank1_host.json -o run.1.et");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("run.1.et: rank 1, 21 nodes, "));
  EXPECT_THAT(done.out, HasSubstr(", no times, "));
  EXPECT_THAT(done.out, HasSubstr("--device adds the profile"));
  const CliRun checked = run("check run.1.et");
  EXPECT_EQ(checked.code, 0) << checked.out;
  EXPECT_THAT(checked.out, HasSubstr("no-times"));
  const Json all = run_json("convert 'run_rank*_host.json' -o out/run");
  ASSERT_EQ(all["files"].size(), 2u);
  EXPECT_EQ(all["files"][1]["file"], "out/run.1.et");
  EXPECT_EQ(all["files"][1]["conversion"]["span_ns"], 0);
  EXPECT_EQ(all["files"][1]["conversion"]["matched"], 0);
}

TEST_F(ConvertCommandTest, KernelsWithoutALaunchAreCountedAndSaid) {
  // As from a profiler that started behind the launches.
  Json profile = Json::parse(read_text("run_rank0_device.json"));
  Json events = Json::array();
  std::size_t kernels = 0;
  for (const Json& event : profile["traceEvents"]) {
    const std::string category = event.value("cat", "");
    if (category == "cuda_runtime" || category == "cuda_driver" || category == "cpu_op" ||
        category == "user_annotation")
      continue;
    kernels += category == "kernel" || category == "gpu_memset" ? 1 : 0;
    events.push_back(event);
  }
  profile["traceEvents"] = events;
  write_text("late.json", profile.dump());
  const CliRun done = run("convert late.json -o late.0.et");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("0 by external id; " + std::to_string(kernels) + " without a launch"));
  const Json json = run_json("convert late.json -o again.0.et");
  EXPECT_EQ(json["files"][0]["conversion"]["device_ops_without_launch"], kernels);
  EXPECT_EQ(run("check late.0.et").code, 0);
  // There is no op that the host's trace could be matched with.
  const CliRun pair = run("convert late.json --host run_rank0_host.json -o pair.0.et");
  EXPECT_EQ(pair.code, 0) << pair.err;
  EXPECT_EQ(pair.err, "");
}

TEST_F(ConvertCommandTest, InputAndOutputHaveFlags) {
  ASSERT_EQ(run("convert run_rank0_device.json -o a.0.et").code, 0);
  ASSERT_EQ(run("convert --input run_rank0_device.json --output b.0.et").code, 0);
  EXPECT_EQ(read_text("a.0.et"), read_text("b.0.et"));
  EXPECT_EQ(run("convert --input 'run_rank*_device.json' --output all").code, 0);
  EXPECT_TRUE(std::filesystem::exists("all.1.et"));
}

TEST_F(ConvertCommandTest, AllRanksAtOnce) {
  const Json done = run_json("convert 'run_rank*_host.json' --device 'run_rank*_device.json' -o out/run");
  ASSERT_EQ(done["files"].size(), 2u);
  EXPECT_EQ(done["format"], "et");
  for (const int rank : {0, 1}) {
    const Json& file = done["files"][static_cast<std::size_t>(rank)];
    EXPECT_EQ(file["file"], "out/run." + std::to_string(rank) + ".et");
    EXPECT_EQ(file["rank"], rank);
    EXPECT_EQ(file["conversion"]["device_ops_without_launch"], 0);
    EXPECT_EQ(file["conversion"]["unmatched_events"], 0);
    EXPECT_GT(file["conversion"]["collectives"], 0);
    EXPECT_EQ(file["bytes"], std::filesystem::file_size(std::string(file["file"])));
    EXPECT_EQ(file["damage"], Json::array());
  }
}

TEST_F(ConvertCommandTest, TheSameFilesGiveTheSameBytes) {
  ASSERT_EQ(run("convert --host run_rank0_host.json --device run_rank0_device.json -o a.0.et").code, 0);
  ASSERT_EQ(run("convert run_rank0_host.json --device run_rank0_device.json -o b.0.et").code, 0);
  EXPECT_EQ(read_text("a.0.et"), read_text("b.0.et"));
}

TEST_F(ConvertCommandTest, ATraceGoesThroughJsonAndBack) {
  ASSERT_EQ(run("convert run_rank0_device.json -o a.0.et").code, 0);
  ASSERT_EQ(run("convert a.0.et -o a.json --format chakra-json").code, 0);
  ASSERT_EQ(run("convert a.json -o b.0.et").code, 0);
  EXPECT_EQ(read_text("a.0.et"), read_text("b.0.et"));
  // The document is one, and the lines are each one.
  const Json document = Json::parse(read_text("a.json"));
  EXPECT_EQ(document["schema"], "chakra 0.0.4");
  for (const char* flags :
       {"-o a.jsonl", "-o b.jsonl --format chakra-json", "-o c.0.jsonl --format chakra-jsonl"})
    ASSERT_EQ(run(std::string("convert a.0.et ") + flags).code, 0) << flags;
  const std::string lines = read_text("a.jsonl");
  EXPECT_EQ(lines, read_text("b.jsonl"));
  EXPECT_EQ(lines, read_text("c.0.jsonl"));
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(lines, '\n')), 1 + document["nodes"].size());
  ASSERT_EQ(run("convert c.0.jsonl -o c.0.et").code, 0);
  EXPECT_EQ(read_text("a.0.et"), read_text("c.0.et"));
  EXPECT_EQ(run("check a.json").code, run("check a.jsonl").code);
  EXPECT_THAT(run("convert a.0.et -o d.jsonl --format kineto").err, HasSubstr("writes .json files"));
}

TEST_F(ConvertCommandTest, KernelsHaveWorkWhereItIsAskedFor) {
  const std::string both =
      "convert 'run_rank*_host.json' --device 'run_rank*_device.json' -o out/run --force ";
  ASSERT_EQ(run(both + "--simulate-only").code, 0);
  const CliRun without = run("check out/run --simulator astra-sim-roofline");
  EXPECT_EQ(without.code, 3);
  EXPECT_THAT(without.out, HasSubstr("astra-sim-roofline would refuse it: COMP without num_ops"));
  const CliRun done = run(both + "--simulate-only --num-ops");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out,
              HasSubstr("  num_ops         12 of 14 device ops by the shapes of their tensors; 2 "));
  EXPECT_EQ(run("check out/run --simulator astra-sim-roofline").code, 0);
  const CliRun chakra = run("convert out/run.0.et -o again.0.et --num-ops");
  EXPECT_EQ(chakra.code, 2);
  EXPECT_THAT(chakra.err, HasSubstr("operations are not counted for out/run.0.et"));
}

TEST_F(ConvertCommandTest, OtherFormats) {
  ASSERT_EQ(run("convert run_rank0_device.json -o graph.json --format node-link").code, 0);
  EXPECT_TRUE(Json::parse(read_text("graph.json"))["directed"]);
  ASSERT_EQ(run("convert run_rank0_device.json -o timeline --format kineto").code, 0);
  EXPECT_GT(Json::parse(read_text("timeline.0.json"))["traceEvents"].size(), 0u);
}

TEST_F(ConvertCommandTest, SimulatorsGetLess) {
  ASSERT_EQ(run("convert run_rank0_device.json -o a.0.et").code, 0);
  ASSERT_EQ(run("convert run_rank0_device.json -o b.0.et --simulate-only").code, 0);
  ASSERT_EQ(run("convert a.0.et -o c.0.et --simulate-only").code, 0);
  EXPECT_LT(std::filesystem::file_size("b.0.et"), std::filesystem::file_size("a.0.et") / 2);
  EXPECT_EQ(std::filesystem::file_size("b.0.et"), std::filesystem::file_size("c.0.et"));
}

TEST_F(ConvertCommandTest, ADamagedFileIsNamedWithItsByte) {
  std::string text = read_text("run_rank0_device.json");
  const std::size_t cut = text.size() / 2;
  write_text("cut.json", text.substr(0, cut));
  const CliRun refused = run("convert cut.json -o run.0.et");
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("cut.json: byte "));
  EXPECT_FALSE(std::filesystem::exists("run.0.et"));
  const CliRun lenient = run("convert cut.json -o run.0.et --lenient");
  EXPECT_EQ(lenient.code, 0) << lenient.err;
  EXPECT_THAT(lenient.out, HasSubstr("cut short"));
}

TEST_F(ConvertCommandTest, NothingIsOverwrittenUnasked) {
  write_text("run.0.et", "mine");
  const CliRun refused = run("convert run_rank0_device.json -o run.0.et");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(read_text("run.0.et"), "mine");
  EXPECT_EQ(run("convert run_rank0_device.json -o run.0.et --force").code, 0);
}

TEST_F(ConvertCommandTest, OneOfManyThatExistsStopsAll) {
  write_text("out/run.1.et", "mine");
  EXPECT_EQ(run("convert 'run_rank*_device.json' -o out/run").code, 2);
  EXPECT_FALSE(std::filesystem::exists("out/run.0.et"));
  EXPECT_EQ(read_text("out/run.1.et"), "mine");
}

struct Misuse {
  const char* command;
  const char* message;
};

TEST_F(ConvertCommandTest, ToldWhatDoesNotGo) {
  ASSERT_EQ(run("convert run_rank0_device.json -o a.0.et").code, 0);
  for (const Misuse& misuse : {
           Misuse{"convert run_rank0_device.json", "-o, --output is missing"},
           Misuse{"convert -o run.0.et", "nothing to convert"},
           Misuse{"convert run_rank0_device.json -o run.json", "--format chakra-json, kineto or node-link"},
           Misuse{"convert run_rank0_device.json -o run.et --format kineto", "writes .json files"},
           Misuse{"convert 'run_rank*_device.json' -o run.0.et", "is one file, and there are 2 traces"},
           Misuse{"convert 'run_rank*_device.json' --host run_rank0_host.json -o run",
                  "1 traces of the host and 2"},
           Misuse{"convert --host run_rank0_device.json --device run_rank0_device.json -o run",
                  "give it with --device"},
           Misuse{"convert --device run_rank0_host.json -o run", "give it with --host"},
           Misuse{"convert run_rank0_device.json run_rank0_device.json -o run", "are both of rank 0"},
           Misuse{"convert a.0.et --device run_rank0_device.json -o run",
                  "convert Chakra traces on their own"},
           Misuse{"convert 'nothing*' -o run", "no file matches 'nothing*'"},
           Misuse{"convert run_rank0_device.json -o out/", "is a folder"},
       }) {
    const CliRun refused = run(misuse.command);
    EXPECT_EQ(refused.code, 2) << misuse.command << "\n" << refused.out;
    EXPECT_THAT(refused.err, HasSubstr(misuse.message)) << misuse.command;
  }
}

TEST_F(ConvertCommandTest, HalvesOfDifferentRunsAreRefused) {
  std::string text = read_text("run_rank0_host.json");
  // No record-function id is found any more.
  for (std::size_t at = 0;
       (at = text.find("\"rf_id\", \"type\": \"uint64\", \"value\": ", at)) != std::string::npos; ++at)
    text.insert(text.find("value\": ", at) + 8, "99");
  write_text("other_host.json", text);
  const CliRun refused = run("convert other_host.json --device run_rank0_device.json -o run.0.et");
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("same rank and run"));
}

TEST_F(ConvertCommandTest, DoesNotMakeAnEmptyTraceOfNonsense) {
  write_text("text.json", "hello");
  const CliRun done = run("convert text.json -o a.0.et --lenient");
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.err, HasSubstr("text.json: this is a text file, not a Chakra trace"));
  EXPECT_FALSE(std::filesystem::exists("a.0.et"));
}

}  // namespace
}  // namespace nadi::inline show
