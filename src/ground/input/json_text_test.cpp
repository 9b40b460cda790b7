#include "nadi/input/json_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "nadi/base/json.h"

namespace nadi::inline ground {
namespace {

JsonScan scan_all(std::string_view text) {
  return scan_json_value(text, {.final = true});
}

TEST(JsonText, FindsTheEndOfAValue) {
  for (const std::string_view value :
       {"{}", "[]", "0", "-0.5e+10", "\"\"", "\"a\\u00e9\\\"\"", "true", "false", "null",
        "[1, [2, {\"a\": []}]]", "{\"a\": {\"b\": \"}\"}, \"c\": 1}"}) {
    const std::string text = " \n" + std::string(value) + " ,x";
    const JsonScan scan = scan_json_value(text);
    EXPECT_EQ(scan.state, JsonScan::kWhole) << value << ": " << scan.reason;
    EXPECT_EQ(scan.at, value.size() + 2) << value;
  }
}

TEST(JsonText, NamesTheFirstWrongByte) {
  struct Case {
    std::string_view before;  // could be the start of JSON
    std::string_view wrong;   // begins with the byte that cannot
  };
  const Case cases[] = {
      {"{", "a:1}"},
      {"{\"a\"", ",1}"},
      {"{\"a\":1", "\"b\":2}"},
      {"{\"a\":1,", "}"},
      {"[1,", "]"},
      {"[1", "}"},
      {"[tru", "]"},
      {"[0", "1]"},
      {"[1.", "]"},
      {"[1e", "]"},
      {"[-", "]"},
      {"[\"a", "\n\"]"},
      {"[\"\\", "x\"]"},
      {"[\"\\u00", "g0\"]"},
      {"[\"", "\xFF\"]"},
      {"[\"\xC3", "\"]"},
      {"[\"\xE0", "\x80\x80\"]"},      // overlong
      {"[\"\xED", "\xA0\x80\"]"},      // a surrogate
      {"[\"\xF4", "\x90\x80\x80\"]"},  // beyond U+10FFFF
      {"[\"", "\\ud800x\"]"},          // half a pair
      {"[\"", "\\udc00\"]"},           // the other half
      {"", "}"},
  };
  for (const Case& c : cases) {
    const JsonScan scan = scan_all(std::string(c.before) + std::string(c.wrong));
    EXPECT_EQ(scan.state, JsonScan::kFault) << c.before << c.wrong;
    EXPECT_EQ(scan.at, c.before.size()) << c.before << c.wrong;
    EXPECT_FALSE(scan.reason.empty());
  }
}

TEST(JsonText, NamesTheByteBehindAnUnescapedQuote) {
  const JsonScan scan = scan_all("{\"name\": \"a \"b\" c\"}");
  EXPECT_EQ(scan.at, std::string_view("{\"name\": \"a \"").size());
  EXPECT_EQ(scan.reason, "expected ',' or '}', found 'b'");
}

TEST(JsonText, EveryPrefixIsOpen) {
  const std::string text = R"({"a": [1.5e3, true, "\u00e9\n)"
                           "\xC3\xA9"
                           R"("], "b": {"c": null}, "d": -12})";
  ASSERT_EQ(scan_all(text).state, JsonScan::kWhole);
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_EQ(scan_all(text.substr(0, size)).state, JsonScan::kOpen) << size;
}

TEST(JsonText, ANumberEndsWithTheTextOnlyWhereThatIsFinal) {
  EXPECT_EQ(scan_json_value("12").state, JsonScan::kOpen);
  EXPECT_EQ(scan_all("12").state, JsonScan::kWhole);
  EXPECT_EQ(scan_all("12.").state, JsonScan::kOpen);
}

TEST(JsonText, LetsControlCharactersPassInStringsOnly) {
  const std::string text = "{\"a\": \"x\n\ty\"}";
  const JsonScan scan = scan_json_value(text, {.let_control_characters_pass = true});
  EXPECT_EQ(scan.state, JsonScan::kWhole);
  EXPECT_EQ(scan.raw_control_characters, 2U);
  EXPECT_EQ(scan_json_value("{\x01}", {.let_control_characters_pass = true}).state, JsonScan::kFault);

  std::string blanked = "{\n\"a\\\"\n\": \"x\n\ty\"}";
  blank_control_characters(blanked.data(), blanked.size());
  EXPECT_EQ(blanked, "{\n\"a\\\" \": \"x  y\"}");
}

TEST(JsonText, SkipsAContainerByItsBrackets) {
  const std::string first = R"({"a}": [1, {}], "\"}": 2})";
  EXPECT_EQ(skip_json_container(first + ", {"), first.size());
  EXPECT_EQ(skip_json_container("{\"a\": [1, {}]"), std::nullopt);
  EXPECT_EQ(skip_json_container("{\"a\\"), std::nullopt);
}

TEST(JsonText, DepthCostsNoStack) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(scan_all(deep).at, deep.size());
  EXPECT_EQ(skip_json_container(deep), deep.size());
}

// The JSON library reads a token to its end before it judges, so that it never stops before the wrong byte.
TEST(JsonText, AgreesWithTheJsonLibraryOnDamagedTexts) {
  const std::string text = R"({"a": [1.5e3, true, "\u00e9\n )"
                           "\xC3\xA9"
                           R"("], "b": {"c": null, "": {}}, "d": -12})";
  constexpr std::string_view kBytes = "\"\\{}[]:,0-.eut \n\x01\xC3\xFF";
  std::uint64_t refused = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char byte : kBytes) {
      for (const bool insert : {false, true}) {
        std::string changed = text;
        if (insert)
          changed.insert(at, 1, byte);
        else
          changed[at] = byte;
        JsonScan scan = scan_all(changed);
        if (scan.state == JsonScan::kWhole) {
          scan.at = skip_json_space(changed, scan.at);
          if (scan.at < changed.size()) scan.state = JsonScan::kFault;
        }
        try {
          const Json parsed = Json::parse(changed);
          EXPECT_EQ(scan.state, JsonScan::kWhole) << parsed;
        } catch (const Json::parse_error& error) {
          ++refused;
          EXPECT_NE(scan.state, JsonScan::kWhole) << changed;
          EXPECT_LE(scan.at + 1, error.byte) << changed << "\n" << error.what() << "\n" << scan.reason;
        }
      }
    }
  }
  EXPECT_GT(refused, 1000U);
}

}  // namespace
}  // namespace nadi::inline ground
