#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

class TraceCommandTest : public testing::Test {
 protected:
  TraceCommandTest() { write_text("tiny.json", kTinyConfig); }
  const WorkingFolder folder_;
};

TEST_F(TraceCommandTest, WritesAFileThatShowReads) {
  const CliRun done = run("trace gpt2 --batch-size 4 --seq-length 512 -o out/gpt2");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out, testing::MatchesRegex("out/gpt2\\.0\\.et: [0-9]+ nodes, .* edges, .*FLOP, .*iB\n"));
  const Json shown = run_json("show out/gpt2.0.et");
  EXPECT_EQ(shown["schema_version"], "0.0.4");
  EXPECT_EQ(shown["phases"].size(), 3u);
}

TEST_F(TraceCommandTest, WorkIsThatOfTheModel) {
  for (const std::string arguments :
       {"gpt2 --batch-size 4 --seq-length 512", "gpt2 --recompute full --seq-length 64",
        "gpt2 --recompute selective --attention unfused --seq-length 64",
        "gpt3-175b --step generate --num-input-tokens 10 --num-output-tokens 20",
        "tiny.json --global-batch-size 4 --micro-batch-size 2", "bert-base-uncased --step evaluate",
        "llama3.1-8b --step decode", "llama3.1-8b --dtype fp16 --optimizer sgd"}) {
    const Json model = run_json("show " + arguments)["total"];
    const Json written = run_json("trace " + arguments + " -o a --force");
    const Json trace = run_json("show a.0.et");
    // What only moves memory is one op.
    const auto more = trace["total"]["num_ops"].get<std::int64_t>() - model["flops"].get<std::int64_t>();
    EXPECT_GE(more, 0) << arguments;
    EXPECT_LE(more, model["ops"].get<std::int64_t>()) << arguments;
    EXPECT_EQ(trace["total"]["nodes"], model["ops"]) << arguments;
    EXPECT_EQ(trace["total"]["tensor_size_bytes"],
              model["read_bytes"].get<std::int64_t>() + model["written_bytes"].get<std::int64_t>());
    EXPECT_EQ(written["prefix"], "a");
    EXPECT_EQ(written["ranks"], "0");
    EXPECT_EQ(written["files"], 1);
    EXPECT_TRUE(written["groups_file"].is_null());
    EXPECT_EQ(written["num_ops"], trace["total"]["num_ops"]);
    for (const char* key : {"bytes", "data_edges", "control_edges"}) EXPECT_EQ(written[key], trace[key]);
    EXPECT_EQ(written["nodes"], trace["total"]["nodes"]);
    EXPECT_EQ(trace["unknown_fields"], 0);
    EXPECT_EQ(trace["compute_nodes_without_num_ops"], 0);
  }
}

TEST_F(TraceCommandTest, EveryRankHasAFile) {
  const std::string job =
      "gpt2 --tp 2 --dp 2 --pp 2 --global-batch-size 8 --micro-batch-size 2 --seq-length 16";
  const CliRun done = run("trace " + job + " -o out/g");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out, testing::MatchesRegex("out/g\\.\\*\\.et: 8 files, .* nodes, .* edges, .*FLOP, .*iB\n"
                                              "out/g\\.groups\\.json: the groups of ranks that they name\n"));
  EXPECT_TRUE(std::filesystem::exists("out/g.groups.json"));
  std::int64_t nodes = 0, num_ops = 0, bytes = 0;
  for (int rank = 0; rank < 8; ++rank) {
    const Json model = run_json("show " + job + " --rank " + std::to_string(rank))["total"];
    const Json trace = run_json("show out/g." + std::to_string(rank) + ".et");
    EXPECT_EQ(trace["total"]["nodes"], model["ops"]) << rank;
    nodes += trace["total"]["nodes"].get<std::int64_t>();
    num_ops += trace["total"]["num_ops"].get<std::int64_t>();
    bytes += trace["bytes"].get<std::int64_t>();
  }
  const Json written = run_json("trace " + job + " -o out/g --force");
  EXPECT_EQ(written["files"], 8);
  EXPECT_EQ(written["ranks"], "0-7");
  EXPECT_EQ(written["nodes"], nodes);
  EXPECT_EQ(written["num_ops"], num_ops);
  EXPECT_EQ(written["bytes"], bytes);
  EXPECT_EQ(written["groups_file"], "out/g.groups.json");
  EXPECT_EQ(written["plan"]["world_size"], 8);
}

TEST_F(TraceCommandTest, WritesTheRanksThatAreAskedFor) {
  const std::string job = "trace gpt2 --tp 2 --pp 4 --seq-length 16";
  EXPECT_EQ(run(job + " -o all").code, 0);
  const Json written = run_json(job + " -o some --ranks 5,0-1");
  EXPECT_EQ(written["ranks"], "0-1,5");
  EXPECT_EQ(written["files"], 3);
  for (int rank = 0; rank < 8; ++rank) {
    const std::string end = "." + std::to_string(rank) + ".et";
    const bool wanted = rank == 5 || rank < 2;
    EXPECT_EQ(std::filesystem::exists("some" + end), wanted) << rank;
    if (wanted) {
      EXPECT_EQ(read_text("some" + end), read_text("all" + end)) << rank;
    }
  }
  EXPECT_EQ(run(job + " -o one --ranks 5").out.substr(0, 9), "one.5.et:");
}

TEST_F(TraceCommandTest, NamesRanksThatAreNot) {
  const std::string job = "trace gpt2 --tp 2 --pp 4 --seq-length 16 -o a --ranks ";
  EXPECT_EQ(run(job + "8").err, "error: --ranks names rank 8, and there are 8\n  hint: ranks are 0 to 7\n");
  EXPECT_EQ(run(job + "all").err,
            "error: --ranks takes ranks and ranges of them, and 'all' is neither\n"
            "  hint: 0,8-15 are nine ranks\n");
  EXPECT_THAT(run(job + "1,1").err, HasSubstr("error: --ranks names rank 1 twice\n"));
  for (const char* list : {"8", "all", "1,1"}) EXPECT_EQ(run(job + list).code, 2);
}

TEST_F(TraceCommandTest, WritesForOtherReaders) {
  EXPECT_EQ(run("trace tiny.json --for astra-sim -o sim").code, 0);
  EXPECT_EQ(run("trace tiny.json --for chakra -o a").code, 0);
  EXPECT_NE(read_text("sim.0.et"), read_text("a.0.et"));
  EXPECT_THAT(run("trace tiny.json --for astrasim -o b").err,
              HasSubstr("error: --for does not take 'astrasim'\n"
                        "  hint: did you mean 'astra-sim'? known: chakra, astra-sim\n"));
}

TEST_F(TraceCommandTest, ListsTensorsAsAsked) {
  const std::string job = "trace tiny.json --global-batch-size 4 --micro-batch-size 1 -o a --force";
  const auto size = [&](const std::string& tensors) {
    return run_json(job + " --tensors " + tensors)["bytes"].get<std::int64_t>();
  };
  EXPECT_LT(size("none"), size("first"));
  EXPECT_LT(size("first"), size("all"));
  EXPECT_THAT(run(job + " --tensors frist").err,
              HasSubstr("hint: did you mean 'first'? known: first, all, "));
}

TEST_F(TraceCommandTest, TheFileExplainsItself) {
  const std::string job = "tiny.json --dp 2 --global-batch-size 4 --micro-batch-size 1 --dtype bf16";
  const Json model = run_json("show " + job);
  run("trace " + job + " -o a");
  Json metadata = Json::object();
  const Json shown = run_json("show a.1.et");
  for (const Json& entry : shown["metadata"]) metadata[entry["name"].get<std::string>()] = entry["value"];
  EXPECT_EQ(metadata["nadi_version"], model["nadi_version"]);
  EXPECT_EQ(metadata["model"], "tiny.json");
  EXPECT_EQ(metadata["model_type"], "gpt2");
  EXPECT_EQ(metadata["layers"], "1");
  EXPECT_EQ(metadata["parameters"], model["model"]["parameters"].dump());
  EXPECT_EQ(metadata["rank"], 1);
  for (const char* part : {"step", "plan"})
    for (const auto& [key, value] : model[part].items()) {
      if (value.is_null())
        EXPECT_FALSE(metadata.contains(key)) << key;
      else
        EXPECT_EQ(metadata[key], value.is_string() ? value.get<std::string>() : value.dump()) << key;
    }
}

TEST_F(TraceCommandTest, SameInputSameBytes) {
  for (const std::string step : {"train --recompute full", "generate"}) {
    run("trace tiny.json -o a --force --step " + step);
    run("trace tiny.json -o b/c --force --step " + step);
    EXPECT_EQ(read_text("a.0.et"), read_text("b/c.0.et"));
  }
}

TEST_F(TraceCommandTest, OverwritesOnlyWhenTold) {
  write_text("a.0.et", "mine");
  const CliRun refused = run("trace gpt2 -o a");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err, "error: a.0.et: the file exists\n  hint: use --force to overwrite\n");
  EXPECT_EQ(read_text("a.0.et"), "mine");
  EXPECT_EQ(run("trace gpt2 -o a --force").code, 0);
  EXPECT_EQ(run("show a.0.et").code, 0);
}

TEST_F(TraceCommandTest, NamesWhatIsWrongWithTheOutput) {
  EXPECT_EQ(run("trace gpt2").err,
            "error: -o, --output is missing\n  hint: -o out/step writes out/step.0.et\n");
  EXPECT_EQ(run("trace gpt2 -o out/").err,
            "error: the output is the start of file names, and 'out/' is a folder\n"
            "  hint: out/step writes out/step.0.et\n");
  EXPECT_EQ(run("trace gpt2 -o out.d/gpt2.0.et").err,
            "error: the output is the start of file names, not 'out.d/gpt2.0.et'\n"
            "  hint: out.d/gpt2 writes out.d/gpt2.0.et\n");
  EXPECT_THAT(run("trace gpt2 -o l70.1023.et").err, HasSubstr("  hint: l70 writes l70.0.et\n"));
  for (const char* arguments : {"", " -o out/", " -o a.et"})
    EXPECT_EQ(run("trace gpt2" + std::string(arguments)).code, 2);
  write_text("file", "");
  EXPECT_EQ(run("trace gpt2 -o file/a").code, 4);
  EXPECT_THAT(run("trace gpt2 -o file/a").err, HasSubstr("error: file"));
}

TEST_F(TraceCommandTest, AMistakeLeavesNothingBehind) {
  EXPECT_EQ(run("trace gpt2 --seq-length 5000 -o out/a").code, 2);
  EXPECT_FALSE(std::filesystem::exists("out"));
}

}  // namespace
}  // namespace nadi::inline show
