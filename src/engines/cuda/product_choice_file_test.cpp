#include "nadi/cuda/product_choice_file.h"

#include <gtest/gtest.h>

#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr const char* kProduct = "bf16>f32 1x768x2304x4096";

TEST(ProductChoiceFile, IsFoundByTheNextProcess) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "nadi" / "choices.txt";
  {
    ProductChoiceFile choices(path);
    EXPECT_EQ(choices.find(kProduct), nullptr);
    choices.add(kProduct, "00ff");
    choices.save();
  }
  const ProductChoiceFile again(path);
  ASSERT_NE(again.find(kProduct), nullptr);
  EXPECT_EQ(*again.find(kProduct), "00ff");
}

TEST(ProductChoiceFile, KeepsWhatAnotherProcessWroteMeanwhile) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "choices.txt";
  ProductChoiceFile one(path), other(path);
  one.add("first", "01");
  other.add("second", "02");
  one.save();
  other.save();
  const ProductChoiceFile both(path);
  ASSERT_NE(both.find("first"), nullptr);
  ASSERT_NE(both.find("second"), nullptr);
  EXPECT_EQ(*both.find("first"), "01");
  EXPECT_EQ(*both.find("second"), "02");
}

TEST(ProductChoiceFile, TakesForeignContentAsNothing) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "choices.txt";
  for (const std::string text :
       {"", "some other file\nbf16>f32 1x768x2304x4096\t00ff\n", "nadi product choices 2\nproduct\t00ff\n",
        "nadi product choices 1\nbf16>f32 1x768x2304x4096\t00ff\nhalf a li"}) {
    write_text(path, text);
    ProductChoiceFile choices(path);
    EXPECT_EQ(choices.find(kProduct), nullptr) << text;
    choices.add(kProduct, "01");
    choices.save();
    EXPECT_EQ(*ProductChoiceFile(path).find(kProduct), "01");
  }
}

TEST(ProductChoiceFile, NeedsNoFolderItMayWriteTo) {
  ProductChoiceFile nowhere(std::nullopt);
  nowhere.add(kProduct, "01");
  nowhere.save();
  EXPECT_EQ(*nowhere.find(kProduct), "01");

  ProductChoiceFile unwritable("/proc/nadi/choices.txt");
  unwritable.add(kProduct, "01");
  unwritable.save();
  EXPECT_EQ(*unwritable.find(kProduct), "01");
}

}  // namespace
}  // namespace nadi::inline engines::cuda
