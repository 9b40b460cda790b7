#include "nadi/command_line/completion.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

// Values that are paths, by the names that help gives them; "..." behind a name means several of them.
constexpr std::array<std::string_view, 11> kFiles{
    "CLUSTER", "FILE", "FILE.html", "PATH", "PREFIX", "LOAD", "OUT", "MODEL", "TRACE", "PROGRAM", "STUDY"};
constexpr std::array<std::string_view, 2> kFolders{"FOLDER", "JOB"};

constexpr std::size_t kLongestAbout = 70;

// The first part of an explanation, that fits beside a word.
std::string shortened(std::string_view text) {
  std::string line(text.substr(0, text.find(';')));
  std::ranges::replace(line, '\t', ' ');
  std::ranges::replace(line, '\n', ' ');
  if (line.size() > kLongestAbout) line = line.substr(0, line.rfind(' ', kLongestAbout)) + " ...";
  return line;
}

// The names in "MODEL|TRACE" and "FILE...".
std::vector<std::string> names_in(std::string_view value) {
  if (value.ends_with("...")) value.remove_suffix(3);
  std::string text(value);
  std::ranges::replace(text, '|', ' ');
  return words_of(text);
}

// "commands: tokenizer, preprocess, index, inspect"
std::string group_about(const CommandTable& commands, std::string_view group) {
  std::string text;
  for (const CommandEntry* entry : commands.group(group))
    text += format("{} {}", text.empty() ? "commands:" : ",", entry->name.substr(group.size() + 1));
  return text;
}

// The words that go on behind `before` in the names of commands.
void add_command_words(const CommandTable& commands, std::span<const std::string> before,
                       const std::string& current, Completion& result) {
  for (const CommandEntry& entry : commands) {
    const std::vector<std::string> name = words_of(entry.name);
    if (name.size() <= before.size() || !std::ranges::equal(before, std::span(name).first(before.size())))
      continue;
    const std::string& word = name[before.size()];
    const bool known =
        std::ranges::find(result.candidates, word, &Candidate::text) != result.candidates.end();
    if (known || !word.starts_with(current)) continue;
    const bool is_group = name.size() > before.size() + 1;
    result.candidates.push_back({word, is_group ? group_about(commands, word) : shortened(entry.summary)});
  }
}

// One command's words are completed.
class Line {
 public:
  Line(const CommandTable& commands, std::span<const ValueSource> values, const CommandEntry& entry,
       std::span<const std::string> before, const std::string& current)
      : commands_(commands), values_(values), before_(before), current_(current) {
    entry.add_flags(flags_);
  }

  Completion complete() {
    const std::size_t own = flags_.own_words(before_);
    if (own < before_.size()) return inner(before_.subspan(own));
    const bool only_words = std::ranges::find(before_, "--") != before_.end();
    if (!only_words) {
      if (const FlagSpec* flag = open_flag()) {
        add_values(*flag, "");
        return std::move(result_);
      }
      const std::size_t equals = current_.find('=');
      if (current_.starts_with("--") && equals != std::string::npos) {
        if (const FlagSpec* flag = flags_.find(current_.substr(0, equals)))
          add_values(*flag, current_.substr(0, equals + 1));
        return std::move(result_);
      }
    }
    if (flags_.rest_spec() && !current_.starts_with('-')) return inner({});
    if (current_.starts_with('-') && !only_words) {
      add_flags();
    } else if (flags_.positional_spec() && (flags_.positional_spec()->many || !has_positional())) {
      add_positionals(*flags_.positional_spec());
    } else if (current_.empty() && !only_words) {
      add_flags();
    }
    return std::move(result_);
  }

 private:
  // The command line that this command runs.
  Completion inner(std::span<const std::string> words) const {
    std::vector<std::string> rest(words.begin(), words.end());
    rest.push_back(current_);
    return nadi::complete(commands_, rest, values_);
  }

  // The flag whose value the current word is: the one before it, or one that takes many words.
  const FlagSpec* open_flag() const {
    if (before_.empty()) return nullptr;
    if (const FlagSpec* flag = flags_.find(before_.back())) return flag->value.empty() ? nullptr : flag;
    if (current_.starts_with('-')) return nullptr;
    for (std::size_t i = before_.size(); i-- > 0;) {
      if (const FlagSpec* flag = flags_.find(before_[i])) return flag->many ? flag : nullptr;
      if (before_[i].starts_with('-')) return nullptr;
    }
    return nullptr;
  }

  bool has_positional() const {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i].starts_with('-')) continue;
      const FlagSpec* const flag = i > 0 ? flags_.find(before_[i - 1]) : nullptr;
      if (flag == nullptr || flag->value.empty()) return true;
    }
    return false;
  }

  void add(std::string text, std::string_view about) {
    if (text.starts_with(current_)) result_.candidates.push_back({std::move(text), shortened(about)});
  }

  // What the sources know of a value of this name.
  void add_known(std::string_view value, const std::string& prefix) {
    for (const std::string& name : names_in(value)) {
      for (const ValueSource& source : values_) {
        if (source.name != name) continue;
        try {
          for (const Candidate& candidate : source.candidates())
            add(prefix + candidate.text, candidate.about);
        } catch (const Error&) {
          continue;  // a shell that completes has no place for messages
        }
      }
    }
  }

  void add_values(const FlagSpec& flag, const std::string& prefix) {
    for (const std::string_view choice : flag.choices) add(prefix + std::string(choice), "");
    add_known(flag.value, prefix);
    if (flag.choices.empty()) result_.paths = paths_of_value(flag.value);
  }

  void add_positionals(const PositionalSpec& positional) {
    for (const std::string_view choice : positional.choices) add(std::string(choice), "");
    add_known(positional.name, "");
    if (positional.name == "COMMAND") add_command_words(commands_, before_, current_, result_);
    if (positional.choices.empty()) result_.paths = paths_of_value(positional.name);
  }

  void add_flags() {
    const bool begun = current_.size() > 2;
    for (const HelpPage page : {HelpPage::kMain, HelpPage::kMegatron})
      for (const FlagSpec& spec : flags_.specs())
        if (spec.page == page && (page == HelpPage::kMain || begun))
          for (const std::string_view name : spec.names) add(std::string(name), spec.help);
    for (const std::string_view word : flags_.help_words()) add(std::string(word), "show the command's help");
  }

  const CommandTable& commands_;
  std::span<const ValueSource> values_;
  std::span<const std::string> before_;
  const std::string& current_;
  Flags flags_;
  Completion result_;
};

}  // namespace

PathKind paths_of_value(std::string_view value) {
  PathKind kind = PathKind::kNone;
  for (const std::string& name : names_in(value)) {
    if (std::ranges::find(kFiles, name) != kFiles.end()) kind = PathKind::kFiles;
    if (kind == PathKind::kNone && std::ranges::find(kFolders, name) != kFolders.end())
      kind = PathKind::kFolders;
  }
  return kind;
}

Completion complete(const CommandTable& commands, std::span<const std::string> words,
                    std::span<const ValueSource> values) {
  Completion result;
  if (words.empty()) return result;
  const std::string& current = words.back();
  const std::span<const std::string> before = words.first(words.size() - 1);
  if (!before.empty() && before[0] == "help") {
    add_command_words(commands, before.subspan(1), current, result);
    return result;
  }
  if (const CommandEntry* entry = commands.find(before)) {
    const std::size_t length = word_count(*entry);
    if (before.size() == length && !current.starts_with('-'))
      add_command_words(commands, before, current, result);
    Completion of_command = Line(commands, values, *entry, before.subspan(length), current).complete();
    result.candidates.insert(result.candidates.end(), of_command.candidates.begin(),
                             of_command.candidates.end());
    result.paths = of_command.paths;
    return result;
  }
  if (!before.empty() && commands.group(before[0]).empty()) return result;
  add_command_words(commands, before, current, result);
  const auto add = [&](std::string_view text, std::string_view about) {
    if (text.starts_with(current)) result.candidates.push_back({std::string(text), std::string(about)});
  };
  if (before.empty()) add("help", "show the help of a command");
  if (current.starts_with('-')) {
    add("--help", "show the help");
    add("--help-all", "show every command, and variables of the environment");
    add("--version", "print the version");
  }
  return result;
}

}  // namespace nadi::inline show
