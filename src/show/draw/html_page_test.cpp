#include "nadi/draw/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr PageBundle kBundle{
    .script = "let a = 1;", .script_sha256 = "00ff", .style = "p { margin: 0 }", .style_sha256 = "1020"};

TEST(HtmlPage, HoldsStyleHeadBlocksAndScriptInThisOrder) {
  const TemporaryFolder folder;
  HtmlPage page(folder / "page.html", Overwrite::kRefuse, kBundle, "a title");
  page.head("{\"a\": 1}");
  page.block("one", "12345");
  page.commit();
  const std::string text = read_text(folder / "page.html");
  const std::vector<std::size_t> places = {
      text.find("<!doctype html>"),
      text.find("<title>a title</title>"),
      text.find("<style>p { margin: 0 }</style>"),
      text.find("<script type=\"application/json\" id=\"head\">{\"a\": 1}</script>"),
      text.find("data-block=\"one\""),
      text.find("data-bytes=\"5\""),
      text.find("<script>let a = 1;</script>")};
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  EXPECT_NE(places.back(), std::string::npos);
}

TEST(HtmlPage, AllowsItsOwnScriptAndStyleByTheirHashes) {
  const TemporaryFolder folder;
  HtmlPage page(folder / "page.html", Overwrite::kRefuse, kBundle, "");
  page.commit();
  EXPECT_THAT(read_text(folder / "page.html"),
              HasSubstr("content=\"default-src 'none'; script-src 'sha256-AP8='; style-src 'sha256-ECA=';"));
}

TEST(HtmlPage, NoTextOfTheHeadOrTheTitleEndsItsElement) {
  const TemporaryFolder folder;
  HtmlPage page(folder / "page.html", Overwrite::kRefuse, kBundle,
                "</title><script>alert(1)</script>\x01\xff");
  page.head("\"</script><!--\xE2\x80\xA8\xff\"");
  page.commit();
  const std::string text = read_text(folder / "page.html");
  EXPECT_THAT(text,
              HasSubstr("<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; \xEF\xBF\xBD</title>"));
  EXPECT_THAT(text, HasSubstr("\"\\u003c/script>\\u003c!--\\u2028\xEF\xBF\xBD\""));
  EXPECT_THAT(text, Not(HasSubstr("<script>alert")));
}

TEST(HtmlPage, LargeBlocksAreSeveralElementsOfWhichTheLastSaysTheSize) {
  const TemporaryFolder folder;
  std::string bytes(5'000'000, '\0');
  std::uint64_t state = 1;
  for (char& c : bytes)
    c = static_cast<char>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  HtmlPage page(folder / "page.html", Overwrite::kRefuse, kBundle, "");
  page.begin_block("noise");
  page.write(bytes.substr(0, 1));
  page.write(bytes.substr(1));
  page.end_block();
  page.block("after", "x");
  page.commit();
  const std::string text = read_text(folder / "page.html");
  std::size_t elements = 0;
  for (std::size_t at = 0; (at = text.find("data-block=\"noise\"", at)) != std::string::npos; ++at) {
    ++elements;
    EXPECT_LE(text.find("</script>", at) - at, (1u << 20) + 100);
  }
  EXPECT_EQ(elements, 7u);
  EXPECT_THAT(text, HasSubstr("data-bytes=\"5000000\""));
  EXPECT_THAT(text, HasSubstr("data-bytes=\"1\""));
}

TEST(HtmlPage, NothingIsThereBeforeCommitAndNothingIsOverwritten) {
  const TemporaryFolder folder;
  { HtmlPage page(folder / "page.html", Overwrite::kRefuse, kBundle, ""); }
  EXPECT_FALSE(std::filesystem::exists(folder / "page.html"));
  HtmlPage(folder / "page.html", Overwrite::kRefuse, kBundle, "").commit();
  EXPECT_THROW(HtmlPage(folder / "page.html", Overwrite::kRefuse, kBundle, ""), Error);
}

TEST(PageBundle, HasTheScriptWithoutImportsAndExports) {
  const PageBundle& bundle = timeline_bundle();
  EXPECT_THAT(std::string(bundle.script), Not(HasSubstr("\nimport ")));
  EXPECT_THAT(std::string(bundle.script), Not(HasSubstr("\nexport ")));
  EXPECT_THAT(std::string(bundle.script), HasSubstr("class VarintReader"));
  EXPECT_EQ(bundle.script_sha256.size(), 64u);
  EXPECT_THAT(std::string(bundle.style), HasSubstr("--communication"));
}

}  // namespace
}  // namespace nadi::inline show
