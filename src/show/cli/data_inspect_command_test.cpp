#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "nadi/cli/run_cli.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/data/indexed_dataset_for_tests.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/wrap.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

class DataInspectCommandTest : public testing::Test {
 protected:
  DataInspectCommandTest() {
    write_text("low.txt", "low lower low\nnew newer new\n");
    run("data tokenizer --input low.txt --vocab-size 260 -o tok");
  }
  static void put(const std::string& prefix, const DatasetBytes& bytes) {
    write_text(prefix + ".idx", bytes.index);
    write_text(prefix + ".bin", bytes.data);
  }
  static TestSequence encoded(std::string_view text, bool end = false) {
    const auto tokenizer = load_tokenizer("tok");
    std::vector<TokenId> ids = tokenizer->encode(text);
    if (end) ids.push_back(*tokenizer->special_tokens().end);
    return {ids.begin(), ids.end()};
  }
  static CliRun inspect(const std::string& arguments) { return run("data inspect " + arguments); }

  const WorkingFolder folder_;
};

TEST_F(DataInspectCommandTest, PrintsFigures) {
  put("d", dataset_bytes({{{1, 2, 300}, {4}}, {}, {{5, 6}}}));
  write_text("d_train_indexmap_1ns_2sl_3s_doc_idx.npy", "");
  write_text("d_train_indexmap_1ns_2sl_3s_sample_idx.npy", "");
  write_text("da_train_indexmap_1ns_2sl_3s_doc_idx.npy", "");
  const CliRun done = inspect("d");
  EXPECT_EQ(done.err, "");
  EXPECT_EQ(done.code, 0);
  // .idx: 34 + 3 * 12 + 4 * 8 bytes
  EXPECT_EQ(done.out,
            "d\n"
            "  documents      3, 1 of them empty\n"
            "  sequences      3\n"
            "  tokens         6\n"
            "  lengths        1 to 3, 2.0 on average\n"
            "  largest token  300\n"
            "  type           uint16\n"
            "  files          .idx of 102 B, .bin of 12 B; they fit together\n"
            "  index maps     d_train_indexmap_1ns_2sl_3s_doc_idx.npy\n"
            "                 d_train_indexmap_1ns_2sl_3s_sample_idx.npy\n");
}

TEST_F(DataInspectCommandTest, PrintsJson) {
  put("data/d", dataset_bytes<std::int32_t>({{{1, 2, 3}}, {{4, 70'000}}}, IndexedDType::kI32));
  const Json json = run_json("data inspect data/d.bin");
  EXPECT_EQ(json["dataset"], "data/d");
  EXPECT_EQ(json["dtype"], "int32");
  EXPECT_EQ(json["documents"], 2);
  EXPECT_EQ(json["empty_documents"], 0);
  EXPECT_EQ(json["sequences"], 2);
  EXPECT_EQ(json["tokens"], 5);
  EXPECT_EQ(json["shortest"], 2);
  EXPECT_EQ(json["longest"], 3);
  EXPECT_EQ(json["mean_length"], 2.5);
  EXPECT_EQ(json["largest_token"], 70'000);
  EXPECT_EQ(json["has_modes"], false);
  EXPECT_EQ(json["index_bytes"], 34 + 2 * 12 + 3 * 8);
  EXPECT_EQ(json["data_bytes"], 20);
  EXPECT_TRUE(json["index_maps"].empty());
  put("e", dataset_bytes({}));
  EXPECT_EQ(run_json("data inspect e")["largest_token"], nullptr);
  EXPECT_THAT(inspect("e").out, HasSubstr("lengths        0 to 0, 0.0 on average\n"));
}

TEST_F(DataInspectCommandTest, PrintsDocuments) {
  put("d", dataset_bytes({{encoded("low lower", true)}, {encoded("new\x1b[1m"), encoded("newer")}, {}}));
  const std::string text = inspect("d --tokenizer tok").out;
  EXPECT_THAT(text, HasSubstr("\n\ndocument 0\nlow lower\n\ndocument 1\nnew?[1m\nnewer\n\ndocument 2\n"));
  EXPECT_THAT(inspect("d --tokenizer tok --documents 1").out, Not(HasSubstr("document 0")));
  put("t", dataset_bytes({{{1, 2}, {3}}, {{4}}}));
  EXPECT_THAT(inspect("t --documents 0-1").out, HasSubstr("\ndocument 0\n1 2\n3\n\ndocument 1\n4\n"));
}

TEST_F(DataInspectCommandTest, PrintsDocumentsAsJsonLines) {
  put("d", dataset_bytes({{encoded("low \"x\"", true)}, {encoded("new"), encoded("caf\xc3\xa9")}, {}}));
  const CliRun done = inspect("d --tokenizer tok --format jsonl");
  EXPECT_EQ(done.err, "");
  EXPECT_EQ(done.out,
            "{\"text\":\"low \\\"x\\\"\"}\n"
            "{\"text\":[\"new\",\"caf\xc3\xa9\"]}\n"
            "{\"text\":[]}\n");
  EXPECT_EQ(inspect("d --tokenizer tok --format jsonl --documents 0-0").out,
            "{\"text\":\"low \\\"x\\\"\"}\n");
  // Half a character.
  TestSequence half = encoded("caf\xc3\xa9");
  half.pop_back();
  put("h", dataset_bytes({{half}}));
  const CliRun broken = inspect("h --tokenizer tok --format jsonl");
  EXPECT_EQ(broken.out, "{\"text\":\"caf\xef\xbf\xbd\"}\n");
  EXPECT_EQ(broken.err, "note: 1 sequences are not UTF-8: what is not became U+FFFD\n");
}

TEST_F(DataInspectCommandTest, MistakesAreNamed) {
  put("d", dataset_bytes({{{1, 2, 3000}}}));
  DatasetBytes cut = dataset_bytes({{{1, 2, 3}}});
  cut.data.resize(5);
  put("cut", cut);
  put("negative", dataset_bytes<std::int16_t>({{{1, -2}}}, IndexedDType::kI16));
  struct Mistake {
    const char* arguments;
    int code;
    const char* err;
  };
  for (const Mistake& mistake : {
           Mistake{"cut", 3, "error: cut.bin: byte 5: the file ends here, within sequence 0"},
           Mistake{"negative", 3, "error: negative.bin: byte 2: -2 is no token"},
           Mistake{"d --format jsonl", 2, "needs a --tokenizer"},
           Mistake{"d --format jsonl --tokenizer tok", 3,
                   "error: d.bin: byte 4: token 3000 is not one of the tokenizer's 260"},
           Mistake{"d --documents 1", 2, "there is no document 1: the dataset has 1"},
           Mistake{"d --documents 1-0", 2, "not '1-0'"},
           Mistake{"d --documents x", 2, "not 'x'"},
           Mistake{"d --documents -1", 2, "--documents"},
           Mistake{"d --json --documents 0", 2, "--json prints figures, not documents"},
           Mistake{"nowhere", 3, "nowhere.idx: no such file or folder"},
           Mistake{"", 2, "PREFIX"},
       }) {
    const CliRun done = inspect(mistake.arguments);
    EXPECT_EQ(done.code, mistake.code) << mistake.arguments;
    EXPECT_THAT(done.err, HasSubstr(mistake.err)) << mistake.arguments;
  }
}

TEST_F(DataInspectCommandTest, CanBeInterrupted) {
  put("d", dataset_bytes({{{1, 2, 3}}}));
  Interruption interruption;
  interruption.ask();
  std::ostringstream out, err;
  Console console{.out = out, .err = err, .interruption = &interruption};
  EXPECT_EQ(run_cli(words_of("data inspect d"), console), 130);
}

}  // namespace
}  // namespace nadi::inline show
