#include "nadi/command_line/help.h"

#include <algorithm>
#include <span>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/environment_variables.h"
#include "nadi/command_line/flags.h"
#include "nadi/terminal/wrap.h"

namespace nadi {
namespace {

constexpr std::size_t kTextColumn = 32;  // where explanations start

std::string entry(const std::string& left, const std::string& text) {
  return labelled("  " + left, kTextColumn, words_of(text));
}

// Choices that leave no room for the explanation stand behind it.
bool has_long_choices(const FlagSpec& spec) {
  return join(spec.choices, "|").size() > kTextColumn;
}

std::string left_of(const FlagSpec& spec) {
  std::vector<std::string_view> names = spec.names;
  std::ranges::stable_sort(names, {}, &std::string_view::size);  // "-o, --output"
  std::string text = join(names, ", ");
  if (!spec.choices.empty() && !has_long_choices(spec)) return format("{} {}", text, join(spec.choices, "|"));
  return spec.value.empty() ? text : format("{} {}", text, spec.value);
}

}  // namespace

std::string fallback_text(std::string_view fallback) {
  return fallback == "required" ? "(required)" : format("(default: {})", fallback);
}

std::string_view program_summary() {
  return "builds one step of an LLM's training or inference as a graph; shows and traces it";
}

std::string program_help(const CommandTable& commands) {
  std::string text = format("nadi: {}\n\nusage: nadi COMMAND [flags]\n\ncommands\n", program_summary());
  for (const CommandEntry& command : commands) text += format("  {:<20}{}\n", command.name, command.summary);
  text += format("  {:<20}{}\n\nflags\n", "help", "show this text, or that of a command: nadi help show");
  text +=
      "  -V, --version  print the version\n  -h, --help     show this text, or that of a "
      "command\n\nexamples\n";
  for (const CommandEntry& command : commands) text += format("  {}\n", command.examples[0]);
  text += "\nenvironment\n";
  for (const VariableEntry& variable : environment_variables())
    text += entry(std::string(variable.name), std::string(variable.help));
  return text +
         "\nexit codes: 0 done, 1 failed, 2 usage, 3 bad input, 4 environment lacks something,\n"
         "            5 no feasible answer, 130 interrupted\n";
}

std::string group_help(const CommandTable& commands, std::string_view group) {
  const std::vector<const CommandEntry*> members = commands.group(group);
  std::string text = format("usage: nadi {} COMMAND [flags]\n\ncommands\n", group);
  for (const CommandEntry* command : members) text += format("  {:<20}{}\n", command->name, command->summary);
  text += "\nexamples\n";
  for (const CommandEntry* command : members) text += format("  {}\n", command->examples[0]);
  return text;
}

namespace {

// Flags of a group that need no explanation each: their names, one after the other.
std::string names_only(std::span<const FlagSpec* const> specs) {
  std::vector<std::string> words;
  for (const FlagSpec* spec : specs) words.push_back(left_of(*spec));
  for (std::size_t i = 0; i + 1 < words.size(); ++i) words[i] += ",";
  return labelled("", 2, words);
}

std::string flag_entry(const FlagSpec& spec) {
  const std::string choices = has_long_choices(spec) ? format("; {}", join(spec.choices, ", ")) : "";
  return entry(left_of(spec), format("{} {}{}", spec.help, fallback_text(spec.fallback), choices));
}

// Below one heading.
std::string flag_entries(std::span<const FlagSpec* const> specs) {
  std::string text;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i]->help.empty()) {
      text += flag_entry(*specs[i]);
      continue;
    }
    const std::size_t first = i;
    while (i + 1 < specs.size() && specs[i + 1]->help.empty()) ++i;
    text += names_only(specs.subspan(first, i - first + 1));
  }
  return text;
}

}  // namespace

std::vector<FlagGroup> flag_groups(const Flags& flags, HelpPage page) {
  std::vector<FlagGroup> groups;
  const std::vector<std::string_view>& first = flags.shown_first();
  if (page == HelpPage::kMain && !first.empty()) {
    groups.push_back({.name = "flags used most", .flags = {}});
    for (const std::string_view name : first) {
      const FlagSpec* const spec = flags.find(name);
      check(spec != nullptr, "help is to show a flag first that the command does not have");
      groups.back().flags.push_back(spec);
    }
  }
  for (const FlagSpec& spec : flags.specs()) {
    if (spec.page != page || std::ranges::find(first, spec.names[0]) != first.end()) continue;
    const auto known = std::ranges::find(groups, spec.group, &FlagGroup::name);
    FlagGroup& group = known != groups.end() ? *known : groups.emplace_back(FlagGroup{spec.group, {}});
    group.flags.push_back(&spec);
  }
  return groups;
}

std::string command_usage(const CommandEntry& command, const Flags& flags) {
  const std::optional<PositionalSpec>& positional = flags.positional_spec();
  const std::optional<PositionalSpec>& rest = flags.rest_spec();
  std::string word;
  if (positional)
    word = positional->fallback == "required" ? format(" {}", positional->name)
                                              : format(" [{}]", positional->name);
  return format("nadi {}{} [flags]{}", command.name, word,
                rest ? format(" {} ...", rest->name) : std::string());
}

std::string command_help(const CommandTable& commands, const CommandEntry& command, const Flags& flags,
                         HelpPage page) {
  std::string text =
      format("nadi {}: {}\n\nusage: {}\n", command.name, command.summary, command_usage(command, flags));
  const std::optional<PositionalSpec>& positional = flags.positional_spec();
  const std::optional<PositionalSpec>& argument = positional ? positional : flags.rest_spec();
  if (argument && page == HelpPage::kMain)
    text +=
        format("\narguments\n{}", entry(std::string(argument->name),
                                        format("{} {}", argument->help, fallback_text(argument->fallback))));
  for (const FlagGroup& group : flag_groups(flags, page))
    text += format("\n{}\n{}", group.name, flag_entries(group.flags));
  if (page == HelpPage::kMain && flags.has_page(HelpPage::kMegatron))
    text += "\nMegatron-LM's flags\n  --help-megatron lists them: the arguments of its pretraining scripts\n";
  if (const auto others = commands.group(command.name); !others.empty()) {
    text += "\nsee also\n";
    for (const CommandEntry* other : others) text += format("  nadi {}: {}\n", other->name, other->summary);
  }
  text += "\nexamples\n";
  for (const std::string_view example : command.examples) text += format("  {}\n", example);
  return text;
}

}  // namespace nadi
