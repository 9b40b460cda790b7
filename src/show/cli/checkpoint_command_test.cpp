#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nadi/base/atomic_file.h"
#include "nadi/checkpoint/safetensors_writer.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void write_weights_file(const fs::path& path, const std::vector<float>& weights,
                        const std::string& further = "") {
  std::vector<TensorToWrite> tensors{
      {.name = "w", .shape = {2, 2}, .bytes = std::as_bytes(std::span(weights))}};
  if (!further.empty())
    tensors.push_back({.name = further, .shape = {4}, .bytes = std::as_bytes(std::span(weights))});
  AtomicFile file(path, Overwrite::kAllow);
  write_safetensors(file, std::move(tensors));
  file.commit();
}

TEST(CheckpointShow, OfAFile) {
  const WorkingFolder folder;
  write_weights_file("x.safetensors", {1, 2, 3, 4}, "w.m");
  const CliRun done = run("checkpoint show x.safetensors --tensors");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("kind        safetensors file\n"));
  EXPECT_THAT(done.out, HasSubstr("weights     4 in 1 tensors, 16 B\n"));
  EXPECT_THAT(done.out, HasSubstr("precision   F32\n"));
  EXPECT_THAT(done.out, HasSubstr("optimizer   4 in 1 tensors, 16 B\n"));
  EXPECT_THAT(done.out, testing::ContainsRegex("w +F32 +\\[2, 2\\] +16 B +x.safetensors\n"));
  const Json json = run_json("checkpoint show x.safetensors --tensors");
  EXPECT_EQ(json["tensors"][0]["name"], "w");
  EXPECT_EQ(json["tensors"][0]["shape"], Json::array({2, 2}));
  EXPECT_EQ(json["weights"]["elements"], 4);
  EXPECT_TRUE(json["model"]["layers"].is_null());
}

TEST(CheckpointCompare, SaysWhatDiffersAndFails) {
  const WorkingFolder folder;
  write_weights_file("a.safetensors", {1, 2, 3, 4}, "only_in_a");
  write_weights_file("b.safetensors", {1, 2, 3, 5});
  const CliRun done = run("checkpoint compare a.safetensors b.safetensors");
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(
      done.out,
      HasSubstr("different: 1 of 1 common tensors differ, 1 are only in the first, 0 only in the second\n"));
  EXPECT_THAT(done.out, testing::ContainsRegex("w +F32 +\\[2, 2\\] +4 +1 +1 +0.2\n"));  // 5 - 4, and that / 5
  EXPECT_THAT(done.out, HasSubstr("1 tensors only in a.safetensors\n  only_in_a\n"));
  const CliRun same = run("checkpoint compare a.safetensors a.safetensors");
  EXPECT_EQ(same.code, 0);
  EXPECT_THAT(same.out, HasSubstr("equal: 2 tensors have the same values on both sides\n"));
}

TEST(CheckpointCommands, BadInputHasItsMessage) {
  const WorkingFolder folder;
  write_weights_file("a.safetensors", {1, 2, 3, 4});
  EXPECT_EQ(run("checkpoint compare a.safetensors").code, 2);
  const CliRun missing = run("checkpoint show nowhere");
  EXPECT_EQ(missing.code, 3);
  EXPECT_EQ(missing.err, "error: nowhere: no such file or folder\n");
  fs::resize_file("a.safetensors", fs::file_size("a.safetensors") - 3);
  for (const char* words : {"show a.safetensors", "compare a.safetensors a.safetensors"}) {
    const CliRun cut = run(std::string("checkpoint ") + words);
    EXPECT_EQ(cut.code, 3);
    EXPECT_THAT(cut.err, HasSubstr("error: a.safetensors"));
    EXPECT_EQ(cut.out, "");
  }
}

}  // namespace
}  // namespace nadi::inline show
