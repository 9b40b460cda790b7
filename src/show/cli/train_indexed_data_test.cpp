// `nadi train --data-path`: datasets of Megatron's, made by `nadi data preprocess`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/train_for_tests.h"

namespace nadi::inline show {
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
  EXPECT_THAT(
      from_data.err,
      HasSubstr(
          "warning: neither a vocabulary size nor a tokenizer is given: the largest token of the data is "));
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

// 2 samples until 4 are consumed, then 4: the first two steps have 2, the third and the fourth 4.
TEST_F(TrainIndexedData, BatchesRampUp) {
  const std::string flags =
      "train gpt --num-layers 1 --hidden-size 16 --num-attention-heads 2 --seq-length 16 --threads 1 "
      "--micro-batch-size 2 --global-batch-size 4 --rampup-batch-size 2 2 4 --train-samples 12 --eval-iters "
      "0 "
      "--data-path docs_text_document --vocab-size 300 --log-interval 1 --lr 0.01 --lr-decay-style linear "
      "--lr-warmup-samples 4 --save run --save-interval 1 --load run ";
  const CliRun done = run(flags);
  EXPECT_EQ(done.code, 0) << done.err;
  // Rates are those of the next iteration: 2 and 4 of 4 samples of warm-up, then 4 of 8 down, then all.
  for (const char* line : {"iteration        1/       4 | consumed samples:            2 |",
                           "learning rate: 5.000E-03 | global batch size:     2 |",
                           "iteration        2/       4 | consumed samples:            4 |",
                           "learning rate: 1.000E-02 | global batch size:     2 |",
                           "iteration        3/       4 | consumed samples:            8 |",
                           "learning rate: 5.000E-03 | global batch size:     4 |",
                           "iteration        4/       4 | consumed samples:           12 |",
                           "learning rate: 0.000E+00 | global batch size:     4 |"})
    EXPECT_THAT(done.out, HasSubstr(line));
  // Continued after its first, second and third step, it prints the same lines again.
  const auto last_loss = [](const std::string& text) {
    return text.substr(text.rfind("lm loss:"), std::string("lm loss: 1.234567E+00").size());
  };
  for (const int step : {1, 2, 3}) {
    for (int later = step + 1; later <= 4; ++later) fs::remove_all("run/checkpoint-" + std::to_string(later));
    const CliRun rest = run(flags);
    EXPECT_EQ(rest.code, 0) << rest.err;
    EXPECT_THAT(rest.err, HasSubstr("continuing after step " + std::to_string(step) + " of 4"));
    EXPECT_EQ(last_loss(rest.out), last_loss(done.out)) << rest.out;
  }
}

TEST_F(TrainIndexedData, DataMayBeNamedInOtherWays) {
  write_text("data.txt", "1.0 docs_text_document\n");
  write_text("data.json", R"({"train": ["docs_text_document"], "valid": ["docs_text_document"]})");
  const std::string flags =
      "train gpt --num-layers 1 --hidden-size 16 --num-attention-heads 2 --seq-length 16 --threads 1 "
      "--micro-batch-size 2 --train-iters 1 --eval-iters 1 --tokenizer-model tok --eod-mask-loss ";
  EXPECT_EQ(run(flags + "--data-args-path data.txt --split 8,1,1").code, 0);
  const CliRun apart =
      run(flags + "--train-data-path docs_text_document --valid-data-path docs_text_document");
  EXPECT_EQ(apart.code, 0) << apart.err;
  EXPECT_THAT(apart.err, HasSubstr("validation: 2 samples\n"));
  EXPECT_EQ(run(flags + "--per-split-data-args-path data.json").code, 0);
  EXPECT_EQ(run(flags + "--per-split-data-args-path data.json --split 1,1,1").code, 2);
  EXPECT_EQ(run(flags + "--data-args-path data.txt --data-path docs_text_document").code, 2);
  EXPECT_EQ(run(flags + "--valid-data-path docs_text_document").code, 2);
  write_text("empty.txt", "");
  EXPECT_EQ(run(flags + "--data-args-path empty.txt").code, 3);
  EXPECT_EQ(run(flags + "--data-args-path nowhere.txt").code, 3);
}

}  // namespace
}  // namespace nadi::inline show
