#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nadi/checkpoint_conversion/made_up_checkpoint_for_tests.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class CheckpointConvert : public testing::Test {
 protected:
  const WorkingFolder folder_;

  // A tiny Llama and its tokenizer, and a checkpoint of its training after three steps.
  CheckpointConvert() {
    const ModelConfig config = tiny_model(architecture_named("llama"), 4);
    write_made_up_model("out/best_model", config, FileDType::kF32);
    write_made_up_training("out/checkpoint-3", config, FileDType::kF32);
    write_text("tok/vocab.json", R"({"a": 0, "b": 1, "c": 2})");
  }
};

TEST_F(CheckpointConvert, ToASplitAndBack) {
  const CliRun there =
      run("checkpoint convert --load-dir out/best_model --save-dir mega --to megatron "
          "--target-tensor-parallel-size 2 --target-pipeline-parallel-size 2 --verify");
  EXPECT_EQ(there.code, 0) << there.err;
  EXPECT_THAT(there.out, HasSubstr("Megatron-LM checkpoint (torch), tp 2, pp 2"));
  EXPECT_THAT(there.out, HasSubstr("read back and compared"));
  EXPECT_EQ(run("checkpoint convert --load-dir mega --save-dir back --to hf").code, 0);
  EXPECT_TRUE(read_text("out/best_model/model.safetensors") == read_text("back/model.safetensors"));
}

// The line of Megatron's own converter, without --to.
TEST_F(CheckpointConvert, TakesTheFlagsOfMegatronsConverter) {
  const CliRun done =
      run("checkpoint convert --model-type GPT --loader llama_mistral --saver core --checkpoint-type hf "
          "--model-size llama3 --load-dir out/best_model --save-dir mega --tokenizer-model tok "
          "--saver-transformer-impl local --max-queue-size 50 --no-checking --bf16");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("note: --max-queue-size has no effect: nothing is queued"));
  EXPECT_THAT(done.err, HasSubstr("note: --no-checking has no effect"));
  EXPECT_TRUE(fs::exists("mega/iter_0000001/mp_rank_00/model_optim_rng.pt"));
  EXPECT_EQ(read_text("mega/latest_checkpointed_iteration.txt"), "1");
}

TEST_F(CheckpointConvert, DryRunWritesNothing) {
  const std::string line =
      "checkpoint convert --load-dir out/checkpoint-3 --save-dir mega --to megatron --dry-run";
  const CliRun done = run(line);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("iter_0000003/mp_rank_00/model_optim_rng.pt"));
  EXPECT_THAT(done.out, HasSubstr("with optimizer state"));
  EXPECT_FALSE(fs::exists("mega"));
  const Json json = run_json(line);
  EXPECT_EQ(json["dry_run"], true);
  EXPECT_EQ(json["files"].size(), 2u);
  std::int64_t sum = 0;
  for (const Json& file : json["files"]) sum += file["bytes"].get<std::int64_t>();
  EXPECT_EQ(json["bytes"], sum);
  // The sizes are those that are written.
  EXPECT_EQ(run("checkpoint convert --load-dir out/checkpoint-3 --save-dir mega --to megatron").code, 0);
  EXPECT_EQ(static_cast<std::int64_t>(fs::file_size("mega/iter_0000003/mp_rank_00/model_optim_rng.pt")),
            json["files"][0]["bytes"].get<std::int64_t>());
}

TEST_F(CheckpointConvert, Mistakes) {
  const std::string start = "checkpoint convert --load-dir out/best_model --save-dir mega ";
  const auto fails = [&](const std::string& line, int code, const std::string& message) {
    const CliRun done = run(line);
    EXPECT_EQ(done.code, code) << line << "\n" << done.err;
    EXPECT_THAT(done.err, HasSubstr(message)) << line;
    EXPECT_FALSE(fs::exists("mega"));
  };
  fails("checkpoint convert --save-dir mega --to hf", 2, "--load-dir is missing");
  fails("checkpoint convert --load-dir out/best_model --to hf", 2, "--save-dir is missing");
  fails(start, 2, "the format of the target is missing");
  fails(start + "--to hf --saver core", 2, "--saver core writes a checkpoint of Megatron-LM");
  fails(start + "--to hf --bf16 --fp16", 2, "exclude each other");
  fails(start + "--to megatron --model-type BERT", 2,
        "--model-type BERT: the source is a model of type 'llama'");
  fails(start + "--to megatron --model-size qwen2.5", 2, "--model-size qwen2.5 is a model of type 'qwen2'");
  fails(start + "--to megatron --position-embedding-type learned_absolute", 2, "--position-embedding-type");
  fails(start + "--to megatron --loader core", 2, "--loader core does not read 'out/best_model'");
  fails(start + "--to megatron --checkpoint-type meta", 2, "Meta's own files are not read");
  fails(start + "--to megatron --target-expert-parallel-size 2", 2, "takes only 1");
  fails("checkpoint convert --load-dir nowhere --save-dir mega --to hf", 3, "nowhere");
  fails(start + "--to megatron --tokenizer-model nowhere", 3, "there is no tokenizer");
  fails(start + "--to megatron --target-tensor-parallel-size 3", 2, "3");
}

}  // namespace
}  // namespace nadi::inline show
