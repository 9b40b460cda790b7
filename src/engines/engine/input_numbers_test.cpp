#include "nadi/engine/input_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "nadi/base/error.h"
#include "nadi/graph/ops/cross_entropy.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline engines {
namespace {

using testing::HasSubstr;

class NumbersOfAStep : public testing::Test {
 protected:
  // What is said of four tokens, or nothing.
  std::string refusal(std::string_view input, std::vector<std::int32_t> values) const {
    try {
      numbers_.check(input, std::as_bytes(std::span(values)));
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  const ModelConfig config_ = *find_built_in_model("gpt2-tiny");
  const std::int32_t vocabulary_ = static_cast<std::int32_t>(config_.vocabulary);
  const Program program_ = build_step(config_, {.batch_size = 1, .seq_length = 4});
  const InputNumbers numbers_{program_};
};

TEST_F(NumbersOfAStep, AreTakenUpToTheLastOfTheTable) {
  EXPECT_EQ(refusal("input_ids", {0, 1, 2, vocabulary_ - 1}), "");
  EXPECT_EQ(refusal("targets", {0, static_cast<std::int32_t>(kIgnoredTarget), 2, vocabulary_ - 1}), "");
}

TEST_F(NumbersOfAStep, AreRefusedBehindItAndBelowZero) {
  EXPECT_THAT(refusal("input_ids", {0, 1, vocabulary_, 2}), HasSubstr("at element 2 of 'input_ids'"));
  EXPECT_THAT(refusal("input_ids", {-1, 1, 2, 3}), HasSubstr("id -1 at element 0"));
  EXPECT_THAT(refusal("targets", {0, 1, 2, vocabulary_}), HasSubstr("of row 3 is not in a vocabulary"));
  EXPECT_THAT(refusal("targets", {0, -1, 2, 3}), HasSubstr("target -1 of row 1"));
}

TEST_F(NumbersOfAStep, OtherInputsAreAnybodys) {
  EXPECT_EQ(refusal("schedule_advance", {-7, -7}), "");
  EXPECT_EQ(refusal("no such input", {-7}), "");
}

}  // namespace
}  // namespace nadi::inline engines
