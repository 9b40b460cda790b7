#include "nadi/command_line/man_page.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/environment_variables.h"
#include "nadi/command_line/exit_codes.h"
#include "nadi/command_line/flags.h"
#include "nadi/command_line/help.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

// Text that roff prints as it is: a backslash begins its commands, and so do a dot and a quote at the start
// of a line; '-' alone is a hyphen, which cannot be copied into a shell.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\\')
      out += "\\e";
    else if (letter == '-')
      out += "\\-";
    else if (letter == '\n')
      out += ' ';
    else
      out += letter;
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string bold(std::string_view text) {
  return "\\fB" + escaped(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + escaped(text) + "\\fR";
}

std::string upper_case(std::string_view text) {
  std::string upper(text);
  for (char& letter : upper)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return upper;
}

// "nadi-trace-collective"
std::string page_name(const CommandEntry& entry) {
  std::string name = format("nadi-{}", entry.name);
  std::ranges::replace(name, ' ', '-');
  return name;
}

// Lines are neither stretched nor hyphenated: flags are to be copied.
std::string header(std::string_view name) {
  return format(".TH {} 1 \"\" \"nadi {}\" \"Nadi\"\n.nh\n.ad l\n", upper_case(escaped(name)), version());
}

std::string section(std::string_view title) {
  return format(".SH \"{}\"\n", upper_case(escaped(title)));
}

// A word, and below it what it means.
std::string item(std::string_view roff, std::string_view text) {
  return format(".TP\n{}\n{}\n", roff, escaped(text));
}

std::string flag_item(const FlagSpec& spec) {
  std::vector<std::string_view> names = spec.names;
  std::ranges::stable_sort(names, {}, &std::string_view::size);
  std::string left;
  for (const std::string_view name : names) left += (left.empty() ? "" : ", ") + bold(name);
  if (!spec.value.empty()) left += " " + italic(spec.value);
  if (spec.help.empty()) return format(".TP\n{}\n", left);
  std::string text = format("{} {}", spec.help, fallback_text(spec.fallback));
  if (!spec.choices.empty()) text += format("; one of {}", join(spec.choices, ", "));
  return item(left, text);
}

// Flags without an explanation stand one after the other.
std::string flags_section(const FlagGroup& group) {
  std::string text = section(group.name);
  std::string names;
  for (const FlagSpec* spec : group.flags) {
    if (!spec->help.empty()) {
      text += flag_item(*spec);
      continue;
    }
    names += format("{}{}{}", names.empty() ? "" : ",\n", bold(spec->names[0]),
                    spec->value.empty() ? std::string() : " " + italic(spec->value));
  }
  if (!names.empty()) text += ".PP\n" + names + "\n";
  return text;
}

std::string examples_section(std::span<const std::string_view> examples) {
  std::string text = section("examples") + ".nf\n";
  for (const std::string_view example : examples) text += escaped(example) + "\n";
  return text + ".fi\n";
}

std::string exit_section() {
  std::string text = section("exit status");
  for (const ExitCodeEntry& entry : exit_codes()) text += item(bold(entry.code), entry.meaning);
  return text;
}

std::string see_also(const std::vector<std::string>& pages) {
  std::string text = section("see also");
  for (std::size_t i = 0; i < pages.size(); ++i)
    text += format(".BR {} (1){}\n", escaped(pages[i]), i + 1 < pages.size() ? "," : "");
  return text;
}

}  // namespace

std::string man_page_file(const CommandEntry& entry) {
  return page_name(entry) + ".1";
}

std::string program_man_page(const CommandTable& commands) {
  std::string text =
      header("nadi") + section("name") + format("nadi \\- {}\n", escaped(program_summary())) +
      section("synopsis") + format("{} {} [flags]\n", bold("nadi"), italic("COMMAND")) +
      section("description") +
      escaped(
          "Results go to standard output, messages to standard error. "
          "'nadi COMMAND --help' has the flags of a command that people use, their defaults and two "
          "examples; 'nadi COMMAND --help-all' and its manual page have all flags.") +
      "\n" + section("commands");
  for (const CommandEntry& entry : commands) text += item(bold(entry.name), entry.summary);
  text += item(bold("help"), "show the help of the program or of a command");
  text += section("flags") + item(bold("-V") + ", " + bold("--version"), "print the version") +
          item(bold("-h") + ", " + bold("--help"), "show the help") +
          item(bold("--help-all"), "show every command, and variables of the environment");
  text += section("environment");
  for (const VariableEntry& variable : environment_variables())
    text += item(bold(variable.name), variable.help);
  text += exit_section();
  std::vector<std::string_view> examples;
  std::vector<std::string> pages;
  for (const CommandEntry& entry : commands) {
    examples.push_back(entry.examples[0]);
    pages.push_back(page_name(entry));
  }
  return text + examples_section(examples) + see_also(pages);
}

std::string command_man_page(const CommandTable& commands, const CommandEntry& entry) {
  Flags flags;
  entry.add_flags(flags);
  const std::string name = page_name(entry);
  std::string text = header(name) + section("name") +
                     format("{} \\- {}\n", escaped(name), escaped(entry.summary)) + section("synopsis") +
                     escaped(command_usage(entry, flags)) + "\n";
  const std::optional<PositionalSpec>& positional = flags.positional_spec();
  if (const auto& argument = positional ? positional : flags.rest_spec())
    text += section("arguments") +
            item(italic(argument->name), format("{} {}", argument->help, fallback_text(argument->fallback)));
  for (const HelpPage page : {HelpPage::kMain, HelpPage::kMegatron})
    for (const FlagGroup& group : flag_groups(flags, page)) text += flags_section(group);
  std::vector<std::string> pages{"nadi"};
  for (const CommandEntry* other : commands.group(entry.name)) pages.push_back(page_name(*other));
  return text + exit_section() + examples_section(entry.examples) + see_also(pages);
}

}  // namespace nadi::inline show
