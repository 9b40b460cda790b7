#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "nadi/cli/train_for_tests.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TrainDryRun : public TrainFolder {
 protected:
  static std::set<std::string> files() {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(".")) names.insert(entry.path().string());
    return names;
  }
};

TEST_F(TrainDryRun, SaysWhatTheRunThenDoes) {
  const FlagValues flags{{"--save-dir", "out"}, {"--save-steps", "2"}, {"--max-steps", "5"}};
  FlagValues dry = flags;
  dry["--dry-run"] = "";
  const std::set<std::string> before = files();
  const CliRun said = train(dry);
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(files(), before) << "nothing is written";
  EXPECT_THAT(said.out, HasSubstr("ranks: 1 on cpu: dp 1, tp 1, pp 1\n"));
  EXPECT_THAT(said.out, HasSubstr("start: random weights\n"));
  // 2 samples x 16 tokens x 5 steps = 160.
  EXPECT_THAT(said.out,
              HasSubstr("steps: 1 to 5, of 2 samples x 16 tokens (micro-batches of 2, 1 per step): 160 "
                        "tokens\n"));
  // After steps 2, 4 and 5.
  EXPECT_THAT(said.out, HasSubstr("  out/checkpoint-<step>: checkpoint, 3 of them, "));
  EXPECT_THAT(said.out, HasSubstr("  out/best_model: best model, "));
  EXPECT_THAT(said.out, HasSubstr("nothing was run or written\n"));

  const Json json = train_json(dry);
  EXPECT_EQ(json["dry_run"], true);
  EXPECT_EQ(json["total_steps"], 5);
  EXPECT_EQ(json["files"][0]["count"], 3);
  EXPECT_EQ(json["seconds"], nullptr);
  const std::int64_t expected = json["files"][0]["bytes_each"].get<std::int64_t>();
  const Json done = train_json(flags);
  EXPECT_EQ(done["steps"], json["total_steps"]);
  EXPECT_EQ(done["samples"], json["samples"]);
  std::int64_t checkpoints = 0;
  for (const auto& entry : fs::directory_iterator("out"))
    if (entry.path().filename().string().starts_with("checkpoint-")) ++checkpoints;
  EXPECT_EQ(checkpoints, 3);
  std::int64_t tensors = 0;
  for (const char* file : {"model.safetensors", "training_state.safetensors"})
    tensors += static_cast<std::int64_t>(fs::file_size(fs::path("out/checkpoint-5") / file));
  EXPECT_GE(tensors, expected);
  EXPECT_LT(tensors, expected + 8000) << "headers of the two files aside";

  // Then there is something to continue, and something in the way.
  dry["--resume"] = "";
  dry["--max-steps"] = "9";
  const CliRun resumed = train(dry);
  EXPECT_THAT(resumed.out, HasSubstr("start: the checkpoint out/checkpoint-5\n"));
  EXPECT_THAT(resumed.out, HasSubstr("steps: 6 to 9, "));
  dry.erase("--resume");
  EXPECT_EQ(train(dry).code, 2) << "the run would be refused, too";
}

TEST_F(TrainDryRun, PlansForOtherMachines) {
  const CliRun said = run(
      "train gpt2 --mock-data --tokenizer tok --max-seq-length 32 --device cuda --dtype bf16 --tp 2 --pp 2 "
      "--num-ranks 8 --batch-size 1 --global-batch-size 8 --max-steps 100 --cluster dgx-h100 "
      "--enable-tracing --tensorboard-dir board --dry-run");
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("ranks: 8 on cuda: dp 2, tp 2, pp 2\n"));
  EXPECT_THAT(said.out, HasSubstr("  stage 0, ranks 0-3: "));
  EXPECT_THAT(said.out, HasSubstr("  stage 1, ranks 4-7: "));
  EXPECT_THAT(said.out, HasSubstr("  all ranks together: "));
  EXPECT_THAT(said.out, HasSubstr("outputs/gpt2_trace.7.et: trace (Chakra)\n"));
  EXPECT_THAT(said.out, HasSubstr("board/events.out.tfevents.*: events for TensorBoard\n"));
  EXPECT_THAT(said.out, HasSubstr("time on dgx-h100: "));
  EXPECT_FALSE(fs::exists("outputs"));
  EXPECT_FALSE(fs::exists("board"));
  const CliRun few =
      run("train gpt2 --mock-data --tokenizer tok --max-seq-length 32 --dry-run --num-ranks 16 --cluster "
          "dgx-h100");
  EXPECT_EQ(few.code, 5) << "the cluster has 8 devices";
}

// The time of all steps is the time of one times their number.
TEST_F(TrainDryRun, TimeIsThatOfTheSteps) {
  const Json json = train_json({{"--dry-run", ""}, {"--cluster", "h200"}, {"--max-steps", "50"}});
  EXPECT_EQ(json["cluster"], "h200");
  EXPECT_GT(json["step_seconds"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(json["seconds"].get<double>(), 50 * json["step_seconds"].get<double>());
}

}  // namespace
}  // namespace nadi::inline show
