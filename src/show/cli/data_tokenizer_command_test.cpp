#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "nadi/cli/run_cli.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/wrap.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline show {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

class DataTokenizerCommandTest : public testing::Test {
 protected:
  DataTokenizerCommandTest() { write_text("a.txt", "low lower low\nnew newer new\n"); }

  static CliRun learn(const std::string& arguments) { return run("data tokenizer " + arguments); }

  const WorkingFolder folder_;
};

TEST_F(DataTokenizerCommandTest, WritesATokenizerThatLoads) {
  const CliRun done = learn("--input a.txt --vocab-size 260 -o tok");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "");
  // "low lower low" and "new newer new" have 13 bytes each.
  EXPECT_EQ(done.out, "tok: 260 tokens, learnt from 2 texts, 26 B\n");
  const auto tokenizer = load_tokenizer("tok");
  EXPECT_EQ(tokenizer->vocabulary_size(), 260);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("lower newer")), "lower newer");
  // 256 bytes, <|endoftext|> and three pairs that were joined: fewer tokens than bytes.
  EXPECT_LT(tokenizer->encode("low low low").size(), 11u);
  for (const char* name : {"vocab.json", "merges.txt", "tokenizer.json"})
    EXPECT_TRUE(fs::exists(fs::path("tok") / name)) << name;
}

TEST_F(DataTokenizerCommandTest, PrintsJson) {
  const Json json = run_json("data tokenizer --input a.txt --type wordpiece --vocab-size 14 -o tok");
  EXPECT_EQ(json["type"], "wordpiece");
  EXPECT_EQ(json["input"], "a.txt");
  EXPECT_EQ(json["texts"], 2);
  EXPECT_EQ(json["text_bytes"], 26);
  EXPECT_EQ(json["vocabulary"], 14);
  EXPECT_THAT(json["files"].get<std::vector<std::string>>(), testing::Contains("tok/vocab.txt"));
  for (const Json& file : json["files"]) EXPECT_TRUE(fs::exists(file.get<std::string>())) << file;
  EXPECT_EQ(load_tokenizer("tok")->vocabulary_size(), 14);
  EXPECT_TRUE(load_tokenizer("tok")->special_tokens().mask.has_value());
}

TEST_F(DataTokenizerCommandTest, ReadsEveryKindOfText) {
  write_text("b.jsonl", "{\"text\": \"low low\"}\n{\"text\": \"new\", \"url\": \"x\"}\n");
  write_text("c.jsonl", "{\"body\": \"low\"}\n");
  write_text("d.json", R"({"data": [{"paragraphs": [{"context": "low low", "qas": [{"id": "1",
                           "question": "new", "answers": []}]}]}]})");
  const auto totals = [](const std::string& arguments) {
    const Json json = run_json("data tokenizer -o tok --force --vocab-size 257 " + arguments);
    return std::vector<std::int64_t>{json["texts"], json["text_bytes"]};
  };
  EXPECT_THAT(totals("--input b.jsonl"), ElementsAre(2, 10));
  EXPECT_THAT(totals("--input c.jsonl --json-key body"), ElementsAre(1, 3));
  EXPECT_THAT(totals("--input d.json"), ElementsAre(2, 10));
}

TEST_F(DataTokenizerCommandTest, SaysWhatItTookInstead) {
  const CliRun sample = learn("--vocab-size 257 -o tok");
  EXPECT_EQ(sample.code, 0);
  EXPECT_EQ(sample.err, "warning: no --input: learning from the small sample that comes with Nadi\n");
  const CliRun few = learn("--input a.txt --vocab-size 9999 -o few");
  EXPECT_EQ(few.code, 0);
  EXPECT_THAT(few.err, testing::MatchesRegex("note: the text gives [0-9]+ tokens, not 9,999\n"));
}

TEST_F(DataTokenizerCommandTest, SameTextSameBytes) {
  learn("--input a.txt -o one");
  learn("--input a.txt -o two");
  for (const fs::directory_entry& entry : fs::directory_iterator("one"))
    EXPECT_EQ(read_text(entry.path()), read_text("two" / entry.path().filename())) << entry.path();
}

TEST_F(DataTokenizerCommandTest, OverwritesNothingUnasked) {
  for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt", "vocab.txt"}) {
    const fs::path path = fs::path("tok") / name;
    write_text(path, "mine");
    const CliRun done = learn("--input a.txt -o tok");
    EXPECT_EQ(done.code, 2);
    EXPECT_EQ(done.out, "");
    EXPECT_EQ(done.err, "error: " + path.string() + ": the file exists\n  hint: use --force to overwrite\n");
    EXPECT_EQ(read_text(path), "mine");
    fs::remove_all("tok");
  }
  write_text("tok/vocab.json", "mine");
  EXPECT_EQ(learn("--input a.txt -o tok --force").code, 0);
  EXPECT_NE(read_text("tok/vocab.json"), "mine");
}

struct Mistake {
  const char* arguments;
  int code;
  const char* err;  // is in it
};

TEST_F(DataTokenizerCommandTest, MistakesAreNamedAndNothingIsWritten) {
  write_text("latin1.txt", "low\ncaf\xe9\n");
  write_text("empty.txt", "\n\n");
  write_text("cut.jsonl", "{\"text\": \"low\"}\n{\"text\": ");
  write_text("keyless.jsonl", "{\"txt\": \"low\"}\n");
  write_text("a.csv", "low");
  fs::create_directory("folder.txt");
  for (const Mistake& mistake : {
           Mistake{"--input a.txt", 2, "error: --output is missing\n"},
           Mistake{"-o tok --input latin1.txt", 3,
                   "error: latin1.txt: byte 7: line 2 is not UTF-8: byte 0xE9\n"},
           Mistake{"-o tok --input empty.txt", 3, "error: empty.txt: there is no text in the file\n"},
           Mistake{"-o tok --input cut.jsonl", 3, "error: cut.jsonl:2:"},
           Mistake{"-o tok --input keyless.jsonl", 3, "error: keyless.jsonl:1:1: key 'text' is missing\n"},
           Mistake{"-o tok --input a.csv", 3, "hint: known: .txt, .jsonl, .json\n"},
           Mistake{"-o tok --input nope.txt", 3, "error: nope.txt: no such file or folder\n"},
           Mistake{"-o tok --input folder.txt", 3, "error: folder.txt: this is a folder, not text\n"},
           Mistake{"-o tok --input a.txt --vocab-size 256", 2, "a byte-level vocabulary of 256 tokens"},
           Mistake{"-o tok --input a.txt --vocab-size x", 2, "error: --vocab-size takes "},
           Mistake{"-o tok --input a.txt --type wodpiece", 2,
                   "hint: did you mean 'wordpiece'? known: bpe, wordpiece\n"},
           Mistake{"-o a.txt/tok --input a.txt", 4, "error: a.txt/tok/"},
       }) {
    const CliRun done = learn(mistake.arguments);
    EXPECT_EQ(done.code, mistake.code) << mistake.arguments;
    EXPECT_THAT(done.err, HasSubstr(mistake.err));
    EXPECT_EQ(done.out, "");
    EXPECT_FALSE(fs::exists("tok")) << mistake.arguments;
  }
}

TEST_F(DataTokenizerCommandTest, AnInterruptLeavesNothing) {
  Interruption interruption;
  interruption.ask();
  std::ostringstream out, err;
  Console console{.out = out, .err = err, .interruption = &interruption};
  EXPECT_EQ(run_cli(words_of("data tokenizer --input a.txt -o tok"), console), 130);
  EXPECT_FALSE(fs::exists("tok"));
}

}  // namespace
}  // namespace nadi::inline show
