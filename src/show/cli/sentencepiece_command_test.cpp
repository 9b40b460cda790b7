// Tokenizers of SentencePiece in the commands that read one: text to tokens, training, generating.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"
#include "nadi/text/sentencepiece_files.h"
#include "nadi/text/sentencepiece_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

constexpr std::string_view kFlags =
    " --tokenizer-type Llama2Tokenizer --tokenizer-model tok/tokenizer.model ";

class SentencePieceCommands : public testing::Test {
 protected:
  SentencePieceCommands() {
    write_text("tok/tokenizer.model", SentencePieceModelForTests().bytes());
    std::string documents;
    for (int i = 0; i < 12; ++i) documents += "{\"text\": \"hello world 数据\"}\n";
    write_text("docs.jsonl", documents);
  }

  static CliRun preprocess(const std::string& tokenizer) {
    return run("data preprocess --input docs.jsonl --output-prefix docs --append-eod --workers 1 --force " +
               tokenizer);
  }

  const WorkingFolder folder_;
};

// "▁hello" 278, "▁world" 281, "▁" 259, "数据" 282; <s> is 1 and </s> is 2.
TEST_F(SentencePieceCommands, TextBecomesTokensAsMegatronsDo) {
  const auto first_document = [] { return run("data inspect docs_text_document --documents 0").out; };
  if (!has_sentencepiece()) {
    const CliRun refused = preprocess(std::string(kFlags));
    EXPECT_EQ(refused.code, 4);
    EXPECT_THAT(refused.err, HasSubstr("this build has no SentencePiece"));
    GTEST_SKIP() << "no SentencePiece in this build";
  }
  EXPECT_EQ(preprocess(std::string(kFlags)).code, 0);
  EXPECT_THAT(first_document(), HasSubstr("document 0\n1 278 281 259 282 2\n"));
  EXPECT_EQ(preprocess("--tokenizer-type GPTSentencePieceTokenizer --tokenizer-model tok").code, 0);
  EXPECT_THAT(first_document(), HasSubstr("document 0\n278 281 259 282 2\n"));
  EXPECT_EQ(preprocess("--tokenizer-type SentencePieceTokenizer --tokenizer-model tok").code, 0);
  EXPECT_THAT(first_document(), HasSubstr("document 0\n278 281 259 282 285\n")) << "<EOD>, behind 283 pieces";
  EXPECT_EQ(preprocess("--tokenizer tok").code, 0);
  EXPECT_THAT(run("data inspect docs_text_document --documents 0 --tokenizer tok").out,
              HasSubstr("hello world 数据"));
}

TEST_F(SentencePieceCommands, ARunTrainsSavesAndGenerates) {
  if (!has_sentencepiece()) GTEST_SKIP() << "no SentencePiece in this build";
  ASSERT_EQ(preprocess(std::string(kFlags)).code, 0);
  const CliRun trained =
      run("train llama --num-layers 1 --hidden-size 16 --ffn-hidden-size 32 --num-attention-heads 2 "
          "--seq-length 8 --threads 1 "
          "--micro-batch-size 2 --train-iters 2 --eval-iters 0 --data-path docs_text_document --save out" +
          std::string(kFlags));
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err,
              HasSubstr("tokenizer: tok/tokenizer.model, 283 tokens; the model has room for 283\n"));
  EXPECT_EQ(read_text("out/checkpoint-2/tokenizer.model"), SentencePieceModelForTests().bytes());
  const Json generated =
      run_json("generate out/checkpoint-2 --prompt hello --num-output-tokens 4 --greedy --threads 1");
  EXPECT_EQ(generated["generations"][0]["text"].is_string(), true);
}

TEST_F(SentencePieceCommands, DamagedModelsAreBadInput) {
  if (!has_sentencepiece()) GTEST_SKIP() << "no SentencePiece in this build";
  const std::string model = SentencePieceModelForTests().bytes();
  write_text("tok/tokenizer.model", model.substr(0, model.size() - 1));
  const CliRun cut = preprocess(std::string(kFlags));
  EXPECT_EQ(cut.code, 3);
  EXPECT_THAT(cut.err, HasSubstr("tok/tokenizer.model: byte "));
  write_text("tok/tokenizer.model", "no model at all");
  EXPECT_EQ(preprocess(std::string(kFlags)).code, 3);
  EXPECT_EQ(preprocess("--tokenizer tok").code, 3);
  EXPECT_EQ(preprocess("--tokenizer-type Llama2Tokenizer --tokenizer-model nowhere").code, 3);
}

}  // namespace
}  // namespace nadi::inline show
