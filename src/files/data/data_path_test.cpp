#include "nadi/data/data_path.h"

#include <gmock/gmock.h>

#include "nadi/data/indexed_dataset_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class DataPathTest : public DatasetFolderTest {};

using Words = std::vector<std::string>;

TEST_F(DataPathTest, TakesOneOrSeveralWithWeightsOrWithout) {
  const std::vector<DataPath> one = parse_data_path(Words{"a.idx"});
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0].prefix, "a");
  EXPECT_FALSE(one[0].weight);
  const std::vector<DataPath> weighted = parse_data_path(Words{"0.3", "a", "7e-1", "b"});
  ASSERT_THAT(weighted, SizeIs(2));
  EXPECT_EQ(weighted[1].prefix, "b");
  EXPECT_EQ(weighted[1].weight, 0.7);
  const std::vector<DataPath> plain = parse_data_path(Words{"a", "b"});
  ASSERT_THAT(plain, SizeIs(2));
  EXPECT_FALSE(plain[0].weight);
  EXPECT_EQ(parse_data_path(Words{"7"})[0].prefix, "7");
}

TEST_F(DataPathTest, AFolderMeansItsDatasetsByName) {
  for (const char* name : {"b", "a", "c"}) put_dataset(name, dataset_bytes(counting_documents({2})));
  write_text(folder_ / "a_train_indexmap_1ns_1sl_1s_doc_idx.npy", "");
  const std::vector<DataPath> paths = parse_data_path(Words{folder_.path().string()});
  ASSERT_THAT(paths, SizeIs(3));
  EXPECT_EQ(paths[0].prefix, folder_ / "a");
  EXPECT_EQ(paths[2].prefix, folder_ / "c");
}

TEST_F(DataPathTest, MistakesAreNamed) {
  const auto message = [](const Words& words, ErrorKind kind) {
    const Error error = error_of([&] { parse_data_path(words); });
    EXPECT_EQ(error.kind(), kind);
    return std::string(error.what());
  };
  EXPECT_THAT(message({}, ErrorKind::kUsage), HasSubstr("no dataset is named"));
  EXPECT_THAT(message({"0.3", "a", "b"}, ErrorKind::kUsage), HasSubstr("'0.3' is a weight, but"));
  EXPECT_THAT(message({"0", "a"}, ErrorKind::kUsage), HasSubstr("a weight of 0 is not positive"));
  EXPECT_THAT(message({"nan", "a"}, ErrorKind::kUsage), HasSubstr("nan"));
  EXPECT_THAT(message({"1", folder_.path().string()}, ErrorKind::kUsage), HasSubstr("is a folder"));
  EXPECT_THAT(message({folder_.path().string()}, ErrorKind::kInput), HasSubstr("no .idx"));
}

}  // namespace
}  // namespace nadi::inline files
