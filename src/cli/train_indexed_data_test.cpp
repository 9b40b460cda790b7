// `nadi train --data-path`: datasets of Megatron's, made by `nadi data preprocess`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/train_for_tests.h"

namespace nadi {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

// Besides what TrainFolder has: 40 documents in docs_text_document, of tok's 260 tokens.
class TrainIndexedData : public TrainFolder {
 protected:
  TrainIndexedData() {
    std::string documents;
    for (int i = 0; i < 40; ++i)
      documents += R"({"text": "The first word is a)" + std::to_string(i) + R"(. The second word is b)" +
                   std::to_string(i) + ".\"}\n";
    write_text("docs.jsonl", documents);
    EXPECT_EQ(run("data preprocess --input docs.jsonl --output-prefix docs --tokenizer tok --append-eod "
                  "--workers 1")
                  .code,
              0);
  }

  // 3 steps of 4 samples of 16 tokens.
  static CliRun train_gpt(const std::string& more) {
    return run(
        "train gpt --num-layers 1 --hidden-size 16 --num-attention-heads 2 --seq-length 16 --threads 1 "
        "--micro-batch-size 2 --global-batch-size 4 --train-iters 3 --eval-iters 2 --split 8,1,1 "
        "--data-path docs_text_document " +
        more);
  }
};

TEST_F(TrainIndexedData, NeedsNoTokenizer) {
  const CliRun done = train_gpt("--vocab-size 300");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, AllOf(HasSubstr("data: docs_text_document, 12 samples of 16 tokens\n"),
                              HasSubstr("validation: 8 samples\n"), Not(HasSubstr("tokenizer:")),
                              Not(HasSubstr("warning"))));
  EXPECT_THAT(done.out, HasSubstr("done after 3 steps"));
  EXPECT_TRUE(fs::exists("docs_text_document_train_indexmap_12ns_16sl_1234s_doc_idx.npy"));
  const Json json = run_json(
      "train tiny.json --data-path docs_text_document --max-steps 2 --max-seq-length 16 --batch-size 2 "
      "--skip-eval "
      "--seed 5 --threads 1 --data-cache-path maps");
  EXPECT_EQ(json["tokenizer"], nullptr);
  EXPECT_EQ(json["validation_data"], nullptr);
  EXPECT_EQ(json["samples"], 4);
  EXPECT_TRUE(fs::exists("maps/docs_text_document_train_indexmap_4ns_16sl_5s_shuffle_idx.npy"));
}

// The largest token of the data is the one that ends documents, the tokenizer's last.
TEST_F(TrainIndexedData, TellsTheVocabulary) {
  const CliRun from_data = train_gpt("");
  EXPECT_EQ(from_data.code, 0) << from_data.err;
  EXPECT_THAT(from_data.err,
              HasSubstr("warning: neither --vocab-size nor a tokenizer: the largest token of the data is "));
  const CliRun from_tokenizer = train_gpt("--tokenizer-model tok --make-vocab-size-divisible-by 128");
  EXPECT_EQ(from_tokenizer.code, 0) << from_tokenizer.err;
  EXPECT_THAT(from_tokenizer.err, HasSubstr("tokenizer: tok, 260 tokens; the model has room for 384\n"));
}

TEST_F(TrainIndexedData, WhatDoesNotFitIsSaid) {
  EXPECT_EQ(train_gpt("--vocab-size 50").code, 3);
  EXPECT_EQ(train_gpt("--vocab-size 50 --tokenizer tok").code, 3);
  const CliRun missing = run("train tiny.json --data-path nope --max-steps 1 --max-seq-length 16");
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("nope"));
  const CliRun unsplit = train_gpt("--vocab-size 300 --skip-eval");
  EXPECT_THAT(unsplit.err, Not(HasSubstr("validation")));
  const CliRun bert = run("train bert-tiny --data-path docs_text_document --max-steps 1 --max-seq-length 16");
  EXPECT_EQ(bert.code, 2);
  EXPECT_THAT(bert.err, HasSubstr("error: BERT's masks need the tokenizer of the data\n"));
}

TEST_F(TrainIndexedData, BertReadsSentences) {
  ASSERT_EQ(run("data tokenizer --type wordpiece --input squad.json --vocab-size 120 -o tok-bert").code, 0);
  ASSERT_EQ(
      run("data preprocess --input docs.jsonl --output-prefix bert --tokenizer tok-bert --split-sentences "
          "--workers 1")
          .code,
      0);
  const CliRun done =
      run("train bert --num-layers 1 --hidden-size 16 --num-attention-heads 2 --seq-length 32 --threads 1 "
          "--micro-batch-size 2 --train-iters 2 --eval-iters 1 --split 8,1,1 --data-path bert_text_sentence "
          "--vocab-file tok-bert/vocab.txt");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("done after 2 steps"));
}

}  // namespace
}  // namespace nadi
