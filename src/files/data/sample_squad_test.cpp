#include "nadi/data/sample_squad.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "nadi/data/squad.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline files {
namespace {

std::string contents(const std::string& name) {
  std::ifstream file(source_folder().string() + "/share/squad-sample/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SampleSquad, IsTheFilesByteForByte) {
  ASSERT_FALSE(contents("train.json").empty());
  EXPECT_TRUE(sample_squad_train() == contents("train.json"));
  EXPECT_TRUE(sample_squad_dev() == contents("dev.json"));
}

TEST(SampleSquad, IsSquad) {
  const SquadSet train = parse_squad(std::string(sample_squad_train()), std::string(kSampleSquadTrainName));
  const SquadSet dev = parse_squad(std::string(sample_squad_dev()), std::string(kSampleSquadDevName));
  EXPECT_EQ(count_misplaced_answers(train), 0);
  EXPECT_EQ(count_misplaced_answers(dev), 0);
  EXPECT_GT(train.questions.size(), dev.questions.size());
}

}  // namespace
}  // namespace nadi::inline files
