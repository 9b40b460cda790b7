// The command line of one command.
//
//   Flags flags;
//   flags.set_positional({.name = "MODEL", .help = "a built-in model"});
//   flags.value("--batch-size", "N", "sequences per step", "1");
//   FlagHeading output(flags, "output");
//   output.toggle("--json", "print JSON");
//   flags.parse(arguments);
//   const std::int64_t batch = flags.integer("--batch-size").value_or(1);
//
// A command that runs another takes a rest instead of a positional: the first word that is no flag, and
// everything after it, as it is (`nadi launch -n 2 train gpt2 --json`: the rest is `train gpt2 --json`).
//
// Flags may be written with underscores (--batch_size) and with '=' (--batch-size=4). Of a flag that is given
// several times the last counts, as in Python's argparse: scripts append what they override. What is wrong
// with a command line is Error (usage): an unknown flag (with the nearest one), a value that is missing or of
// the wrong kind, a word too many.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline show {

// Which page of help shows a flag: `--help-all` (and `--help`, see Flags::show_first), or `--help-megatron`.
enum class HelpPage : std::uint8_t { kMain, kMegatron };

struct FlagSpec {
  // All spellings; the first is the one that messages use and that getters take. Those of flag_aliases.h
  // come by themselves.
  std::vector<std::string_view> names;
  std::string_view value = {};   // what help calls the value: "N"; empty for a switch, which takes none
  std::string help;              // "" where the name has to do
  std::string fallback = "off";  // the default as help shows it
  std::vector<std::string_view> choices = {};  // the values it takes; empty means any
  std::string_view group = "flags";            // heading in help
  bool repeatable = false;                     // each time it is given adds a value: see texts()
  bool many = false;                           // takes all words up to the next flag: see texts()
  HelpPage page = HelpPage::kMain;
  bool may_be_empty = false;  // "" is a value
};

// One name, or all spellings.
struct FlagNames {
  FlagNames(const char* name) : list{name} {}       // NOLINT: stands for a list of one
  FlagNames(std::string_view name) : list{name} {}  // NOLINT
  FlagNames(std::initializer_list<std::string_view> names) : list(names) {}
  std::vector<std::string_view> list;
};

// What few flags have, as in FlagSpec.
struct FlagTraits {
  std::vector<std::string_view> choices = {};
  bool repeatable = false, many = false, may_be_empty = false;
};

// A flag that takes a value, and one that takes none.
FlagSpec value_flag(FlagNames names, std::string_view value, std::string help, std::string fallback,
                    FlagTraits traits = {});
FlagSpec switch_flag(FlagNames names, std::string help, std::string fallback = "off");

struct PositionalSpec {
  std::string_view name;
  std::string help;
  bool many = false;                           // takes all words that are no flags: see positionals()
  std::vector<std::string_view> choices = {};  // the words it takes, for completion; the command checks them
  std::string fallback = "required";           // what is taken where there is none, as help shows it
};

// A flag that was given several times with different values.
struct Override {
  std::string_view name;
  std::size_t times = 0;
  std::string value;  // that counts
};

class Flags {
 public:
  // Before parse().
  void add(FlagSpec spec);
  void value(FlagNames names, std::string_view value, std::string help, std::string fallback,
             FlagTraits traits = {});
  void toggle(FlagNames names, std::string help, std::string fallback = "off");
  void set_positional(PositionalSpec spec);
  void set_rest(PositionalSpec spec);
  // The flags that people use: `--help` shows these alone, in this order, and `--help-all` shows them first.
  // A command that has no such list shows all its flags in `--help`.
  void show_first(std::vector<std::string_view> names) { shown_first_ = std::move(names); }

  void parse(std::span<const std::string> arguments);

  // After parse(): a value for a flag, or a word, that was not given, as if it had been. For files that stand
  // for a part of the command line. arguments() stays as it was.
  void fill(std::string_view name, std::string value);  // "true" for a switch
  void fill_positional(std::string word);

  // How many of the words, from the first, come before the rest. All of them where none is taken.
  std::size_t own_words(std::span<const std::string> arguments) const;

  // The word that is not a flag; Error (usage) when it is missing.
  const std::string& positional() const;
  bool has_positional() const { return !positionals_.empty(); }
  // All of them, where many are taken; not empty: Error (usage) when they are missing.
  const std::vector<std::string>& positionals() const;
  // Not empty; Error (usage) when it is missing.
  const std::vector<std::string>& rest() const;
  // All words, as they were given.
  const std::vector<std::string>& arguments() const { return arguments_; }
  // In the order of the flags. Repeatable flags are never here.
  const std::vector<Override>& overrides() const { return overrides_; }

  // What was given for a flag; nothing when it was not.
  bool given(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;
  const std::vector<std::string>& texts(std::string_view name) const;  // each value of such a flag
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t least = 1) const;
  // At least 0 and below `limit`.
  std::optional<double> number(std::string_view name,
                               double limit = std::numeric_limits<double>::infinity()) const;
  std::optional<Bytes> bytes(std::string_view name) const;         // at least 1: see base/parse_bytes.h
  std::optional<std::size_t> choice(std::string_view name) const;  // index into FlagSpec::choices

  // For help.
  const std::vector<FlagSpec>& specs() const { return specs_; }
  const std::optional<PositionalSpec>& positional_spec() const { return positional_spec_; }
  const std::optional<PositionalSpec>& rest_spec() const { return rest_spec_; }
  const std::vector<std::string_view>& shown_first() const { return shown_first_; }
  bool has_page(HelpPage page) const;
  // The flag with this name or alias; nullptr when there is none.
  const FlagSpec* find(std::string_view name) const;
  // The words that ask for help: --help, --help-all and, where the command has such flags, --help-megatron.
  std::vector<std::string_view> help_words() const;

 private:
  std::size_t index_of(std::string_view name) const;
  bool is_flag(std::string_view word) const;
  void check_words(const std::vector<std::string>& extra) const;
  void take(std::size_t flag, const std::vector<std::vector<std::string>>& occurrences);
  void check_value(const FlagSpec& spec, const std::string& value) const;

  std::vector<FlagSpec> specs_;
  std::vector<std::vector<std::string>> values_;  // by flag: the values that count; "true" for a switch
  std::vector<Override> overrides_;
  std::vector<std::string_view> shown_first_;
  std::optional<PositionalSpec> positional_spec_;
  std::vector<std::string> positionals_;
  std::optional<PositionalSpec> rest_spec_;
  std::vector<std::string> rest_;
  std::vector<std::string> arguments_;
};

// Adds flags below one heading of help.
class FlagHeading {
 public:
  FlagHeading(Flags& flags, std::string_view heading) : flags_(flags), heading_(heading) {}

  void add(FlagSpec spec);
  void value(FlagNames names, std::string_view value, std::string help, std::string fallback,
             FlagTraits traits = {});
  void toggle(FlagNames names, std::string help, std::string fallback = "off");

 private:
  Flags& flags_;
  std::string_view heading_;
};

}  // namespace nadi::inline show
