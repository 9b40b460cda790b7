#include "nadi/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>

#include "nadi/base/random.h"
#include "nadi/base/temporary_folder.h"

namespace nadi::inline ground {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

JsonDocument parse(std::string text) {
  return parse_json(std::move(text), "f.json");
}

// The error of `action`, or an Error without a message when there is none.
Error json_error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error;
  }
  return input_error({}, "");
}

Error syntax_error_of(std::string text) {
  return json_error_of([&] { parse(std::move(text)); });
}

TEST(DumpJson, IndentsAndKeepsOrder) {
  Json value;
  value["zeta"] = 1;
  value["alpha"] = Json::array({true, nullptr});
  EXPECT_EQ(dump_json(value), "{\n  \"zeta\": 1,\n  \"alpha\": [\n    true,\n    null\n  ]\n}\n");
}

TEST(DumpJson, KeepsTextAndReplacesWhatIsNone) {
  EXPECT_EQ(dump_json("\xC3\xBC"), "\"\xC3\xBC\"\n");
  EXPECT_EQ(dump_json("a\xFFz"), "\"a\xEF\xBF\xBDz\"\n");
}

TEST(ReadJson, ReadsEveryType) {
  const JsonDocument document =
      parse(R"({"s": "a\u00fc", "i": -12, "d": 2.5e-1, "b": true, "n": null, "a": [1, [2]], "o": {"k": 3}})");
  const JsonValue root = document.root();
  EXPECT_TRUE(root.is_object());
  EXPECT_EQ(root.size(), 7U);
  EXPECT_EQ(root.at("s").as_string(), "a\xC3\xBC");
  EXPECT_EQ(root.at("i").as_int64(), -12);
  EXPECT_EQ(root.at("i").as_double(), -12.0);
  EXPECT_EQ(root.at("d").as_double(), 0.25);
  EXPECT_TRUE(root.at("b").as_bool());
  EXPECT_TRUE(root.has("n"));
  EXPECT_TRUE(root.at("n").is_null());
  EXPECT_EQ(root.at("a").size(), 2U);
  EXPECT_EQ(root.at("a").at(1).at(0).as_int64(), 2);
  EXPECT_EQ(root.at("a").at(1).at(0).path(), "a[1][0]");
  EXPECT_EQ(root.at("o").at("k").path(), "o.k");
  EXPECT_FALSE(root.has("k"));
  EXPECT_EQ(root.find("k"), std::nullopt);
  EXPECT_EQ(root.file(), "f.json");
  std::vector<std::string> keys;
  for (const auto& [key, value] : root.items()) keys.emplace_back(key);
  EXPECT_THAT(keys, ElementsAre("s", "i", "d", "b", "n", "a", "o"));
}

TEST(ReadJson, ValuesSurviveMovingTheDocument) {
  JsonDocument first = parse(R"({"a": "text"})");
  const JsonValue value = first.root().at("a");
  const JsonDocument second = std::move(first);
  EXPECT_EQ(value.as_string(), "text");
}

TEST(ReadJson, ReadsAFile) {
  const TemporaryFolder folder;
  const std::string path = (folder / "a.json").string();
  std::ofstream(path) << "\xEF\xBB\xBF{\"a\": x}\n";  // with a byte-order mark
  const Error error = json_error_of([&] { read_json(path); });
  EXPECT_THAT(error.what(), HasSubstr(path + ":1:"));
  std::ofstream(path) << "{\"a\": 1}\n";
  EXPECT_EQ(read_json(path).root().at("a").as_int64(), 1);
}

TEST(ReadJson, NamesAFileItCannotRead) {
  EXPECT_STREQ(json_error_of([] { read_json("/nonexistent/c.json"); }).what(),
               "/nonexistent/c.json: no such file or folder");
  EXPECT_STREQ(json_error_of([] { read_json("/"); }).what(), "/: this is a folder, not JSON");
}

TEST(ReadJson, StopsReadingAtTheLimit) {
  EXPECT_STREQ(json_error_of([] { read_json("/dev/zero"); }).what(),
               "/dev/zero: the file is larger than 64.0 MiB, too large for a configuration");
}

TEST(ReadJson, SyntaxErrorsPointAtTheirPlace) {
  const Error error = syntax_error_of("{\n  \"a\": 1\n  \"b\": 2\n}\n");
  EXPECT_STREQ(error.what(), "f.json:3:3: not valid JSON: unexpected string literal; expected '}'");
  EXPECT_EQ(error.excerpt(),
            "    3 |   \"b\": 2\n"
            "      |   ^^^");
}

struct Broken {
  std::string name;
  std::string text;
  std::string what;
  std::string hint = "";
};

void PrintTo(const Broken& broken, std::ostream* out) {
  *out << broken.name;
}

class BrokenJson : public testing::TestWithParam<Broken> {};

TEST_P(BrokenJson, IsRefused) {
  const Error error = syntax_error_of(GetParam().text);
  EXPECT_THAT(error.what(), HasSubstr(GetParam().what));
  EXPECT_EQ(error.hint(), GetParam().hint);
  EXPECT_THAT(error.excerpt(), HasSubstr("^"));
}

INSTANTIATE_TEST_SUITE_P(
    Json, BrokenJson,
    testing::Values(
        Broken{"Empty", "", "f.json:1:1: not valid JSON: unexpected end of input"},
        Broken{"UnclosedObject", "{\"a\": 1\n\n",
               "f.json:1:8: not valid JSON: unexpected end of input; expected '}'"},
        Broken{"UnclosedArray", "[1, 2", "f.json:1:6: not valid JSON: unexpected end of input"},
        Broken{"TextAfterwards", "{\"a\": 1} x", "f.json:1:10: not valid JSON: invalid literal"},
        Broken{"SecondValue", "{} {}", "f.json:1:4: not valid JSON: unexpected '{'; expected end of input"},
        Broken{"NotANumber", "{\"a\": NaN}", "f.json:1:7: not valid JSON: invalid literal",
               "JSON has no NaN and no Infinity"},
        Broken{"Infinity", "[-Infinity]",
               "f.json:1:3: not valid JSON: invalid number; expected digit after '-'",
               "JSON has no NaN and no Infinity"},
        Broken{"TrailingComma", "[1, 2,]", "f.json:1:7: not valid JSON: unexpected ']'",
               "no comma after the last entry"},
        Broken{"SingleQuotes", "{'a': 1}",
               "f.json:1:2: not valid JSON: invalid literal; expected string literal",
               "strings take double quotes"},
        Broken{"Comment", "// all\n{}", "f.json:1:1: not valid JSON: invalid literal",
               "JSON has no comments"},
        Broken{"LeadingZero", "[01]", "f.json:1:2: not valid JSON: unexpected number literal; expected ']'"},
        Broken{"NewlineInString", "[\"a\nb\"]",
               "f.json:1:4: not valid JSON: invalid string: control character U+000A"},
        Broken{"InvalidUtf8", "[\"\xFF\"]",
               "f.json:1:3: not valid JSON: invalid string: ill-formed UTF-8 byte"},
        Broken{"HalfASurrogatePair", "[\"\\ud800\"]",
               "invalid string: surrogate U+D800..U+DBFF must be followed by U+DC00..U+DFFF"},
        Broken{"NumberTooLarge", "[1e999]", "f.json:1:6: not valid JSON: number overflow parsing '1e999'"}),
    [](const auto& test) { return test.param.name; });

TEST(ReadJson, RefusesDuplicateKeys) {
  const Error error = syntax_error_of("{\"x\": [{}, {\"a\": {\"b\": 1},\n \"a\": 2}]}");
  EXPECT_STREQ(error.what(), "f.json:2:2: key \"a\" appears twice in the same object");
  EXPECT_EQ(error.excerpt(), "    2 |  \"a\": 2}]}\n      |  ^^^");
  // Written differently, and the same key.
  EXPECT_THAT(syntax_error_of(R"({"a": 1, "\u0061": 2})").what(),
              HasSubstr("f.json:1:10: key \"a\" appears twice"));
}

// 100,000 keys: comparing each with all before it would be 5 * 10^9 comparisons.
TEST(ReadJson, FindsADuplicateAmongManyKeysQuickly) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += "\"" + std::to_string(i) + "\":0,\n";
  EXPECT_EQ(parse(text + "\"last\":0}").root().size(), 100'001U);
  EXPECT_THAT(syntax_error_of(text + "\"500\":0}").what(),
              HasSubstr("f.json:100001:1: key \"500\" appears twice"));
}

TEST(ReadJson, RefusesBottomlessNesting) {
  EXPECT_EQ(parse(std::string(200, '[') + std::string(200, ']')).root().size(), 1U);
  EXPECT_STREQ(syntax_error_of(std::string(201, '[')).what(), "f.json:1:201: nested deeper than 200 levels");
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  // 200 times 5 characters, then the brace.
  EXPECT_STREQ(syntax_error_of(objects).what(), "f.json:1:1001: nested deeper than 200 levels");
}

// Calls visit(value) for `value` and everything in it.
void for_each(const JsonValue& value, const std::function<void(const JsonValue&)>& visit) {
  visit(value);
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) for_each(member, visit);
  } else if (value.is_array()) {
    for (const JsonValue& element : value.elements()) for_each(element, visit);
  }
}

constexpr std::string_view kSample = R"({"model_type": "gpt2", "n_layer": 12, "rate": -1.5e-3, "tie": true,
  "none": null, "empty": {}, "list": [1, [2, {"a\\\"b": "]}\u00fc\\"}], [], "x"],
  "deep": {"deeper": {"deepest": [[["end"]]]}}, "after": false})";

bool begins_like(std::string_view text, const JsonValue& value) {
  if (value.is_object()) return text.starts_with('{');
  if (value.is_array()) return text.starts_with('[');
  if (value.is_null()) return text.starts_with("null");
  if (value.is_bool()) return text.starts_with(value.as_bool() ? "true" : "false");
  if (value.is_number()) return std::strtod(text.data(), nullptr) == value.as_double();
  return text.starts_with("\"" + value.as_string().substr(0, 2));
}

// An error at a value shows that value: what stands at the reported place begins as the value is written.
TEST(JsonValue, EveryValueIsFoundInTheText) {
  const JsonDocument document = parse(std::string(kSample));
  int values = 0;
  for_each(document.root(), [&](const JsonValue& value) {
    const Place place = error_at(value, "").place();
    std::size_t start = 0;
    for (std::int64_t line = 1; line < place.line; ++line) start = kSample.find('\n', start) + 1;
    const std::string_view found = kSample.substr(start + static_cast<std::size_t>(*place.column) - 1);
    EXPECT_TRUE(begins_like(found, value)) << value.path();
    ++values;
  });
  EXPECT_EQ(values, 1 + 9 + 7 + 5);  // the top, its members, and what is in "list" and "deep"
}

// Damaged files are refused with a place, or read; nothing else. 20,000 times: a byte changed, left out or
// doubled, and the rest cut off in one case of four.
TEST(ReadJson, SurvivesDamage) {
  const RandomKey key{.seed = 1, .step = 0, .site = site_of("damage")};
  int refused = 0;
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    const RandomBlock random = random_block(key, round);
    std::string text(kSample);
    const std::size_t at = random[0] % text.size();
    if (random[1] % 3 == 0) text[at] = static_cast<char>(random[2]);
    if (random[1] % 3 == 1) text.erase(at, 1);
    if (random[1] % 3 == 2) text.insert(at, 1, text[at]);
    if (random[3] % 4 == 0) text.resize(at);
    try {
      const JsonDocument document = parse(text);
      for_each(document.root(), [](const JsonValue& value) { error_at_key(value, "any"); });
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_TRUE(error.place().line && error.place().column);
      EXPECT_THAT(error.excerpt(), HasSubstr("^"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 5'000);
}

TEST(JsonValue, MissingKeyNamesTheObjectAndTheNearestKey) {
  const JsonDocument document = parse("{\n  \"model\": {\"n_layers\": 12}\n}");
  const Error error = json_error_of([&] { document.root().at("model").at("n_layer"); });
  EXPECT_STREQ(error.what(), "f.json:2:12: key 'n_layer' is missing in 'model'");
  EXPECT_EQ(error.hint(), "there is a key 'n_layers': is it misspelt?");
  EXPECT_EQ(error.excerpt(),
            "    2 |   \"model\": {\"n_layers\": 12}\n"
            "      |            ^");
  EXPECT_EQ(json_error_of([&] { document.root().at("vocab_size"); }).hint(), "");
}

TEST(JsonValue, WrongTypeNamesKeyValueAndWantedType) {
  const JsonDocument document = parse("{\"a\": [{\"n_layer\": \"twelve\"}]}");
  const JsonValue value = document.root().at("a").at(0).at("n_layer");
  const Error error = json_error_of([&] { value.as_int64(); });
  EXPECT_STREQ(error.what(), "f.json:1:20: 'a[0].n_layer' must be an integer, found \"twelve\"");
  EXPECT_EQ(error.excerpt(),
            "    1 | {\"a\": [{\"n_layer\": \"twelve\"}]}\n"
            "      |                    ^^^^^^^^");
}

TEST(JsonValue, EveryAccessChecksTheType) {
  const JsonDocument document = parse(R"({"i": 1, "s": "t", "b": false, "n": null, "a": [], "o": {}})");
  const JsonValue root = document.root();
  const auto message_of = [](const std::function<void()>& action) { return json_error_of(action).message(); };
  EXPECT_EQ(message_of([&] { root.at("i").as_string(); }), "'i' must be a string, found 1");
  EXPECT_EQ(message_of([&] { root.at("i").as_bool(); }), "'i' must be true or false, found 1");
  EXPECT_EQ(message_of([&] { root.at("s").as_double(); }), "'s' must be a number, found \"t\"");
  EXPECT_EQ(message_of([&] { root.at("n").as_int64(); }), "'n' must be an integer, found null");
  EXPECT_EQ(message_of([&] { root.at("b").as_int64(); }), "'b' must be an integer, found false");
  EXPECT_EQ(message_of([&] { root.at("a").at("k"); }), "'a' must be an object, found an array");
  EXPECT_EQ(message_of([&] { root.at("a").has("k"); }), "'a' must be an object, found an array");
  EXPECT_EQ(message_of([&] { root.at("s").items(); }), "'s' must be an object, found \"t\"");
  EXPECT_EQ(message_of([&] { root.at("o").elements(); }), "'o' must be an array, found an object");
  EXPECT_EQ(message_of([&] { root.at("i").size(); }), "'i' must be an object or an array, found 1");
  EXPECT_EQ(message_of([&] { root.at("a").at(0); }), "element 0 of 'a' is missing: it has 0");
  EXPECT_EQ(message_of([] { parse("[]").root().at("k"); }),
            "the top level must be an object, found an array");
}

TEST(JsonValue, IntegersAreWrittenAsIntegersAndFit) {
  const auto integer_of = [](const std::string& text) {
    return parse("[" + text + "]").root().at(0).as_int64();
  };
  EXPECT_EQ(integer_of("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(integer_of("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(integer_of("-0"), 0);
  for (const std::string text : {"9223372036854775808", "-9223372036854775809", "99999999999999999999999"}) {
    const Error error = json_error_of([&] { integer_of(text); });
    EXPECT_EQ(error.message(), "'[0]' must be an integer of at most 64 bits, found " + text);
  }
  for (const std::string text : {"12.0", "1e3", "1E3", "0.5"}) {
    const Error error = json_error_of([&] { integer_of(text); });
    EXPECT_EQ(error.message(), "'[0]' must be an integer, without point and exponent, found " + text);
  }
}

TEST(JsonValue, CutsALongValueBetweenCharacters) {
  std::string text = "[\"a";
  for (int i = 0; i < 100; ++i) text += "\xC3\xBC";
  const JsonDocument document = parse(text + "\"]");
  const std::string message = json_error_of([&] { document.root().at(0).as_bool(); }).message();
  // A quote, an a and 19 umlauts of two bytes: 40 bytes.
  EXPECT_TRUE(message.ends_with("\xC3\xBC\xC3\xBC...")) << message;
}

TEST(JsonValue, RefusesUnknownKeys) {
  static constexpr std::array<std::string_view, 2> kKnown{"n_layer", "n_head"};
  parse(R"({"n_head": 1})").root().refuse_keys_except(kKnown);
  const JsonDocument document = parse(R"({"n_head": 1, "n_layr": 2})");
  const Error error = json_error_of([&] { document.root().refuse_keys_except(kKnown); });
  EXPECT_STREQ(error.what(), "f.json:1:15: unknown key 'n_layr'");
  EXPECT_EQ(error.hint(), "did you mean 'n_layer'? known: n_layer, n_head");
  EXPECT_THAT(error.excerpt(), HasSubstr("              ^^^^^^^^"));
}

TEST(JsonValue, CallersReportWhatOnlyTheySee) {
  const JsonDocument document = parse("{\"deep\": {\"skip\": [1, \"]}\\\"\", {\"x\": {}}],\n \"n\": -1}}");
  const JsonValue value = document.root().at("deep").at("n");
  EXPECT_STREQ(error_at(value, "must be positive", "try 1").what(), "f.json:2:7: must be positive");
  EXPECT_EQ(error_at(value, "must be positive").excerpt(), "    2 |  \"n\": -1}}\n      |       ^^");
  EXPECT_STREQ(error_at_key(value, "not here").what(), "f.json:2:2: not here");
  EXPECT_STREQ(error_at_key(document.root(), "not here").what(), "f.json:1:1: not here");
}

}  // namespace
}  // namespace nadi::inline ground
