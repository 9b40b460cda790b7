#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "nadi/cli/run_cli.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/data/indexed_dataset.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/wrap.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline show {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

namespace fs = std::filesystem;

class DataPreprocessCommandTest : public testing::Test {
 protected:
  DataPreprocessCommandTest() {
    write_text("a.txt", "low lower low. New newer new.\n");
    run("data tokenizer --input a.txt --vocab-size 260 -o tok");
    run("data tokenizer --input a.txt --type wordpiece --vocab-size 20 -o tok-bert");
    write_text("in.jsonl",
               "{\"text\": \"low lower. New low.\", \"title\": \"low\"}\n"
               "{\"text\": \"\", \"title\": \"new\"}\n"
               "{\"text\": \"new\", \"title\": \"newer\"}\n");
  }

  static CliRun preprocess(const std::string& arguments) { return run("data preprocess " + arguments); }

  // The documents of a dataset as text, special tokens included.
  static std::vector<std::string> documents(const std::string& prefix, const std::string& tokenizer) {
    const IndexedDataset dataset(prefix);
    std::vector<std::string> texts;
    for (std::int64_t document = 0; document < dataset.documents(); ++document) {
      std::string& text = texts.emplace_back();
      for (auto i = dataset.first_sequence(document); i < dataset.first_sequence(document + 1); ++i)
        text += load_tokenizer(tokenizer)->decode(dataset.tokens(i)) + "|";
    }
    return texts;
  }

  static std::vector<std::string> files_here() {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator("."))
      if (entry.path().extension() != ".jsonl") names.push_back(entry.path().filename());
    return names;
  }

  const WorkingFolder folder_;
};

TEST_F(DataPreprocessCommandTest, WritesADataset) {
  const CliRun done =
      preprocess("--input in.jsonl --output-prefix data/a --tokenizer tok --workers 2 --append-eod");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out,
              MatchesRegex("3 documents, 111 B, in [0-9.]+ s: [0-9.]+ MB/s\n"
                           "data/a_text_document.bin, .idx: [0-9]+ tokens \\(uint16\\) in 2 sequences\n"
                           "  1 of the documents have no tokens\n"));
  EXPECT_THAT(documents("data/a_text_document", "tok"),
              ElementsAre("low lower. New low.<|endoftext|>|", "", "new<|endoftext|>|"));
}

TEST_F(DataPreprocessCommandTest, SplitsSentencesOfSeveralKeys) {
  const CliRun done = preprocess(
      "--input in.jsonl -o a --tokenizer tok --json-keys text title --split-sentences --lang english");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(documents("a_text_sentence", "tok"), ElementsAre("low lower.|New low.|", "", "new|"));
  EXPECT_THAT(documents("a_title_sentence", "tok"), ElementsAre("low|", "new|", "newer|"));
  EXPECT_EQ(preprocess("--input in.jsonl -o b --tokenizer tok --split-sentences --keep-newlines").code, 0);
  EXPECT_THAT(documents("b_text_sentence", "tok"), ElementsAre("low lower. |New low.|", "", "new|"));
}

TEST_F(DataPreprocessCommandTest, TakesMegatronsTokenizerFlags) {
  const std::string words = "--input in.jsonl --workers 1 --json-keys title --output-prefix ";
  EXPECT_EQ(preprocess(words + "gpt --tokenizer-type GPT2BPETokenizer --vocab-file tok/vocab.json "
                               "--merge-file tok/merges.txt --append-eod")
                .code,
            0);
  EXPECT_THAT(documents("gpt_title_document", "tok"),
              ElementsAre("low<|endoftext|>|", "new<|endoftext|>|", "newer<|endoftext|>|"));
  EXPECT_EQ(
      preprocess(words + "bert --tokenizer-type BertWordPieceLowerCase --vocab-file tok-bert/vocab.txt").code,
      0);
  EXPECT_THAT(documents("bert_title_document", "tok-bert"), ElementsAre("low|", "new|", "newer|"));
  // What Megatron takes from Hugging Face's tokenizers has their special tokens, unless told otherwise.
  const std::string hugging_face = " --tokenizer-type HuggingFaceTokenizer --tokenizer-model tok-bert";
  EXPECT_EQ(preprocess(words + "hf" + hugging_face).code, 0);
  EXPECT_THAT(documents("hf_title_document", "tok-bert"),
              ElementsAre("[CLS] low [SEP]|", "[CLS] new [SEP]|", "[CLS] newer [SEP]|"));
  EXPECT_EQ(preprocess(words + "plain" + hugging_face + " --tokenizer-hf-no-include-special-tokens").code, 0);
  EXPECT_EQ(read_text("plain_title_document.bin"), read_text("bert_title_document.bin"));
}

TEST_F(DataPreprocessCommandTest, PrintsJson) {
  const Json json = run_json("data preprocess --input in.jsonl -o a --tokenizer tok --workers 2");
  EXPECT_EQ(json["input"], "in.jsonl");
  EXPECT_EQ(json["tokenizer"], "tok");
  EXPECT_EQ(json["vocabulary"], 260);
  EXPECT_EQ(json["documents"], 3);
  EXPECT_EQ(json["input_bytes"], 111);
  EXPECT_EQ(json["workers"], 2);
  EXPECT_EQ(json["token_type"], "uint16");
  ASSERT_EQ(json["datasets"].size(), 1u);
  EXPECT_EQ(json["datasets"][0]["key"], "text");
  EXPECT_EQ(json["datasets"][0]["bin"], "a_text_document.bin");
  EXPECT_EQ(json["datasets"][0]["idx"], "a_text_document.idx");
  EXPECT_EQ(json["datasets"][0]["sequences"], 2);
  EXPECT_EQ(json["datasets"][0]["empty_documents"], 1);
}

TEST_F(DataPreprocessCommandTest, LogsAsMegatronDoes) {
  const CliRun done = preprocess("--input in.jsonl -o a --tokenizer tok --log-interval 2");
  EXPECT_THAT(done.err, MatchesRegex("Processed 2 documents \\([0-9.e+]+ docs/s, [0-9.e+-]+ MB/s\\)\\.\n"));
  EXPECT_THAT(
      preprocess("--input in.jsonl -o b --tokenizer tok --partitions 2 --keep-sequential-samples").err,
      HasSubstr("note: --partitions has no effect"));
  EXPECT_EQ(read_text("a_text_document.bin"), read_text("b_text_document.bin"));
}

TEST_F(DataPreprocessCommandTest, OverwritesNothingUnasked) {
  write_text("a_text_document.idx", "mine");
  const CliRun done = preprocess("--input in.jsonl -o a --tokenizer tok");
  EXPECT_EQ(done.code, 2);
  EXPECT_EQ(done.err, "error: a_text_document.idx: the file exists\n  hint: use --force to overwrite\n");
  EXPECT_EQ(read_text("a_text_document.idx"), "mine");
  EXPECT_EQ(preprocess("--input in.jsonl -o a --tokenizer tok --force").code, 0);
  EXPECT_NE(read_text("a_text_document.idx"), "mine");
}

struct Mistake {
  const char* arguments;
  int code;
  const char* err;  // is in it
};

TEST_F(DataPreprocessCommandTest, MistakesAreNamedAndNothingIsWritten) {
  write_text("cut.jsonl", "{\"text\": \"low\"}\n{\"text\": \"lo");
  write_text("blank.jsonl", "{\"text\": \"low\"}\n\n");
  write_text("latin1.jsonl", "{\"text\": \"caf\xe9\"}\n");
  write_text("number.jsonl", "{\"text\": 5}\n");
  fs::create_directory("empty");
  write_text("nothing.jsonl", "");
  write_text("nothings/a.jsonl", "");
  write_text("nothings/b.jsonl", "");
  const std::vector<std::string> before = files_here();
  for (const Mistake& mistake : {
           Mistake{"--tokenizer tok -o out/a", 2, "error: --input is missing\n"},
           Mistake{"--tokenizer tok --input in.jsonl", 2, "error: --output-prefix is missing\n"},
           Mistake{"--input in.jsonl -o out/a", 2, "error: --tokenizer is missing\n"},
           Mistake{"--input in.jsonl -o out/a --tokenizer-type NullTokenizer", 2,
                   "NullTokenizer does not encode text"},
           Mistake{"--input in.jsonl -o out/a --tokenizer tok --tokenizer-model tok", 2,
                   "error: --tokenizer and Megatron's flags both name a tokenizer\n"},
           Mistake{"--input in.jsonl -o out/a --tokenizer tok-bert --append-eod", 2,
                   "error: the tokenizer has no token that ends a document\n"},
           Mistake{"--input in.jsonl -o out/a --tokenizer tok --keep-newlines", 2,
                   "error: --keep-newlines needs --split-sentences\n"},
           Mistake{"--input in.jsonl -o out/a --tokenizer tok --lang german", 2,
                   "--lang does not take 'german'"},
           Mistake{"--input in.jsonl -o out/a --tokenizer tok --workers 0", 2, "error: --workers takes "},
           Mistake{"--input in.jsonl -o out/a --tokenizer tok --workers 2000", 2, "error: --workers takes "},
           Mistake{"--input in.jsonl -o out/a --tokenizer tok --json-keys text text", 2,
                   "error: key 'text' is given twice\n"},
           Mistake{"--input in.jsonl -o out/a --tokenizer tok --json-keys body", 3,
                   "error: in.jsonl:1:1: key 'body' is missing\n"},
           Mistake{"--input cut.jsonl -o out/a --tokenizer tok", 3,
                   "error: cut.jsonl:2:10: the string that begins here does not end\n"},
           Mistake{"--input blank.jsonl -o out/a --tokenizer tok", 3,
                   "error: blank.jsonl:2:1: an empty line\n"},
           Mistake{"--input latin1.jsonl -o out/a --tokenizer tok", 3,
                   "error: latin1.jsonl:1:14: not UTF-8: byte 0xE9\n"},
           Mistake{"--input number.jsonl -o out/a --tokenizer tok", 3,
                   "error: number.jsonl:1:10: '5' where "},
           Mistake{"--input nope.jsonl -o out/a --tokenizer tok", 3,
                   "error: nope.jsonl: no such file or folder"},
           Mistake{"--input empty -o out/a --tokenizer tok", 3, "error: empty: the folder has no file "},
           Mistake{"--input nothing.jsonl -o out/a --tokenizer tok", 3,
                   "error: nothing.jsonl: the file is empty: there is no document\n"
                   "  hint: a document is a line: {\"text\": \"...\"}\n"},
           Mistake{"--input nothings -o out/a --tokenizer tok", 3,
                   "error: nothings: all 2 files are empty: there is no document\n"},
           Mistake{"--input in.jsonl -o out/a --tokenizer nope", 3, "error: nope: no such file or folder\n"},
           Mistake{"--input in.jsonl -o in.jsonl/a --tokenizer tok", 4,
                   "error: in.jsonl/a_text_document.bin"},
       }) {
    const CliRun done = preprocess(mistake.arguments);
    EXPECT_EQ(done.code, mistake.code) << mistake.arguments << '\n' << done.err;
    EXPECT_THAT(done.err, HasSubstr(mistake.err));
    EXPECT_EQ(done.out, "");
    EXPECT_EQ(files_here(), before) << mistake.arguments;
  }
}

TEST_F(DataPreprocessCommandTest, AnInterruptLeavesNothing) {
  const std::vector<std::string> before = files_here();
  Interruption interruption;
  interruption.ask();
  std::ostringstream out, err;
  Console console{.out = out, .err = err, .interruption = &interruption};
  EXPECT_EQ(run_cli(words_of("data preprocess --input in.jsonl -o out/a --tokenizer tok"), console), 130);
  EXPECT_EQ(files_here(), before);
}

}  // namespace
}  // namespace nadi::inline show
