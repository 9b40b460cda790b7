#include "nadi/base/base64.h"

#include <gtest/gtest.h>

namespace nadi::inline ground {
namespace {

std::string base64_of(std::string_view bytes) {
  std::string text = ">";
  append_base64(text, bytes);
  return text;
}

TEST(Base64, VectorsOfRfc4648) {
  EXPECT_EQ(base64_of(""), ">");
  EXPECT_EQ(base64_of("f"), ">Zg==");
  EXPECT_EQ(base64_of("fo"), ">Zm8=");
  EXPECT_EQ(base64_of("foo"), ">Zm9v");
  EXPECT_EQ(base64_of("foob"), ">Zm9vYg==");
  EXPECT_EQ(base64_of("fooba"), ">Zm9vYmE=");
  EXPECT_EQ(base64_of("foobar"), ">Zm9vYmFy");
}

TEST(Base64, EveryDigit) {
  EXPECT_EQ(base64_of(std::string_view("\x00\x10\x83\xfb\xff\xfe", 6)), ">ABCD+//+");
}

}  // namespace
}  // namespace nadi::inline ground
