// Checkpoints that were damaged after they were saved: every command that reads one finds it, unless it is
// told not to look. And what stands beside checkpoints when they are replaced and removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nadi/cli/train_for_tests.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

void flip_last_bit(const fs::path& file) {
  std::string text = read_text(file);
  text.back() = static_cast<char>(text.back() ^ 1);
  write_text(file, text);
}

class ChecksumsTest : public TrainFolder {
 protected:
  static void expect_found(const CliRun& done, const std::string& message) {
    EXPECT_EQ(done.code, 3) << done.out << done.err;
    EXPECT_THAT(done.err, HasSubstr(message));
  }
};

TEST_F(ChecksumsTest, EveryReaderFindsAFlippedBitOfATensor) {
  ASSERT_EQ(train({{"--save-dir", "out"}}).code, 0);
  fs::copy("out/checkpoint-4", "whole");
  ASSERT_EQ(run("checkpoint show whole --verify").code, 0);
  flip_last_bit("out/checkpoint-4/model.safetensors");
  const std::string damaged = "error: out/checkpoint-4/model.safetensors: byte ";
  const FlagValues resume{{"--save-dir", "out"}, {"--resume", ""}, {"--max-steps", "6"}};
  const CliRun resumed = train(resume);
  expect_found(resumed, damaged);
  EXPECT_THAT(resumed.err, HasSubstr("tensor 'transformer.wte.weight' is damaged: bytes 0 to "));
  expect_found(train({}, "out/checkpoint-4"), damaged);
  expect_found(run("generate out/checkpoint-4 --prompt a --num-output-tokens 1"), damaged);
  expect_found(run("checkpoint convert --load-dir out/checkpoint-4 --save-dir mega --to megatron"), damaged);
  EXPECT_FALSE(fs::exists("mega"));
  expect_found(run("checkpoint compare out/checkpoint-4 whole"), damaged);
  expect_found(run("checkpoint show out/checkpoint-4 --verify"), damaged);

  FlagValues unchecked = resume;
  unchecked["--no-verify"] = "";
  EXPECT_EQ(train(unchecked).code, 0);
  EXPECT_EQ(run("generate out/checkpoint-4 --prompt a --num-output-tokens 1 --no-verify").code, 0);
  EXPECT_EQ(
      run("checkpoint convert --load-dir out/checkpoint-4 --save-dir mega --to megatron --no-verify").code,
      0);
  EXPECT_EQ(run("checkpoint compare out/checkpoint-4 whole --no-verify").code, 1);  // they differ
  EXPECT_EQ(run("checkpoint show out/checkpoint-4 --no-verify").code, 0);
  EXPECT_EQ(run("checkpoint show whole --verify --no-verify").code, 2);
}

TEST_F(ChecksumsTest, TrainingStateAndSmallFiles) {
  ASSERT_EQ(train({{"--save-dir", "out"}}).code, 0);
  const FlagValues resume{{"--save-dir", "out"}, {"--resume", ""}, {"--max-steps", "6"}};
  for (const auto& [file, message] :
       {std::pair("training_state.safetensors", "' is damaged: bytes 0 to "),
        std::pair("training_state.json", "training_state.json: the file is damaged: its checksum is "),
        std::pair("config.json", "config.json: the file is damaged"),
        std::pair("nadi_checksums.json", "the list of checksums is damaged")}) {
    const fs::path path = fs::path("out/checkpoint-4") / file;
    const std::string before = read_text(path);
    flip_last_bit(path);
    if (fs::path(file).extension() == ".json") {  // a place within a number or a word
      std::string text = before;
      const std::size_t place = text.find("\": ") + 3;
      text[place] = static_cast<char>(text[place] ^ 1);
      write_text(path, text);
    }
    expect_found(train(resume), message);
    write_text(path, before);
  }
  EXPECT_EQ(train(resume).code, 0);
}

TEST_F(ChecksumsTest, CheckpointsOfMegatron) {
  ASSERT_EQ(train({{"--save-dir", "out"}}).code, 0);
  for (const char* form : {"megatron", "torch_dist"}) {
    const std::string folder = form;
    ASSERT_EQ(
        run("checkpoint convert --load-dir out/checkpoint-4 --save-dir " + folder + " --to " + form).code, 0);
    EXPECT_EQ(run("checkpoint show " + folder + " --verify").code, 0);
    const bool dist = folder == "torch_dist";
    const fs::path file =
        fs::path(folder) / "iter_0000004" / (dist ? "__0_0.distcp" : "mp_rank_00/model_optim_rng.pt");
    std::string text = read_text(file);
    // Zeros of a moment or numbers of a weight: the middle of the file is in some tensor.
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    write_text(file, text);
    expect_found(run("checkpoint show " + folder + " --verify"), file.filename().string());
    expect_found(run("checkpoint convert --load-dir " + folder + " --save-dir back --to hf"),
                 "' is damaged: ");
    expect_found(train({{"--load", folder}}), "' is damaged: ");
    EXPECT_EQ(train({{"--load", folder}, {"--finetune", ""}, {"--no-verify", ""}}).code, 0);
  }
}

TEST_F(ChecksumsTest, AnArchiveWithoutChecksumsIsReadWithANote) {
  ASSERT_EQ(train({{"--save-dir", "out"}, {"--save-format", "pytorch"}}).code, 0);
  const fs::path file = "out/checkpoint-4/pytorch_model.bin";
  EXPECT_THAT(run("checkpoint show out/checkpoint-4").out, Not(HasSubstr("without checksums")));
  // As torch.save leaves them out: zeros in the directory of the archive.
  std::string text = read_text(file);
  const std::string central = "PK\x01\x02", data = "archive/data/";
  for (std::size_t at = text.find(central); at != std::string::npos; at = text.find(central, at + 1))
    if (text.compare(at + 46, data.size(), data) == 0) text.replace(at + 16, 4, std::string(4, '\0'));
  write_text(file, text);
  const std::string note =
      "out/checkpoint-4/pytorch_model.bin was saved without checksums: its data is not checked";
  EXPECT_THAT(train({{"--save-dir", "out"}, {"--resume", ""}, {"--max-steps", "6"}}).err,
              HasSubstr("note: " + note));
  EXPECT_THAT(run("generate out/checkpoint-4 --prompt a --num-output-tokens 1").err,
              HasSubstr("note: " + note));
  EXPECT_THAT(run("checkpoint convert --load-dir out/checkpoint-4 --save-dir back --to hf").err,
              HasSubstr("note: " + note));
  EXPECT_THAT(run("checkpoint show out/checkpoint-4").out, HasSubstr("without checksums"));
}

TEST_F(ChecksumsTest, ForceReplacesOnlyCheckpoints) {
  ASSERT_EQ(train({{"--save-dir", "out"}}).code, 0);
  const std::string convert = "checkpoint convert --load-dir out/checkpoint-4 --save-dir hf --to hf --force";
  ASSERT_EQ(run(convert).code, 0);
  ASSERT_EQ(run(convert).code, 0);
  write_text("hf/notes.txt", "mine");
  const CliRun refused = run(convert);
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err,
              HasSubstr("error: hf: the folder holds a file of another kind, 'notes.txt', and is not "
                        "replaced\n  hint: move it away, or choose another name"));
  EXPECT_EQ(read_text("hf/notes.txt"), "mine");

  // Another run's in its place, too: the checkpoint stays, and that is said.
  write_text("out/checkpoint-4/notes.txt", "mine");
  const CliRun over = train({{"--save-dir", "out"}, {"--force", ""}, {"--max-steps", "2"}});
  EXPECT_EQ(over.code, 0) << over.err;
  EXPECT_THAT(
      over.err,
      HasSubstr("note: out/checkpoint-4 stays: it holds 'notes.txt', which is not of a checkpoint\n"));
  EXPECT_EQ(read_text("out/checkpoint-4/notes.txt"), "mine");
}

// A folder outside, that a link in the run's folder points to, stays as it is; a run's folder may be a link.
TEST_F(ChecksumsTest, LinksInARunsFolderAreNotFollowed) {
  ASSERT_EQ(train({{"--save-dir", "elsewhere"}}).code, 0);
  fs::create_directories("real");
  fs::create_directory_symlink("real", "run");
  fs::create_directory_symlink(fs::absolute("elsewhere/checkpoint-4"), "real/checkpoint-1");
  const CliRun done =
      train({{"--save-dir", "run"}, {"--force", ""}, {"--save-steps", "2"}, {"--save-total-limit", "1"}});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_FALSE(fs::exists(fs::symlink_status("real/checkpoint-1")));
  EXPECT_TRUE(fs::exists("real/checkpoint-4"));
  EXPECT_TRUE(fs::exists("elsewhere/checkpoint-4/training_state.json"));
  EXPECT_EQ(run("checkpoint show elsewhere/checkpoint-4 --verify").code, 0);

  write_text("precious", "x");
  fs::create_symlink(fs::absolute("precious"), "real/.training.lock");
  const CliRun refused = train({{"--save-dir", "run"}, {"--force", ""}});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err,
              HasSubstr("error: run/.training.lock: a symbolic link has the name of the lock of a run"));
  EXPECT_EQ(read_text("precious"), "x");
}

}  // namespace
}  // namespace nadi::inline show
