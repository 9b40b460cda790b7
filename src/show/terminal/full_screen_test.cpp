#include "nadi/terminal/full_screen.h"

#include <gtest/gtest.h>

namespace nadi::inline show {
namespace {

TEST(FullScreen, KeysFromBytes) {
  std::string bytes = "q\t\033[A\033OB\033[5~x\033[1;5Ae";
  std::vector<ScreenKey> keys;
  while (!bytes.empty()) keys.push_back(take_key(bytes));
  EXPECT_EQ(keys, (std::vector<ScreenKey>{ScreenKey::kQuit, ScreenKey::kTab, ScreenKey::kUp, ScreenKey::kDown,
                                          ScreenKey::kPageUp, ScreenKey::kOther, ScreenKey::kOther,
                                          ScreenKey::kErrors}));
  EXPECT_EQ(take_key(bytes), ScreenKey::kNone);
}

TEST(FullScreen, TextsOfFilesCannotMoveTheCursor) {
  EXPECT_EQ(screen_text("a\033[2Jb\r\n\tc", 80), "a [2Jb   c");
  EXPECT_EQ(screen_text("49°C größer 漢字", 80), "49°C größer ??");
  EXPECT_EQ(screen_text("\xff\xfe", 80), "??");
  EXPECT_EQ(screen_text("abcdef", 3), "abc");
  EXPECT_EQ(screen_text("öäü", 2), "öä");
}

}  // namespace
}  // namespace nadi::inline show
