#include "nadi/data/document_split.h"

#include <gmock/gmock.h>

#include <vector>

#include "nadi/base/error.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> bounds(std::string_view weights, std::int64_t documents) {
  const DocumentSplit split = split_documents(weights, documents);
  EXPECT_EQ(split.train.first, 0);
  EXPECT_EQ(split.train.last, split.validation.first);
  EXPECT_EQ(split.validation.last, split.test.first);
  EXPECT_EQ(split.test.last, documents);
  return {split.train.last, split.validation.last};
}

TEST(DocumentSplit, EachPartGetsItsShare) {
  EXPECT_THAT(bounds("969,30,1", 2000), ElementsAre(1938, 1998));
  EXPECT_THAT(bounds("98,2,0", 100), ElementsAre(98, 100));
  EXPECT_THAT(bounds("98/2", 100), ElementsAre(98, 100));
  EXPECT_THAT(bounds("1", 7), ElementsAre(7, 7));
  EXPECT_THAT(bounds("0,1", 7), ElementsAre(0, 7));
  EXPECT_THAT(bounds("0.5,0.25,0.25", 8), ElementsAre(4, 6));
  EXPECT_THAT(bounds("100,0,0", 35), ElementsAre(35, 35));
  EXPECT_THAT(bounds("969,30,1", 0), ElementsAre(0, 0));
}

TEST(DocumentSplit, TheFirstPartEvensOutTheRounding) {
  // 35 documents: 33.915, 1.05 and 0.035 become 34, 1 and 0.
  EXPECT_THAT(bounds("969,30,1", 35), ElementsAre(34, 35));
  // 2 documents: three times 0.67, each 1, one too many.
  EXPECT_THAT(bounds("1,1,1", 2), ElementsAre(0, 1));
  // 10 documents: three times 3.33, each 3, one too few.
  EXPECT_THAT(bounds("1,1,1", 10), ElementsAre(4, 7));
  // Halves go to the even number: 2.5 becomes 2, so one is too few.
  EXPECT_THAT(bounds("1,1,0", 5), ElementsAre(3, 5));
  // 1.5 becomes 2, twice: one too many, and the first part has none to give.
  EXPECT_THAT(bounds("0,1,1", 3), ElementsAre(0, 1));
}

TEST(DocumentSplit, RefusesWhatIsNoList) {
  for (const char* weights :
       {"", ",", "1,", "1,2,3,4", "a", "1,-1", "0,0,0", "nan", "inf", "1e308,1e308", "1 2", "1,2/3", " 1"}) {
    try {
      split_documents(weights, 10);
      ADD_FAILURE() << "accepted: " << weights;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.message(), HasSubstr("a split takes up to three weights"));
    }
  }
}

}  // namespace
}  // namespace nadi::inline files
