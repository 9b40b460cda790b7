#include "nadi/data/dataset_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/data/indexed_dataset.h"
#include "nadi/data/indexed_dataset_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;

class DatasetFiguresTest : public DatasetFolderTest {};

TEST_F(DatasetFiguresTest, AreThoseOfItsTokens) {
  const IndexedDataset dataset(put_dataset("d", dataset_bytes({{{1, 2, 300}, {4}}, {}, {{5, 6}}})));
  write_text(folder_ / "d_train_indexmap_2.npy", "");
  write_text(folder_ / "d_train_indexmap_1.npy", "");
  write_text(folder_ / "da_train_indexmap_1.npy", "");
  int sequences = 0;
  const DatasetFigures figures = dataset_figures(dataset, [&] { ++sequences; });
  EXPECT_EQ(sequences, 3);
  EXPECT_EQ(figures.shortest, 1);
  EXPECT_EQ(figures.longest, 3);
  EXPECT_EQ(figures.mean_length, 2);  // 6 tokens in 3 sequences
  EXPECT_EQ(figures.largest_token, 300);
  EXPECT_EQ(figures.empty_documents, 1);
  EXPECT_THAT(figures.index_maps, ElementsAre("d_train_indexmap_1.npy", "d_train_indexmap_2.npy"));
}

TEST_F(DatasetFiguresTest, OfNothing) {
  const DatasetFigures figures = dataset_figures(IndexedDataset(put_dataset("e", dataset_bytes({}))));
  EXPECT_EQ(figures.shortest, 0);
  EXPECT_EQ(figures.mean_length, 0);
  EXPECT_EQ(figures.largest_token, -1);
}

}  // namespace
}  // namespace nadi::inline files
