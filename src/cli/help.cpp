#include "nadi/cli/help.h"

#include <algorithm>
#include <span>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/cli/command.h"
#include "nadi/cli/flags.h"
#include "nadi/cli/wrap.h"

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

std::string program_help() {
  std::string text =
      "nadi: builds one step of an LLM's training or inference as a graph; shows and traces it\n\n"
      "usage: nadi COMMAND [flags]\n\ncommands\n";
  for (const CommandEntry& command : commands())
    text += format("  {:<18}{}\n", command.name, command.summary);
  text += format("  {:<18}{}\n\nflags\n", "help", "show this text, or that of a command: nadi help show");
  text += "  --version   print the version\n  -h, --help  show this text, or that of a command\n\nexamples\n";
  for (const CommandEntry& command : commands()) text += format("  {}\n", command.examples[0]);
  return text +
         "\nexit codes: 0 done, 1 failed, 2 usage, 3 bad input, 4 environment lacks something,\n"
         "            5 no feasible answer, 130 interrupted\n";
}

namespace {

// Flags of a group that need no explanation each: their names, one after the other.
std::string names_only(std::span<const FlagSpec> specs) {
  std::vector<std::string> words;
  for (const FlagSpec& spec : specs) words.push_back(left_of(spec));
  for (std::size_t i = 0; i + 1 < words.size(); ++i) words[i] += ",";
  return labelled("", 2, words);
}

}  // namespace

std::string command_help(const CommandEntry& command, const Flags& flags) {
  std::string text = format("nadi {}: {}\n\n", command.name, command.summary);
  const std::optional<PositionalSpec>& positional = flags.positional_spec();
  const std::optional<PositionalSpec>& rest = flags.rest_spec();
  text += format("usage: nadi {}{} [flags]{}\n", command.name,
                 positional ? format(" {}", positional->name) : std::string(),
                 rest ? format(" {} ...", rest->name) : std::string());
  if (const auto& argument = positional ? positional : rest)
    text += format("\narguments\n{}", entry(std::string(argument->name), argument->help + " (required)"));
  std::string_view group;
  const std::span<const FlagSpec> specs = flags.specs();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const FlagSpec& spec = specs[i];
    if (spec.group != group) text += format("\n{}\n", spec.group);
    group = spec.group;
    if (spec.help.empty()) {
      const std::size_t first = i;
      while (i + 1 < specs.size() && specs[i + 1].help.empty() && specs[i + 1].group == group) ++i;
      text += names_only(specs.subspan(first, i - first + 1));
      continue;
    }
    const std::string fallback =
        spec.fallback == "required" ? "(required)" : format("(default: {})", spec.fallback);
    const std::string choices = has_long_choices(spec) ? format("; {}", join(spec.choices, ", ")) : "";
    text += entry(left_of(spec), format("{} {}{}", spec.help, fallback, choices));
  }
  text += "\nexamples\n";
  for (const std::string_view example : command.examples) text += format("  {}\n", example);
  return text;
}

}  // namespace nadi
