#include "nadi/generate/prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/testing/temporary_file.h"

namespace nadi::inline runs {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

// "what()" of the Error, which must be of kind input.
template <class Action>
std::string input_error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "no error";
}

std::string error_in(std::string_view name, std::string_view contents) {
  const TemporaryFile file(name, contents);
  return input_error_of([&] { read_prompts(file.path()); });
}

TEST(Prompts, AreLinesOfAFile) {
  const TemporaryFile file("prompts.txt", "Once upon\r\n two \n{\"prompt\": 1}");
  EXPECT_THAT(read_prompts(file.path()), ElementsAre("Once upon", " two ", "{\"prompt\": 1}"));
}

TEST(Prompts, AreObjectsInJsonLines) {
  const TemporaryFile file("prompts.jsonl", "{\"id\": 7, \"prompt\": \"a\\nb\"}\n{\"prompt\": \"\u6771\"}\n");
  EXPECT_THAT(read_prompts(file.path()), ElementsAre("a\nb", "\u6771"));
}

TEST(Prompts, OfADamagedFileAreRefusedWithTheLine) {
  EXPECT_THAT(error_in("p.txt", "a\n\nb\n"), EndsWith("p.txt:2: the prompt is empty"));
  EXPECT_THAT(error_in("p.txt", ""), EndsWith("p.txt: the file holds no prompts"));
  EXPECT_THAT(error_in("p.txt", "a\nb\xFF\n"), HasSubstr("byte 3: line 2 is not UTF-8"));
  EXPECT_THAT(error_in("p.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": \"\"}\n"),
              EndsWith("p.jsonl:2: the prompt is empty"));
  EXPECT_THAT(error_in("p.jsonl", "{\"prompt\": \"a\"}\n{\"promt\": \"b\"}\n"),
              EndsWith("p.jsonl:2:1: key 'prompt' is missing"));
  EXPECT_THAT(error_in("p.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": 5}\n"), HasSubstr("p.jsonl:2:12: "));
  EXPECT_THAT(error_in("p.jsonl", "{\"prompt\": \"a\"\n"), HasSubstr("p.jsonl:1:15: "));
  EXPECT_THAT(error_in("p.jsonl", "{\"prompt\": \"a\"}\n\n"), HasSubstr("p.jsonl:2:1: "));
  EXPECT_THAT(input_error_of([] { read_prompts("/nowhere/p.txt"); }), HasSubstr("/nowhere/p.txt"));
}

TEST(Prompts, BeginAsInTraining) {
  EXPECT_THAT(encode_prompt(ByteTokenizer::gpt2(), "ab"), ElementsAre('a', 'b'));
  EXPECT_THAT(encode_prompt(ByteTokenizer::llama(), "ab"), ElementsAre(256, 'a', 'b'));
  // One token for both, as tokenizer_config.json of GPT-2 has it, is an end only.
  EXPECT_THAT(encode_prompt(ByteTokenizer({.begin = 256, .end = 256}, 257), "ab"), ElementsAre('a', 'b'));
}

TEST(Prompts, WithoutTokensAreRefused) {
  EXPECT_EQ(input_error_of([] { encode_prompt(ByteTokenizer({}, 257), "", {.file = "p.txt", .line = 3}); }),
            "p.txt:3: the prompt is empty, and the tokenizer has no token that begins or ends a text");
}

TEST(Prompts, ThatAreEmptyBeginAText) {
  EXPECT_THAT(encode_prompt(ByteTokenizer::llama(), ""), ElementsAre(256));
  EXPECT_THAT(encode_prompt(ByteTokenizer({.begin = 256, .end = 256}, 257), ""), ElementsAre(256));
  EXPECT_THAT(encode_prompt(ByteTokenizer({.end = 256}, 257), ""), ElementsAre(256));
}

TEST(Prompts, OfChanceAreTheSameForTheSameSeed) {
  const RandomPrompt request{.tokens = 200, .vocabulary = 7, .seed = 1};
  const std::vector<TokenId> prompt = random_prompt(request, 3);
  EXPECT_EQ(prompt.size(), 200u);
  EXPECT_EQ(random_prompt(request, 3), prompt);
  EXPECT_NE(random_prompt(request, 2), prompt);
  EXPECT_NE(random_prompt({.tokens = 200, .vocabulary = 7, .seed = 2}, 3), prompt);
  for (TokenId token = 0; token < 7; ++token) EXPECT_THAT(prompt, testing::Contains(token));
  EXPECT_THAT(prompt, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(7))));
}

TEST(Prompts, LeaveRoomForTheOutput) {
  const ModelConfig config = generating_model(architecture_named("gpt2"));  // 24 positions
  const std::vector<std::vector<TokenId>> prompts{{1}, std::vector<TokenId>(20, 1), {1, 2}};
  EXPECT_EQ(longest_prompt(prompts, config, 4), 20);
  EXPECT_EQ(input_error_of([&] { longest_prompt(prompts, config, 5); }),
            "prompt 2 of 20 tokens and an output of 5 do not fit tiny, which has 24 positions");
}

}  // namespace
}  // namespace nadi::inline runs
