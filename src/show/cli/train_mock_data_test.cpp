// `nadi train --mock-data`: random tokens, of any model, with no data and no tokenizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nadi/cli/run_for_tests.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

class TrainMockData : public testing::Test {
 protected:
  TrainMockData() {
    write_text("gpt2.json", R"({"model_type": "gpt2", "vocab_size": 300, "n_positions": 32, "n_embd": 16,
                                "n_layer": 1, "n_head": 2})");
    write_text("bert.json", R"({"model_type": "bert", "vocab_size": 300, "max_position_embeddings": 32,
                                "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
                                "intermediate_size": 32})");
  }
  const WorkingFolder folder_;
};

TEST_F(TrainMockData, NeedsNothing) {
  for (const char* model : {"gpt2.json", "bert.json"}) {
    const std::string command =
        std::string("train ") + model +
        " --mock-data --max-seq-length 16 --batch-size 2 --max-steps 3 --threads 1 --seed 5";
    const CliRun done = run(command);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("data: random tokens below 300, 512 samples of 16\n"));
    EXPECT_THAT(done.err, Not(HasSubstr("tokenizer"))) << "none is needed, and none is trained";
    const Json result = run_json(command);
    EXPECT_EQ(result["steps"], 3);
    EXPECT_NEAR(result["last_loss"].get<double>(), std::log(300.0), 0.3) << "nothing can be learned";
  }
}

// A batch is a function of the seed and its place, so that a run that goes on is the run that was not stopped.
TEST_F(TrainMockData, GoesOn) {
  const std::string train =
      "train gpt2.json --mock-data --max-seq-length 16 --batch-size 2 --threads 1 --skip-eval ";
  const Json whole =
      run_json(train + "--max-steps 4 --learning-rate 1e-3 --lr-scheduler constant --save-dir whole");
  ASSERT_EQ(run(train + "--max-steps 2 --learning-rate 1e-3 --lr-scheduler constant --save-dir half").code,
            0);
  const Json half =
      run_json(train + "--max-steps 4 --learning-rate 1e-3 --lr-scheduler constant --save-dir half --resume");
  EXPECT_EQ(half["last_loss"], whole["last_loss"]);
}

TEST_F(TrainMockData, IsNotForDataThatIsGiven) {
  EXPECT_THAT(run("train gpt2.json --mock-data --data squad.json").err,
              HasSubstr("error: --mock-data and --data contradict each other\n"));
}

}  // namespace
}  // namespace nadi::inline show
