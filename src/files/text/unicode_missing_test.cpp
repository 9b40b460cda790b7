// The only test of this folder in a build without utf8proc: that one is told so.

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/text/bpe_trainer.h"

namespace nadi::inline files {
namespace {

TEST(UnicodeMissing, TokenizersSayHowToGetThem) {
  const std::vector<std::string> documents{"text"};
  try {
    train_bpe(text_of(documents), {});
    FAIL() << "no Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_NE(error.hint().find("libutf8proc-dev"), std::string::npos);
  }
}

}  // namespace
}  // namespace nadi::inline files
