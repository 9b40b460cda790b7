#include "nadi/command_line/help.h"

#include <algorithm>
#include <span>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/environment_variables.h"
#include "nadi/command_line/exit_codes.h"
#include "nadi/command_line/flags.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

// Choices longer than this leave no room for the explanation and stand behind it.
constexpr std::size_t kLongChoices = 32;

// Where explanations start: beside the names, or below them where that leaves too little room.
std::size_t text_column(std::size_t width) {
  constexpr std::size_t kBeside = 32, kBelow = 6, kLeastForBeside = 72;
  return width >= kLeastForBeside ? kBeside : kBelow;
}

std::string entry(const std::string& left, const std::string& text, std::size_t width) {
  return labelled("  " + left, text_column(width), words_of(text), width);
}

bool has_long_choices(const FlagSpec& spec) {
  return join(spec.choices, "|").size() > kLongChoices;
}

std::string left_of(const FlagSpec& spec) {
  std::vector<std::string_view> names = spec.names;
  std::ranges::stable_sort(names, {}, &std::string_view::size);  // "-o, --output"
  std::string text = join(names, ", ");
  if (!spec.choices.empty() && !has_long_choices(spec)) return format("{} {}", text, join(spec.choices, "|"));
  return spec.value.empty() ? text : format("{} {}", text, spec.value);
}

std::string paragraph(std::string_view text, std::size_t width) {
  return wrapped_line(text, width) + '\n';
}

// "exit codes: 0 done, 1 failed, ..."
std::string exit_codes_text(std::size_t width) {
  std::vector<std::string> words;
  for (const ExitCodeEntry& entry : exit_codes()) words.push_back(format("{} {},", entry.code, entry.brief));
  words.back().pop_back();
  constexpr std::string_view kLabel = "exit codes:";
  return "\n" + labelled(kLabel, kLabel.size() + 1, words, width);
}

}  // namespace

std::string fallback_text(std::string_view fallback) {
  return fallback == "required" ? "(required)" : format("(default: {})", fallback);
}

std::string_view program_summary() {
  return "builds one step of an LLM's training or inference as a graph";
}

namespace {

// A summary as far as its parts go into `room` columns; all of it where not even the first does.
std::string_view summary_within(std::string_view summary, std::size_t room) {
  if (summary.size() <= room) return summary;
  const std::size_t end = summary.substr(0, room + 1).find_last_of(",;:");
  return summary.substr(0, end);
}

// A line for each command, and one for the commands of a group together.
std::string commands_in_groups(const CommandTable& commands, std::size_t width) {
  std::size_t column = 0;
  for (const CommandEntry& command : commands)
    column = std::max(column, words_of(command.name)[0].size() + 4);
  std::string text, last_group;
  for (const CommandEntry& command : commands) {
    const std::string first = words_of(command.name)[0];
    const bool is_member = first.size() < command.name.size();
    if (is_member && (first == last_group || commands.find(std::vector{first}) != nullptr)) continue;
    std::string members;
    for (const CommandEntry* member : commands.group(first))
      members += format("{}{}", members.empty() ? "" : ", ", member->name.substr(first.size() + 1));
    const std::string also = members.empty() ? "" : format("; also {} {}", first, members);
    const std::size_t room = width - std::min(width, column + also.size());
    std::string words(is_member ? commands.group_summary(first) : summary_within(command.summary, room));
    words += is_member ? (words.empty() ? "" : ": ") + members : also;
    text += labelled("  " + first, column, words_of(words), width);
    last_group = first;
  }
  return text;
}

std::string commands_one_by_one(const std::vector<const CommandEntry*>& commands, std::size_t width) {
  std::string text;
  for (const CommandEntry* command : commands)
    text += labelled(format("  {}", command->name), width >= 72 ? 22 : 4, words_of(command->summary), width);
  return text;
}

std::string environment_text(std::size_t width) {
  std::string text = "\nenvironment\n";
  for (const VariableEntry& variable : environment_variables())
    text += entry(std::string(variable.name), std::string(variable.help), width);
  return text;
}

}  // namespace

std::string program_help(const CommandTable& commands, HelpExtent extent, std::size_t width) {
  const bool all = extent == HelpExtent::kAll;
  std::string text = paragraph(format("nadi: {}", program_summary()), width) +
                     paragraph("usage: nadi COMMAND [flags]", width) + "\ncommands\n";
  std::vector<const CommandEntry*> every;
  for (const CommandEntry& command : commands) every.push_back(&command);
  text += all ? commands_one_by_one(every, width) : commands_in_groups(commands, width);
  text += "\nflags\n";
  const auto flag = [&](std::string_view left, std::string_view right) {
    text += labelled(format("  {}", left), 17, words_of(right), width);
  };
  flag("-h, --help", "this text; 'nadi COMMAND --help': the flags that people use");
  flag("--help-all", "all commands; 'nadi COMMAND --help-all': all flags");
  flag("-V, --version", "print the version");
  text += "\nexamples\n";
  if (all) {
    for (const CommandEntry& command : commands) text += wrapped_command(command.examples[0], 2, width);
    text += environment_text(width);
  } else {
    for (const CommandEntry* command : every)
      if (command->name == "show" || command->name == "plan" || command->name == "train")
        text += wrapped_command(command->examples[0], 2, width);
  }
  return text + exit_codes_text(width);
}

std::string group_help(const CommandTable& commands, std::string_view group, std::size_t width) {
  const std::vector<const CommandEntry*> members = commands.group(group);
  std::string text = format("usage: nadi {} COMMAND [flags]\n\ncommands\n", group);
  text += commands_one_by_one(members, width) + "\nexamples\n";
  for (const CommandEntry* command : members) text += wrapped_command(command->examples[0], 2, width);
  return text + exit_codes_text(width);
}

namespace {

// Flags of a group that need no explanation each: their names, one after the other.
std::string names_only(std::span<const FlagSpec* const> specs, std::size_t width) {
  std::vector<std::string> words;
  for (const FlagSpec* spec : specs) words.push_back(left_of(*spec));
  for (std::size_t i = 0; i + 1 < words.size(); ++i) words[i] += ",";
  return labelled("", 2, words, width);
}

std::string flag_entry(const FlagSpec& spec, std::size_t width) {
  const std::string choices = has_long_choices(spec) ? format("; {}", join(spec.choices, ", ")) : "";
  return entry(left_of(spec), format("{} {}{}", spec.help, fallback_text(spec.fallback), choices), width);
}

// Below one heading.
std::string flag_entries(std::span<const FlagSpec* const> specs, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i]->help.empty()) {
      text += flag_entry(*specs[i], width);
      continue;
    }
    const std::size_t first = i;
    while (i + 1 < specs.size() && specs[i + 1]->help.empty()) ++i;
    text += names_only(specs.subspan(first, i - first + 1), width);
  }
  return text;
}

}  // namespace

std::vector<FlagGroup> flag_groups(const Flags& flags, HelpPage page) {
  std::vector<FlagGroup> groups;
  const std::vector<std::string_view>& first = flags.shown_first();
  if (page == HelpPage::kMain && !first.empty()) {
    groups.push_back({.name = "flags that people use", .flags = {}});
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

namespace {

// The flags that a page of help shows, and how many of the command's own it leaves out.
struct ShownFlags {
  std::vector<FlagGroup> groups;
  std::size_t left_out = 0;
};

ShownFlags shown_flags(const Flags& flags, HelpExtent extent) {
  ShownFlags shown{
      .groups = flag_groups(flags, extent == HelpExtent::kMegatron ? HelpPage::kMegatron : HelpPage::kMain)};
  if (extent != HelpExtent::kUsual || flags.shown_first().empty()) return shown;
  for (std::size_t i = 1; i < shown.groups.size(); ++i) shown.left_out += shown.groups[i].flags.size();
  shown.groups.resize(1);
  return shown;
}

}  // namespace

std::optional<HelpExtent> wanted_help(const Flags& flags, std::span<const std::string> words) {
  const auto asks = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  if (asks("--help-all")) return HelpExtent::kAll;
  if (asks("--help") || asks("-h")) return HelpExtent::kUsual;
  if (flags.has_page(HelpPage::kMegatron) && asks("--help-megatron")) return HelpExtent::kMegatron;
  return std::nullopt;
}

std::string command_help(const CommandTable& commands, const CommandEntry& command, const Flags& flags,
                         HelpExtent extent, std::size_t width) {
  std::string text = paragraph(format("nadi {}: {}", command.name, command.summary), width) + "\n" +
                     paragraph(format("usage: {}", command_usage(command, flags)), width);
  const std::optional<PositionalSpec>& positional = flags.positional_spec();
  const std::optional<PositionalSpec>& argument = positional ? positional : flags.rest_spec();
  if (argument && extent != HelpExtent::kMegatron)
    text +=
        "\narguments\n" + entry(std::string(argument->name),
                                format("{} {}", argument->help, fallback_text(argument->fallback)), width);
  const ShownFlags shown = shown_flags(flags, extent);
  for (const FlagGroup& group : shown.groups)
    text += format("\n{}\n{}", group.name, flag_entries(group.flags, width));
  if (shown.left_out > 0)
    text += "\nmore flags\n" +
            paragraph(format("  {} more: 'nadi {} --help-all'", shown.left_out, command.name), width);
  if (extent != HelpExtent::kMegatron && flags.has_page(HelpPage::kMegatron))
    text += "\nMegatron-LM's flags\n" +
            paragraph("  --help-megatron lists them: the arguments of its pretraining scripts", width);
  if (const auto others = commands.group(command.name); !others.empty()) {
    text += "\nsee also\n";
    for (const CommandEntry* other : others)
      text += paragraph(format("  nadi {}: {}", other->name, other->summary), width);
  }
  text += "\nexamples\n";
  for (const std::string_view example : command.examples) text += wrapped_command(example, 2, width);
  return text + exit_codes_text(width);
}

}  // namespace nadi::inline show
