#include "nadi/checkpoint_conversion/tokenizer_size.h"

#include <gmock/gmock.h>

#include "nadi/base/files_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::HasSubstr;

class TokenizerSizeTest : public FolderTest {};

// Three tokens, two added ones, of which one is among the three: 4.
TEST_F(TokenizerSizeTest, TokensAndAddedTokens) {
  const std::string added = R"("added_tokens": [{"id": 0, "content": "<s>"}, {"id": 3, "content": "<new>"}])";
  write_text(folder_ / "bpe/tokenizer.json",
             R"({"version": "1.0", )" + added +
                 R"(, "model": {"type": "BPE", "vocab": {"<s>": 0, "a": 1, "b": 2}, "merges": []}})");
  EXPECT_EQ(tokenizer_size(folder_ / "bpe"), 4);
  EXPECT_EQ(tokenizer_size(folder_ / "bpe/tokenizer.json"), 4);
  write_text(folder_ / "unigram/tokenizer.json",
             R"({"version": "1.0", )" + added +
                 R"(, "model": {"type": "Unigram", "vocab": [["<s>", 0.0], ["a", -1.0], ["b", -2.0]]}})");
  EXPECT_EQ(tokenizer_size(folder_ / "unigram"), 4);
}

TEST_F(TokenizerSizeTest, Vocabularies) {
  write_text(folder_ / "gpt/vocab.json", R"({"a": 0, "b": 1})");
  EXPECT_EQ(tokenizer_size(folder_ / "gpt"), 2);
  write_text(folder_ / "bert/vocab.txt", "[PAD]\n[UNK]\na\n");
  EXPECT_EQ(tokenizer_size(folder_ / "bert"), 3);
}

TEST_F(TokenizerSizeTest, WhatIsNoTokenizer) {
  write_text(folder_ / "none/readme.md", "x");
  const auto none = error_of([&] { tokenizer_size(folder_ / "none"); });
  ASSERT_TRUE(none);
  EXPECT_THAT(none->what(), HasSubstr("the folder has no tokenizer"));
  const auto missing = error_of([&] { tokenizer_size(folder_ / "nowhere"); });
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->kind(), ErrorKind::kInput);
  write_text(folder_ / "cut/tokenizer.json", R"({"model": {"vocab": {"a")");
  EXPECT_TRUE(error_of([&] { tokenizer_size(folder_ / "cut"); }));
}

TEST_F(TokenizerSizeTest, FilesOfATokenizer) {
  write_text(folder_ / "tok/tokenizer.json", "{}");
  write_text(folder_ / "tok/tokenizer_config.json", "{}");
  write_text(folder_ / "tok/model.safetensors", "");
  const auto files = tokenizer_files(folder_ / "tok");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].filename(), "tokenizer.json");
  EXPECT_TRUE(tokenizer_files(folder_ / "nowhere").empty());
}

}  // namespace
}  // namespace nadi::inline files
