#include "nadi/study/study_time.h"

#include <gtest/gtest.h>

#include <ctime>

#include "nadi/testing/temporary_variable.h"

namespace nadi::inline tuning {
namespace {

using namespace std::chrono_literals;

constexpr StudyTime kSomeTime{1700000000123456us};  // 2023-11-14 22:13:20.123456 UTC

TEST(StudyTimeText, Utc) {
  EXPECT_EQ(format_study_time(kSomeTime, TimeZoneKind::kUtc, ' '), "2023-11-14 22:13:20.123456");
  EXPECT_EQ(parse_study_time("2023-11-14 22:13:20.123456", TimeZoneKind::kUtc), kSomeTime);
  EXPECT_EQ(parse_study_time("2023-11-14T22:13:20.123456+00:00", TimeZoneKind::kLocal), kSomeTime);
  EXPECT_EQ(parse_study_time("2023-11-14T23:43:20.123456+01:30", TimeZoneKind::kLocal), kSomeTime);
  EXPECT_EQ(parse_study_time("2023-11-14T22:13:20Z", TimeZoneKind::kLocal), kSomeTime - 123456us);
  EXPECT_EQ(parse_study_time("2023-11-14 22:13:20.1", TimeZoneKind::kUtc), kSomeTime - 23456us);
  EXPECT_EQ(format_study_time(StudyTime(-1us), TimeZoneKind::kUtc, 'T'), "1969-12-31T23:59:59.999999");
}

TEST(StudyTimeText, Local) {
  const TemporaryVariable zone("TZ", "America/New_York");
  tzset();
  // Five hours behind in November.
  EXPECT_EQ(format_study_time(kSomeTime, TimeZoneKind::kLocal, 'T'), "2023-11-14T17:13:20.123456");
  EXPECT_EQ(parse_study_time("2023-11-14 17:13:20.123456", TimeZoneKind::kLocal), kSomeTime);
}

TEST(StudyTimeText, OthersAreRefused) {
  for (const std::string_view text :
       {"", "2023", "2023-11-14", "2023-11-14 22:13", "2023-13-14 22:13:20", "2023-02-29 00:00:00",
        "2023-11-14 24:13:20", "2023-11-14 22:60:20", "2023-11-14 22:13:20.", "0000-11-14 22:13:20",
        "2023-11-14 22:13:20 ", "2023-11-14 22:13:20+0100", "2023-11-14x22:13:20"})
    EXPECT_FALSE(parse_study_time(text, TimeZoneKind::kUtc).has_value()) << text;
}

}  // namespace
}  // namespace nadi::inline tuning
