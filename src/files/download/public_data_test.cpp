#include "nadi/download/public_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline files {
namespace {

TEST(PublicData, IsNamedAndHashed) {
  for (const PublicData& data : public_data()) {
    EXPECT_EQ(&public_data_named(data.name), &data);
    EXPECT_FALSE(data.files.empty());
    EXPECT_NE(data.package.empty(), data.site.empty()) << data.name;
    for (const PublicFile& file : data.files) {
      EXPECT_EQ(file.sha256.size(), 64u);
      EXPECT_GT(file.bytes, 0);
      EXPECT_EQ(file.member.empty(), data.package.empty()) << file.name;
    }
  }
  try {
    public_data_named("squat");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.hint(), testing::HasSubstr("squad"));
  }
}

TEST(PublicData, TheVocabularyOfBertIsMadeFromThePackagesNotation) {
  std::string list = R"(["[PAD]", "", "[unused1]")";
  std::string wanted = "[PAD]\n[unused0]\n[unused1]\n";
  for (int number = 3; number < 999; ++number) {
    list += ", \"r\"";
    wanted += "r\n";
  }
  list += ", \"\xe2\x96\x81the\", \"ing\"]";
  EXPECT_EQ(bert_vocabulary(list, "vocab.json"), wanted + "the\n##ing\n");
  EXPECT_THROW(bert_vocabulary("{}", "vocab.json"), Error);
  EXPECT_THROW(bert_vocabulary("[1]", "vocab.json"), Error);
}

}  // namespace
}  // namespace nadi::inline files
