#include "nadi/draw/pareto_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

ParetoPage two_points(const std::string& text) {
  return {.title = "m on " + text,
          .note = text,
          .points = {{.on_front = true,
                      .estimated = Nanoseconds{1'400'000'000},
                      .simulated = Nanoseconds{1'500'000'000},
                      .dollars_per_step = 0.02,
                      .dollars_per_million_tokens = 0.3,
                      .dollars_per_hour = 48,
                      .devices = 8,
                      .nodes = text,
                      .flags = text},
                     {.estimated = Nanoseconds{2'000'000'000}, .dollars_per_step = 0.03}}};
}

TEST(ParetoPage, CarriesEveryPoint) {
  const Json data = Json::parse(pareto_page_data(two_points("1 a100 + 7 a10")));
  ASSERT_EQ(data["points"].size(), 2u);
  EXPECT_EQ(data["points"][0]["front"], true);
  EXPECT_EQ(data["points"][0]["simulated_ns"], 1'500'000'000);
  EXPECT_EQ(data["points"][0]["nodes"], "1 a100 + 7 a10");
  EXPECT_EQ(data["points"][1]["simulated_ns"], nullptr) << "not simulated is no zero";
  EXPECT_EQ(data["points"][1]["dollars_per_step"], 0.03);
}

TEST(ParetoPage, NamesAreNeverHtml) {
  const TemporaryFolder folder;
  write_pareto_page(two_points("</script><script>alert(1)</script>"), folder.path() / "p.html",
                    Overwrite::kRefuse);
  const std::string page = read_text(folder.path() / "p.html");
  EXPECT_THAT(page, Not(HasSubstr("<script>alert(1)")));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(page, Not(testing::ContainsRegex("(src|href)=\"?https?:"))) << "asks nothing of any network";
}

TEST(ParetoPage, DoesNotOverwrite) {
  const TemporaryFolder folder;
  write_text(folder.path() / "p.html", "mine");
  EXPECT_ANY_THROW(write_pareto_page(two_points("x"), folder.path() / "p.html", Overwrite::kRefuse));
  EXPECT_EQ(read_text(folder.path() / "p.html"), "mine");
}

}  // namespace
}  // namespace nadi::inline show
