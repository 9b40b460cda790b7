#include "nadi/cli/help.h"

#include <algorithm>
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

std::string left_of(const FlagSpec& spec) {
  std::vector<std::string_view> names = spec.names;
  std::ranges::stable_sort(names, {}, &std::string_view::size);  // "-o, --output"
  std::string text = join(names, ", ");
  if (!spec.choices.empty()) return format("{} {}", text, join(spec.choices, "|"));
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

std::string command_help(const CommandEntry& command, const Flags& flags) {
  std::string text = format("nadi {}: {}\n\n", command.name, command.summary);
  const std::optional<PositionalSpec>& positional = flags.positional_spec();
  text += format("usage: nadi {}{} [flags]\n", command.name,
                 positional ? format(" {}", positional->name) : std::string());
  if (positional)
    text += format("\narguments\n{}", entry(std::string(positional->name), positional->help + " (required)"));
  std::string_view group;
  for (const FlagSpec& spec : flags.specs()) {
    if (spec.group != group) text += format("\n{}\n", spec.group);
    group = spec.group;
    const std::string fallback =
        spec.fallback == "required" ? "(required)" : format("(default: {})", spec.fallback);
    text += entry(left_of(spec), format("{} {}", spec.help, fallback));
  }
  text += "\nexamples\n";
  for (const std::string_view example : command.examples) text += format("  {}\n", example);
  return text;
}

}  // namespace nadi
