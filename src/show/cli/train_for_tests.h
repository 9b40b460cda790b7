// For tests of `nadi train`: a model, data and a tokenizer with which a run takes milliseconds.
//
//   class MyTest : public TrainFolder {};
//   TEST_F(MyTest, ...) { train({{"--max-steps", "2"}, {"--skip-eval", ""}}); }
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {

// Flags by name; "" for a switch, or for a flag of the usual run that is to be left out.
using FlagValues = std::map<std::string, std::string>;

// SQuAD with as many contexts, a question each: "who 3" about "a3 b3 c3 a3 b3 c3 ..." of different lengths.
inline std::string squad_for_tests(int questions) {
  std::string paragraphs;
  for (int i = 0; i < questions; ++i) {
    const std::string number = std::to_string(i);
    std::string context;
    for (int word = 0; word < 4 + i % 5; ++word)
      context += (word == 0 ? "" : " ") + std::string(1, static_cast<char>('a' + word % 3)) + number;
    paragraphs += std::string(i == 0 ? "" : ", ") + R"({"context": ")" + context + R"(", "qas": [{"id": ")" +
                  number + R"(", "question": "who )" + number +
                  R"(", "answers": [{"text": "a", "answer_start": 0}]}]})";
  }
  return R"({"version": "1.1", "data": [{"title": "t", "paragraphs": [)" + paragraphs + "]}]}";
}

// A folder with tiny.json (a GPT-2), squad.json (10 questions) and tok/ (its tokenizer).
class TrainFolder : public testing::Test {
 protected:
  TrainFolder() {
    write_text("tiny.json", R"({"model_type": "gpt2", "vocab_size": 300, "n_positions": 32, "n_embd": 16,
                                "n_layer": 1, "n_head": 2, "initializer_range": 0.2})");
    write_text("squad.json", squad_for_tests(10));
    EXPECT_EQ(run("data tokenizer --input squad.json --vocab-size 260 -o tok").code, 0);
  }

  // 10 questions, one of which is for validation: 9 samples, 5 steps per epoch.
  static std::string command(const FlagValues& changes, const std::string& model = "tiny.json") {
    FlagValues values{{"--data", "squad.json"},   {"--tokenizer", "tok"}, {"--threads", "1"},
                      {"--max-seq-length", "16"}, {"--max-steps", "4"},   {"--batch-size", "2"},
                      {"--learning-rate", "0.01"}};
    std::string words = "train " + model;
    for (const auto& [flag, value] : changes) {
      if (values.erase(flag) > 0 && value.empty()) continue;
      words += " " + flag + (value.empty() ? "" : " " + value);
    }
    for (const auto& [flag, value] : values) words += " " + flag + " " + value;
    return words;
  }

  static CliRun train(const FlagValues& changes, const std::string& model = "tiny.json") {
    return run(command(changes, model));
  }
  static Json train_json(const FlagValues& changes, const std::string& model = "tiny.json") {
    return run_json(command(changes, model));
  }

  const WorkingFolder folder_;
};

}  // namespace nadi::inline show
