#include "nadi/conversion/conversion_question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/testing/source_folder.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline ask {
namespace {

using testing::HasSubstr;

const std::string kTraces = (source_folder() / "examples" / "traces").string();

std::string refusal(const ConversionQuestion& question) {
  try {
    resolve(question);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.message();
  }
  return "";
}

TEST(ConversionQuestion, TheNameOfTheOutputSaysWhatItIs) {
  const std::vector<std::string> profile{kTraces + "/run_rank0_device.json"};
  EXPECT_TRUE(resolve({.files = profile, .output = "run.0.et"}).output.is_file);
  EXPECT_FALSE(resolve({.files = profile, .output = "run"}).output.is_file);
  EXPECT_EQ(resolve({.files = profile, .output = "run"}).output.format->name, trace_formats().front().name);
  EXPECT_EQ(resolve({.files = profile, .output = "run.jsonl"}).output.format->name, "chakra-jsonl");
  EXPECT_EQ(resolve({.files = profile, .output = "run.json", .format = "kineto"}).output.format->name,
            "kineto");
}

TEST(ConversionQuestion, AnswersWithWhatWasWritten) {
  const WorkingFolder folder;
  const ConvertSummary answer = convert({.files = {kTraces + "/run_rank*_device.json"}, .output = "out/run"});
  ASSERT_EQ(answer.files.size(), 2u);
  EXPECT_EQ(answer.files[1].file, "out/run.1.et");
}

TEST(ConversionQuestion, RefusesWhatMakesNoSense) {
  const std::string device = kTraces + "/run_rank0_device.json", host = kTraces + "/run_rank0_host.json";
  EXPECT_THAT(refusal({.output = "run"}), HasSubstr("nothing to convert"));
  EXPECT_THAT(refusal({.files = {device}}), HasSubstr("the output has no name"));
  EXPECT_THAT(refusal({.files = {device}, .output = "out/"}), HasSubstr("is a folder"));
  EXPECT_THAT(refusal({.files = {device}, .output = "run.json"}), HasSubstr("unknown output format"));
  EXPECT_THAT(refusal({.files = {device}, .output = "run", .format = "kinetoo"}),
              HasSubstr("unknown format"));
  EXPECT_THAT(refusal({.files = {device}, .output = "run.et", .format = "kineto"}), HasSubstr(".json files"));
  EXPECT_THAT(refusal({.hosts = {device}, .output = "run"}), HasSubstr("a profile, not a trace of the host"));
  EXPECT_THAT(refusal({.devices = {host}, .output = "run"}), HasSubstr("a trace of the host, not a profile"));
  EXPECT_THAT(refusal({.files = {kTraces + "/run_rank*_device.json"}, .output = "run.0.et"}),
              HasSubstr("there are 2 traces"));
  EXPECT_THAT(refusal({.files = {device}, .output = "run", .options = {.workload = {.ranks = 2}}}),
              HasSubstr("is for workloads as text"));
}

}  // namespace
}  // namespace nadi::inline ask
