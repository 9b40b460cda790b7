#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"

namespace nadi {
namespace {

using testing::HasSubstr;

class TraceCommandTest : public testing::Test {
 protected:
  TraceCommandTest() { write_text("tiny.json", kTinyConfig); }
  const TemporaryFolder folder_;
};

TEST_F(TraceCommandTest, WritesAFileThatShowReads) {
  const CliRun done = run("trace gpt2 --batch-size 4 --seq-length 512 -o out/gpt2");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out, testing::MatchesRegex("out/gpt2\\.0\\.et: [0-9]+ nodes, .* edges, .*FLOP, .*iB\n"));
  const Json shown = run_json("show out/gpt2.0.et");
  EXPECT_EQ(shown["schema_version"], "0.0.4");
  EXPECT_EQ(shown["sections"].size(), 3u);
}

TEST_F(TraceCommandTest, WorkIsThatOfTheModel) {
  for (const std::string arguments :
       {"gpt2 --batch-size 4 --seq-length 512", "gpt2 --recompute full --seq-length 64",
        "gpt2 --recompute selective --attention unfused --seq-length 64",
        "gpt3-175b --step generate --num-input-tokens 10 --num-output-tokens 20",
        "tiny.json --global-batch-size 4 --micro-batch-size 2", "bert-base-uncased --step evaluate",
        "llama3.1-8b --step decode", "llama3.1-8b --dtype fp16 --optimizer sgd"}) {
    const Json model = run_json("show " + arguments)["total"];
    const Json written = run_json("trace " + arguments + " -o a --force")["files"][0];
    const Json trace = run_json("show a.0.et");
    EXPECT_EQ(trace["total"]["num_ops"], model["flops"]) << arguments;
    EXPECT_EQ(trace["total"]["nodes"], model["ops"]) << arguments;
    EXPECT_EQ(trace["total"]["tensor_size_bytes"],
              model["read_bytes"].get<std::int64_t>() + model["written_bytes"].get<std::int64_t>());
    EXPECT_EQ(written["path"], "a.0.et");
    EXPECT_EQ(written["num_ops"], model["flops"]);
    for (const char* key : {"bytes", "data_edges", "control_edges"}) EXPECT_EQ(written[key], trace[key]);
    EXPECT_EQ(written["nodes"], trace["total"]["nodes"]);
    EXPECT_EQ(written["tensor_size_bytes"], trace["total"]["tensor_size_bytes"]);
    EXPECT_EQ(trace["unknown_fields"], 0);
    EXPECT_EQ(trace["compute_nodes_without_num_ops"], 0);
  }
}

TEST_F(TraceCommandTest, TheFileExplainsItself) {
  const Json model = run_json("show tiny.json --global-batch-size 4 --micro-batch-size 2 --dtype bf16");
  run("trace tiny.json --global-batch-size 4 --micro-batch-size 2 --dtype bf16 -o a");
  Json metadata = Json::object();
  const Json shown = run_json("show a.0.et");
  for (const Json& entry : shown["metadata"]) metadata[entry["name"].get<std::string>()] = entry["value"];
  EXPECT_EQ(metadata["nadi_version"], model["nadi_version"]);
  EXPECT_EQ(metadata["model"], "tiny.json");
  EXPECT_EQ(metadata["model_type"], "gpt2");
  EXPECT_EQ(metadata["layers"], 1);
  EXPECT_EQ(metadata["parameters"], model["parameters"]);
  for (const auto& [key, value] : model["step"].items()) {
    if (value.is_null())
      EXPECT_FALSE(metadata.contains(key)) << key;
    else
      EXPECT_EQ(metadata[key], value) << key;
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
            "error: -o takes the start of file names, and 'out/' is a folder\n"
            "  hint: -o out/step writes out/step.0.et\n");
  EXPECT_EQ(run("trace gpt2 -o out.d/gpt2.0.et").err,
            "error: -o takes file names without their end, not 'out.d/gpt2.0.et'\n"
            "  hint: -o out.d/gpt2 writes out.d/gpt2.0.et\n");
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
}  // namespace nadi
