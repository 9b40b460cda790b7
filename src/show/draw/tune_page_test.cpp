#include "nadi/draw/tune_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

TunePage small_study(const std::string& text) {
  return {
      .title = "Study " + text,
      .objectives = {{.name = text, .maximize = true}},
      .parameters = {{.name = "threads", .choices = {"1", text}, .importance = {0.75}},
                     {.name = "rate", .log = true, .low = 1e-5, .high = 1e-2, .importance = {std::nullopt}}},
      .trials = {{.number = 0,
                  .state = "complete",
                  .point = {1.0, std::nullopt},
                  .values = {std::numeric_limits<double>::infinity()},
                  .intermediate = {{1, 2.5}},
                  .begin = 0,
                  .end = 2},
                 {.number = 1, .state = "fail", .point = {0.0, 1e-3}, .reason = text}},
      .baseline = 0,
      .command = text};
}

TEST(TunePage, CarriesEveryTrial) {
  const Json data = Json::parse(tune_page_data(small_study("two")));
  ASSERT_EQ(data["trials"].size(), 2u);
  EXPECT_EQ(data["objectives"][0]["maximize"], true);
  EXPECT_EQ(data["parameters"][0]["choices"][1], "two");
  EXPECT_EQ(data["parameters"][0]["importance"][0], 0.75);
  EXPECT_EQ(data["parameters"][1]["importance"][0], nullptr) << "not known is no zero";
  EXPECT_EQ(data["trials"][0]["values"][0], "inf");
  EXPECT_EQ(data["trials"][0]["point"][1], nullptr) << "a parameter without a value is no zero";
  EXPECT_EQ(data["trials"][0]["intermediate"][0], Json::parse("[1, 2.5]"));
  EXPECT_EQ(data["trials"][1]["begin"], nullptr);
  EXPECT_EQ(data["trials"][1]["reason"], "two");
  EXPECT_EQ(data["baseline"], 0);
}

TEST(TunePage, TextsAreNeverHtml) {
  const TemporaryFolder folder;
  write_tune_page(small_study("</script><script>alert(1)</script>"), folder.path() / "t.html",
                  Overwrite::kRefuse);
  const std::string page = read_text(folder.path() / "t.html");
  EXPECT_THAT(page, Not(HasSubstr("<script>alert(1)")));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(page, Not(testing::ContainsRegex("(src|href)=\"?https?:"))) << "asks nothing of any network";
  EXPECT_ANY_THROW(write_tune_page(small_study("x"), folder.path() / "t.html", Overwrite::kRefuse));
}

}  // namespace
}  // namespace nadi::inline show
