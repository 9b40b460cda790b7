#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"
#include "nadi/data/indexed_dataset_for_tests.h"
#include "nadi/data/npy_file.h"

namespace nadi::inline show {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

class DataIndexCommandTest : public testing::Test {
 protected:
  // a: 10 documents of 10 tokens. s: 4 documents of 4 sentences of 5 tokens.
  DataIndexCommandTest() {
    put("data/a", dataset_bytes(counting_documents(std::vector<int>(10, 10))));
    put("data/s", dataset_bytes(std::vector<TestDocument>(4, TestDocument(4, TestSequence(5, 7)))));
  }
  static void put(const std::string& prefix, const DatasetBytes& bytes) {
    write_text(prefix + ".idx", bytes.index);
    write_text(prefix + ".bin", bytes.data);
  }
  static CliRun index(const std::string& arguments) { return run("data index " + arguments); }

  const WorkingFolder folder_;
};

TEST_F(DataIndexCommandTest, WritesTheThreeMapsOfGptBesideTheDataset) {
  const CliRun done = index("data/a --num-samples 12 --seq-length 9");
  EXPECT_EQ(done.err, "");
  EXPECT_EQ(done.code, 0);
  // 12 samples of 9 tokens and one are 109 tokens: two epochs, which hold 199 / 9 = 22 samples.
  const std::string name = "data/a_train_indexmap_12ns_9sl_1234s_";
  EXPECT_EQ(done.out, "data/a: 22 samples of 10 documents, 2 times\n" + name + "doc_idx.npy\n" + name +
                          "sample_idx.npy\n" + name + "shuffle_idx.npy\n");
  EXPECT_THAT(NpyFile(name + "doc_idx.npy").shape(), ElementsAre(20));
  EXPECT_THAT(NpyFile(name + "sample_idx.npy").shape(), ElementsAre(23, 2));
  EXPECT_THAT(NpyFile(name + "shuffle_idx.npy").shape(), ElementsAre(22));
}

TEST_F(DataIndexCommandTest, APartOfASplit) {
  const Json json = run_json(
      "data index data/a.idx --num-samples 3 --seq-length 4 --split 6,3,1 --part valid "
      "--seed 0 -o maps");
  EXPECT_EQ(json["dataset"], "data/a");
  EXPECT_EQ(json["kind"], "gpt");
  EXPECT_EQ(json["split"], "6,3,1");
  EXPECT_EQ(json["part"], "valid");
  EXPECT_EQ(json["seed"], 0);
  EXPECT_EQ(json["seq_length"], 4);
  EXPECT_EQ(json["documents"], 3);
  EXPECT_EQ(json["epochs"], 1);
  EXPECT_EQ(json["samples"], 7);  // 29 / 4
  EXPECT_EQ(json["files"][0], "maps/a_valid_indexmap_3ns_4sl_0s_doc_idx.npy");
  const NpyFile documents("maps/a_valid_indexmap_3ns_4sl_0s_doc_idx.npy");
  std::vector<int> numbers;
  for (std::int64_t i = 0; i < 3; ++i) numbers.push_back(documents.at<std::int32_t>(i));
  EXPECT_THAT(numbers, testing::UnorderedElementsAre(6, 7, 8));
}

TEST_F(DataIndexCommandTest, WritesTheMapOfBert) {
  const Json json =
      run_json("data index data/s --bert --max-num-samples 6 --seq-length 23 --short-seq-prob 0");
  EXPECT_EQ(json["kind"], "bert");
  EXPECT_EQ(json["epochs"], nullptr);
  EXPECT_EQ(json["documents"], 4);
  EXPECT_EQ(json["samples"], 8);  // each document is one sample of 20 tokens; two epochs
  EXPECT_EQ(json["files"][0], "data/s_train_indexmap_6mns_20msl_0.00ssp_1234s.npy");
  EXPECT_TRUE(fs::exists(json["files"][0].get<std::string>()));
}

TEST_F(DataIndexCommandTest, SameBytesAgainAndOnlyWhenForced) {
  const std::string arguments = "data/a --num-samples 12 --seq-length 9";
  const std::string file = "data/a_train_indexmap_12ns_9sl_1234s_shuffle_idx.npy";
  index(arguments);
  const std::string first = read_text(file);
  const CliRun again = index(arguments);
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("the file exists\n  hint: use --force to overwrite"));
  write_text(file, "mine");
  EXPECT_EQ(index(arguments).code, 2);
  EXPECT_EQ(read_text(file), "mine");
  EXPECT_EQ(index(arguments + " --force").code, 0);
  EXPECT_EQ(read_text(file), first);
}

TEST_F(DataIndexCommandTest, MistakesAreNamed) {
  put("data/empty", dataset_bytes({{{}}}));
  write_text("data/cut.idx", std::string("MMIDIDX\0\0", 9));
  write_text("data/cut.bin", "");
  struct Mistake {
    const char* arguments;
    int code;
    const char* err;
  };
  for (const Mistake& mistake : {
           Mistake{"data/a --seq-length 9", 2, "error: --num-samples is missing"},
           Mistake{"data/a --num-samples 9", 2, "error: --seq-length is missing"},
           Mistake{"data/a --num-samples 0 --seq-length 9", 2, "--num-samples"},
           Mistake{"data/a --num-samples 1 --seq-length 9 --seed 4294967296", 2, "32 bits"},
           Mistake{"data/a --num-samples 1 --seq-length 9 --split 1,x", 2, "a split takes"},
           Mistake{"data/a --num-samples 1 --seq-length 9 --part tran", 2, "did you mean 'train'?"},
           Mistake{"data/a --num-samples 1 --seq-length 9 --part test", 3, "0 documents of split 'test'"},
           Mistake{"data/a --num-samples 1 --seq-length 9 --short-seq-prob 0.2", 2, "for --bert only"},
           Mistake{"data/a --num-samples 1 --seq-length 9 --bert", 3,
                   "make the dataset with --split-sentences"},
           Mistake{"data/s --num-samples 1 --seq-length 4 --bert", 2,
                   "samples of 1 tokens: a sample has at least"},
           Mistake{"data/empty --num-samples 1 --seq-length 9", 3, "have no tokens"},
           Mistake{"data/cut --num-samples 1 --seq-length 9", 3,
                   "data/cut.idx: byte 9: the file has 9 bytes"},
           Mistake{"data/none --num-samples 1 --seq-length 9", 3, "data/none.idx: no such file or folder"},
           Mistake{"data/a --num-samples 9 --seq-length 9 -o data/a.bin", 4, "data/a.bin"},
       }) {
    const CliRun done = index(mistake.arguments);
    EXPECT_EQ(done.code, mistake.code) << mistake.arguments;
    EXPECT_THAT(done.err, HasSubstr(mistake.err)) << mistake.arguments;
    EXPECT_EQ(done.out, "");
  }
}

}  // namespace
}  // namespace nadi::inline show
