#include "nadi/command_line/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline show {
namespace {

Flags flags_for_tests() {
  Flags flags;
  flags.set_positional({.name = "MODEL", .help = "a model"});
  flags.add({.names = {"--batch-size"}, .value = "N", .help = "sequences", .fallback = "1"});
  flags.add({.names = {"--output"}, .value = "PREFIX", .help = "where", .fallback = "required"});
  flags.add({.names = {"--rate"}, .value = "X", .help = "rate", .fallback = "0"});
  flags.add(
      {.names = {"--dtype"}, .value = "T", .help = "type", .fallback = "fp32", .choices = {"fp32", "bf16"}});
  flags.add({.names = {"--bytes"}, .value = "SIZE", .help = "size", .fallback = "1"});
  flags.add({.names = {"--paths"}, .value = "PATHS", .help = "where from", .many = true});
  flags.add({.names = {"--json"}, .help = "JSON"});
  return flags;
}

Flags parsed(std::vector<std::string> arguments) {
  Flags flags = flags_for_tests();
  flags.parse(arguments);
  return flags;
}

// "message | hint" of the Error that `body` throws.
template <typename Body>
std::string mistake(Body body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.message() + (error.hint().empty() ? "" : " | " + error.hint());
  }
  return "no error";
}

std::string parse_mistake(std::vector<std::string> arguments) {
  return mistake([&] { parsed(arguments); });
}

TEST(Flags, ReadsWhatIsGivenInAnyOrderAndSpelling) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"gpt2", "--batch-size", "4", "-o", "a_b", "--json"},
        {"--batch_size=4", "--output=a_b", "--json", "gpt2"},
        {"--json", "-oa_b", "--batch_size", "4", "--", "gpt2"}}) {
    const Flags flags = parsed(arguments);
    EXPECT_EQ(flags.positional(), "gpt2");
    EXPECT_EQ(flags.integer("--batch-size"), 4);
    EXPECT_EQ(flags.text("--output"), "a_b") << "underscores of values stay";
    EXPECT_TRUE(flags.given("--json"));
    EXPECT_FALSE(flags.given("--dtype"));
    EXPECT_EQ(flags.choice("--dtype"), std::nullopt);
  }
}

TEST(Flags, ReadsNumbersAndChoices) {
  EXPECT_EQ(parsed({"--rate", "0.25"}).number("--rate", 1), 0.25);
  EXPECT_EQ(parsed({"--rate", "1e3"}).number("--rate"), 1000);
  EXPECT_EQ(parsed({"--dtype", "bf16"}).choice("--dtype"), 1u);
  EXPECT_EQ(parsed({"--bytes", "2KiB"}).bytes("--bytes"), Bytes{2048});
  EXPECT_EQ(parsed({}).bytes("--bytes"), std::nullopt);
  EXPECT_EQ(parsed({"--batch-size", "0"}).integer("--batch-size", 0), 0);
}

TEST(Flags, AFlagMayTakeManyWords) {
  const Flags flags = parsed({"gpt2", "--paths", "0.3", "a", "0.7", "b_c", "--json"});
  EXPECT_EQ(flags.texts("--paths"), (std::vector<std::string>{"0.3", "a", "0.7", "b_c"}));
  EXPECT_EQ(flags.positional(), "gpt2");
  EXPECT_TRUE(parsed({"gpt2"}).texts("--paths").empty());
  EXPECT_EQ(parse_mistake({"gpt2", "--paths"}), "--paths needs a value");
  EXPECT_EQ(parse_mistake({"gpt2", "--paths", "--json"}), "--paths needs a value, and '--json' is a flag");
}

// As Python's argparse has it, and as scripts rely on it that append to what another has.
TEST(Flags, OfSeveralValuesTheLastCounts) {
  const Flags flags =
      parsed({"--rate", "0.1", "--json", "-o", "a", "--paths", "x", "y", "--rate=0.2", "--json", "--output",
              "b", "--paths", "z", "--dtype", "bf16", "--dtype", "bf16"});
  EXPECT_EQ(flags.number("--rate"), 0.2);
  EXPECT_EQ(flags.text("--output"), "b");
  EXPECT_EQ(flags.texts("--paths"), (std::vector<std::string>{"z"}));
  EXPECT_TRUE(flags.given("--json"));
  EXPECT_EQ(flags.choice("--dtype"), 1u);
  // Said are those whose values differ.
  std::string overridden;
  for (const Override& flag : flags.overrides())
    overridden += std::string(flag.name) + " " + std::to_string(flag.times) + " " + flag.value + "; ";
  EXPECT_EQ(overridden, "--output 2 b; --rate 2 0.2; --paths 2 z; ");
  EXPECT_EQ(parse_mistake({"--dtype", "bf61", "--dtype", "bf16"}),
            "--dtype does not take 'bf61' | did you mean 'bf16'? known: fp32, bf16")
      << "a value that does not count is checked all the same";
}

TEST(Flags, AliasesComeFromOneTable) {
  const auto tensor_parallel = [](std::vector<std::string> arguments) {
    Flags flags;
    flags.add({.names = {"--tp"}, .value = "N", .help = "ranks", .fallback = "1"});
    flags.parse(arguments);
    return flags.integer("--tp");
  };
  EXPECT_EQ(tensor_parallel({"--tensor-model-parallel-size", "2"}), 2);
  EXPECT_EQ(tensor_parallel({"--tp", "4", "--tensor_model_parallel_size=2"}), 2)
      << "one flag: the last counts";
}

TEST(Flags, NamesUnknownFlagsWithTheNearest) {
  EXPECT_EQ(parse_mistake({"gpt2", "--batchsize", "4"}),
            "unknown flag '--batchsize' | did you mean '--batch-size'?");
  EXPECT_EQ(parse_mistake({"--batch-sizes=4", "gpt2"}),
            "unknown flag '--batch-sizes' | did you mean '--batch-size'?");
  EXPECT_EQ(parse_mistake({"-output", "x"}), "no error") << "-o with the value 'utput', as everywhere";
  EXPECT_EQ(parse_mistake({"--hepl"}), "unknown flag '--hepl' | did you mean '--help'?");
  EXPECT_EQ(parse_mistake({"--zzz"}), "unknown flag '--zzz'");
}

TEST(Flags, RefusesWordsTooManyAndTooFew) {
  EXPECT_EQ(parse_mistake({"gpt2", "bert"}), "unexpected argument 'bert'");
  EXPECT_EQ(mistake([] { parsed({}).positional(); }), "MODEL is missing");
}

TEST(Flags, RefusesMissingAndUnwantedValues) {
  EXPECT_EQ(parse_mistake({"gpt2", "--batch-size"}), "--batch-size needs a value");
  EXPECT_EQ(parse_mistake({"gpt2", "--batch_size"}), "--batch-size needs a value");
  EXPECT_EQ(parse_mistake({"gpt2", "-o", "--json"}), "--output needs a value, and '--json' is a flag");
  EXPECT_EQ(parse_mistake({"gpt2", "-o", ""}), "--output needs a value");
  EXPECT_EQ(parse_mistake({"--json=4"}), "--json takes no value, but '4' was given");
}

TEST(Flags, RefusesValuesOfTheWrongKind) {
  EXPECT_EQ(parse_mistake({"--dtype", "bf61"}),
            "--dtype does not take 'bf61' | did you mean 'bf16'? known: fp32, bf16");
  for (const char* value : {"four", "4x", "0", "-1", "1.5", "99999999999999999999", " 4"})
    EXPECT_EQ(mistake([&] {
                parsed({"--batch-size", value}).integer("--batch-size");
              }),
              "--batch-size takes a whole number of at least 1, not '" + std::string(value) + "'");
  for (const char* value : {"1XB", "0", "-1", "0.5", "99999999TiB"})
    EXPECT_EQ(mistake([&] {
                parsed({"--bytes", value}).bytes("--bytes");
              }),
              "--bytes takes a size of at least 1 byte, not '" + std::string(value) +
                  "' | 1MB is 1,000,000 bytes, 1MiB is 1,048,576, and 4096 is just that");
  for (const char* value : {"x", "-0.1", "nan", "inf", "1", "1e999"})
    EXPECT_EQ(mistake([&] {
                parsed({"--rate", value}).number("--rate", 1);
              }),
              "--rate takes a number of at least 0 and below 1, not '" + std::string(value) + "'");
  EXPECT_EQ(mistake([&] {
              parsed({"--rate", "-1"}).number("--rate");
            }),
            "--rate takes a number of at least 0, not '-1'");
}

Flags flags_with_rest() {
  Flags flags;
  flags.set_rest({.name = "COMMAND", .help = "a command"});
  flags.add({.names = {"--ranks", "-n"}, .value = "N", .help = "ranks", .fallback = "1"});
  flags.add({.names = {"--slow"}, .value = "X", .help = "slow", .fallback = "none", .repeatable = true});
  flags.add({.names = {"--json"}, .help = "JSON"});
  return flags;
}

TEST(Flags, LeavesTheRestAsItIs) {
  const std::vector<std::string> rest{"train", "--ranks", "3", "--batch_size=4", "--json", "--"};
  for (const std::vector<std::string>& own :
       {std::vector<std::string>{"-n", "2"}, {"--ranks=2"}, {"-n2"}, {"--ranks", "2", "--"}}) {
    std::vector<std::string> words = own;
    words.insert(words.end(), rest.begin(), rest.end());
    Flags flags = flags_with_rest();
    EXPECT_EQ(flags.own_words(words), own.size());
    flags.parse(words);
    EXPECT_EQ(flags.integer("--ranks"), 2);
    EXPECT_EQ(flags.rest(), rest);
    EXPECT_FALSE(flags.given("--json"));
    EXPECT_EQ(flags.arguments(), words);
  }
  EXPECT_EQ(mistake([] {
              Flags flags = flags_with_rest();
              flags.parse(std::vector<std::string>{"--json"});
              flags.rest();
            }),
            "COMMAND is missing");
  EXPECT_EQ(mistake([] {
              flags_with_rest().parse(std::vector<std::string>{"--rank", "2", "train"});
            }),
            "unknown flag '--rank' | did you mean '--ranks'?");
}

TEST(Flags, TakesRepeatableFlagsSeveralTimes) {
  Flags flags = flags_with_rest();
  flags.parse(std::vector<std::string>{"--slow", "a", "--slow=b", "train"});
  EXPECT_THAT(flags.texts("--slow"), testing::ElementsAre("a", "b"));
  EXPECT_EQ(mistake([] {
              flags_with_rest().parse(std::vector<std::string>{"--slow", "a", "--slow", "--json"});
            }),
            "--slow needs a value, and '--json' is a flag");
}

TEST(Flags, AValueInBracketsMayBeLeftOut) {
  const auto parsed = [](std::vector<std::string> words) {
    Flags flags = flags_with_rest();
    flags.add({.names = {"--minimize"}, .value = "[NAME]", .help = "less is better", .repeatable = true});
    flags.parse(words);
    return flags;
  };
  EXPECT_THAT(parsed({"--minimize", "runtime", "--", "sh"}).texts("--minimize"),
              testing::ElementsAre("runtime"));
  EXPECT_THAT(parsed({"--minimize", "--ranks", "2", "sh"}).texts("--minimize"), testing::ElementsAre(""));
  EXPECT_EQ(parsed({"--minimize", "--ranks", "2", "sh"}).integer("--ranks"), 2);
  EXPECT_EQ(parsed({"--minimize", "--", "sh", "-c"}).rest(), (std::vector<std::string>{"sh", "-c"}));
  EXPECT_THAT(parsed({"--minimize", "a", "--minimize=b", "sh"}).texts("--minimize"),
              testing::ElementsAre("a", "b"));
}

}  // namespace
}  // namespace nadi::inline show
