#include "nadi/data/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TokenFile : public testing::Test {
 protected:
  auto read(const std::string& text) {
    write_text(folder_ / "ids.json", text);
    return read_token_sequences(folder_ / "ids.json", 100);
  }
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.place().file, HasSubstr("ids.json"));
      return error.message();
    }
    return "no error";
  }

  const TemporaryFolder folder_;
};

TEST_F(TokenFile, IsAnArrayOfArrays) {
  EXPECT_THAT(read("[[67, 0, 99], [5]]"), ElementsAre(ElementsAre(67, 0, 99), ElementsAre(5)));
}

TEST_F(TokenFile, AnythingElseIsRefusedWithItsPlace) {
  EXPECT_THAT(refusal("[[1, 100]]"), HasSubstr("token 100 is outside of the model's vocabulary of 100"));
  EXPECT_THAT(refusal("[[-1]]"), HasSubstr("token -1 is outside"));
  EXPECT_THAT(refusal("[[1], []]"), HasSubstr("a sequence without tokens"));
  EXPECT_THAT(refusal("[]"), HasSubstr("no sequence"));
  EXPECT_THAT(refusal("[1, 2]"), HasSubstr("a sequence is an array"));
  EXPECT_THAT(refusal(R"({"ids": [[1]]})"), HasSubstr("an array of arrays"));
  EXPECT_NE(refusal("[[1.5]]"), "no error");
  EXPECT_NE(refusal("[[1"), "no error");
  EXPECT_NE(refusal(""), "no error");
}

}  // namespace
}  // namespace nadi::inline files
