// What messages say: each names what is wrong and what to type instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/json.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/command_line/flag_hints.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string error_of(std::string_view command) {
  const CliRun done = run(command);
  EXPECT_NE(done.code, 0) << command;
  return done.err;
}

TEST(Words, AMissingFileHasOneWording) {
  const WorkingFolder folder;
  for (const char* command :
       {"show nope.et", "check nope.et", "analyze nope.et", "timeline nope.et -o t.html",
        "draw nope.et -o d.dot", "convert nope.et -o x.json --format kineto", "checkpoint show nope.et",
        "tune show nope.et", "clusters ./nope.et", "job submit nope.et", "simulate nope.et --cluster h200",
        "checkpoint convert --load-dir nope.et --save-dir x --to hf", "train gpt2-tiny --tokenizer nope.et",
        "generate gpt2-tiny --prompts nope.et --num-output-tokens 1 --tokenizer nope.et"})
    EXPECT_THAT(error_of(command), HasSubstr("nope.et: no such file or folder\n")) << command;
}

TEST(Words, HintsNameTheFlag) {
  EXPECT_EQ(hint_with_flags("go on with a fresh optimizer, or start a new run from its weights"),
            "go on with a fresh optimizer: --no-load-optim, or start a new run with --init-from");
  EXPECT_EQ(hint_with_flags("leave the optimizer state out, or keep the precision"),
            "leave the optimizer state out with --no-optimizer, or keep the precision");
  const WorkingFolder folder;
  write_text("a.jsonl", "{\"content\": \"Bees.\"}\n");
  ASSERT_EQ(run("data tokenizer --vocab-size 300 -o tok").code, 0);
  EXPECT_THAT(
      error_of("data preprocess --input a.jsonl -o d --tokenizer tok"),
      HasSubstr("key 'text' is missing\n  hint: name the keys that have the text with --json-keys\n"));
}

TEST(Words, ValuesThatPeopleTry) {
  EXPECT_EQ(error_of("train gpt2-tiny --device gpu"),
            "error: --device does not take 'gpu'\n"
            "  hint: did you mean 'cuda'? known: cpu, cuda, reference\n");
  EXPECT_THAT(
      error_of("train gpt2-tiny --dtype fp8"),
      HasSubstr("error: --dtype does not take 'fp8'\n  hint: no engine runs fp8; --fp8 with --dtype bf16 "
                "counts, traces and simulates it (show, trace, simulate, plan); known: fp32, bf16, fp16\n"));
  EXPECT_THAT(error_of("show gpt2 --dtype bfloat16"), HasSubstr("did you mean 'bf16'?"));
  // The flag that the hint names is there.
  EXPECT_EQ(run("show gpt2 --dtype bf16 --fp8").code, 0);
}

TEST(Words, ClustersWithTooManyNodes) {
  EXPECT_THAT(error_of("clusters dgx-a100x2000000"),
              StartsWith("error: cluster 'dgx-a100' with 2000000 nodes: there are 1 to 1,000,000\n"));
  EXPECT_THAT(error_of("clusters dgx-a100x0"), StartsWith("error: cluster 'dgx-a100' with 0 nodes"));
  EXPECT_THAT(
      error_of("clusters a10-8x4x2"),
      StartsWith("error: cluster 'a10-8x4' has 8 nodes of its own; only clusters of one node take x2\n"));
  EXPECT_THAT(error_of("clusters nosuchx4"), StartsWith("error: unknown cluster 'nosuchx4'\n"));
}

TEST(Words, AnEmptyPromptIsAPrompt) {
  const WorkingFolder folder;
  ASSERT_EQ(run("data tokenizer --vocab-size 300 -o tok").code, 0);
  const CliRun done = run_words(
      {"generate", "gpt2-tiny", "--tokenizer", "tok", "--prompt", "", "--num-output-tokens", "2", "--json"});
  EXPECT_EQ(done.code, 0) << done.err;
  const Json empty = run_json("generate gpt2-tiny --tokenizer tok --prompt= --num-output-tokens 2 --json");
  EXPECT_EQ(empty["generations"][0]["output_tokens"],
            Json::parse(done.out)["generations"][0]["output_tokens"]);
  EXPECT_EQ(run_words({"generate", "gpt2-tiny", "--tokenizer=", "--prompt", "a"}).err,
            "error: --tokenizer needs a value\n  hint: see 'nadi generate --help'\n");
  EXPECT_EQ(run_words({"generate", "gpt2-tiny", "--tokenizer", "", "--prompt", "a"}).err,
            "error: --tokenizer needs a value\n  hint: see 'nadi generate --help'\n");
}

TEST(Words, AFolderThatDoesNotExistIsNotACheckpointThatIsMissing) {
  const WorkingFolder folder;
  const std::string load =
      "train gpt2-tiny --mock-data --max-seq-length 16 --train-iters 1 --lr 1e-3 --load nowhere ";
  EXPECT_THAT(error_of(load + "--exit-on-missing-checkpoint"),
              StartsWith("error: nowhere: no such file or folder\n"));
  EXPECT_THAT(run(load).err, HasSubstr("note: there is no folder nowhere: starting from the beginning\n"));
  std::filesystem::create_directory("empty");
  EXPECT_THAT(error_of("checkpoint convert --load-dir empty --save-dir x --to hf"),
              HasSubstr("the folder is no checkpoint"));
  EXPECT_THAT(error_of("checkpoint convert --load-dir nowhere --save-dir x --to hf"),
              StartsWith("error: nowhere: no such file or folder\n"));
}

TEST(Words, AMarkdownFileIsNoTrainingLog) {
  const WorkingFolder folder;
  write_text("a.md", "# Logs\n\n```\n iteration 1/ 2 | elapsed time per iteration (ms): 5.0 |\n```\n");
  EXPECT_THAT(error_of("show a.md"), Not(HasSubstr("training log")));
  EXPECT_THAT(error_of("analyze a.md"), Not(HasSubstr("training log")));
  EXPECT_THAT(error_of("show a.md"), HasSubstr("a.md: this is a text file, not a model configuration\n"));
  write_text("a.json", "# a comment\n{}\n");
  EXPECT_THAT(error_of("show a.json"), HasSubstr("a.json:1:1: not valid JSON"));
}

TEST(Words, DrawingsHaveOneFormat) {
  const WorkingFolder folder;
  ASSERT_EQ(run("trace gpt2-tiny --batch-size 1 --seq-length 8 -o tr").code, 0);
  EXPECT_EQ(error_of("draw tr.0.et -o a.svg --format png"),
            "error: -o a.svg is a name for svg, and --format says png\n"
            "  hint: leave --format out, or name the file *.png\n");
  EXPECT_EQ(run("draw tr.0.et -o a.dot --format dot").code, 0);
  EXPECT_EQ(run("draw tr.0.et -o picture --format dot").code, 0) << "a name without a format";
}

TEST(Words, FlagsThatNeedOthersSayWhichAndWhy) {
  for (const auto& [command, message] : std::vector<std::pair<std::string, std::string>>{
           {"generate gpt2-tiny --num-input-tokens 2 --force",
            "--force needs --trace\n  hint: it overwrites the files that --trace writes\n"},
           {"job init --force", "--force needs --output\n  hint: it overwrites the file that -o names\n"},
           {"job submit job.json --script x",
            "--script x needs --from: the settings file that the script reads\n  hint: --from _00_conf.sh"},
           {"plan gpt2 --cluster dgx-a100 --global-batch-size 8 --emit-rank 2",
            "--emit-rank needs --emit\n  hint: --emit names the file for the plan\n"},
           {"show gpt2 --deterministic",
            "--deterministic needs --device\n  hint: it goes with --device cuda\n"},
           {"simulate gpt2 --cluster h200 --seed 1",
            "--seed needs --jitter\n  hint: without jitter nothing is random\n"},
           {"simulate gpt2 --cluster h200 --force", "--force needs --timeline, --html or --et-out\n"},
           {"simulate gpt2 --cluster h200 --step prefill --framework megatron-2021",
            "--framework does not apply to --step prefill\n  hint: what frameworks do differently is known "
            "of --step "
            "train\n"},
           {"simulate gpt2 --cluster h200 --step prefill --grad-reduce-dtype bf16",
            "--grad-reduce-dtype does not apply to --step prefill\n  hint: gradients are reduced in --step "
            "train\n"},
           {"train gpt2-tiny --save-total-limit 2", "--save-total-limit needs --save-dir\n"},
           {"train gpt2-tiny --trace-name x",
            "--trace-name needs --enable-tracing\n  hint: without it no trace is written\n"},
           {"train gpt2-tiny --split 1,1,1", "--split needs --data-path\n  hint: it is for indexed datasets"},
           {"train gpt2-tiny --valid-data-path v", "--valid-data-path needs --train-data-path\n"},
           {"train gpt --num-layers 1 --hidden-size 8 --num-attention-heads 2 --seq-length 8 "
            "--max-position-embeddings 8 "
            "--vocab-size 300 --mock-data --rotary-base 10000",
            "--rotary-base needs --position-embedding-type rope\n  hint: learned positions are not "
            "rotated\n"},
           {"tune --param x=1..4 --cluster h200 --model gpt2 -- echo",
            "--cluster needs --global-batch-size\n  hint: the planner splits that batch over the ranks\n"}})
    EXPECT_THAT(error_of(command), HasSubstr("error: " + message)) << command;
}

}  // namespace
}  // namespace nadi::inline show
