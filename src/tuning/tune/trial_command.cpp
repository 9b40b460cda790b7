#include "nadi/tune/trial_command.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"

namespace nadi::inline tuning {
namespace {

constexpr std::string_view kOpening = "{{";
constexpr std::string_view kClosing = "}}";
constexpr std::string_view kFlagsWord = "{{flags}}";
constexpr std::array<std::string_view, 3> kOwnNames{"trial", "repeat", "folder"};

struct Placeholder {
  std::string_view name;
  std::optional<std::string_view> otherwise;  // {{name|otherwise}}
};

// Calls `plain` and `value` for the parts of a text, in order.
void visit_parts(std::string_view text, const std::function<void(std::string_view)>& plain,
                 const std::function<void(const Placeholder&)>& value) {
  while (true) {
    const std::size_t open = text.find(kOpening);
    plain(text.substr(0, open));
    if (open == std::string_view::npos) return;
    const std::size_t close = text.find(kClosing, open);
    if (close == std::string_view::npos)
      throw usage_error(format("'{}' has '{{{{' without '}}}}'", text.substr(open, 40)));
    const std::string_view inner = text.substr(open + 2, close - open - 2);
    const std::size_t bar = inner.find('|');
    value({.name = inner.substr(0, bar),
           .otherwise = bar == std::string_view::npos ? std::nullopt : std::optional(inner.substr(bar + 1))});
    text.remove_prefix(close + 2);
  }
}

struct Filler {
  const TuneSetting& setting;
  const TrialPlace& place;

  std::string operator()(std::string_view text) const {
    std::string filled;
    visit_parts(
        text, [&](std::string_view part) { filled += part; },
        [&](const Placeholder& placeholder) { filled += value(placeholder); });
    return filled;
  }

 private:
  std::string value(const Placeholder& placeholder) const {
    if (placeholder.name == "trial") return format("{}", place.number);
    if (placeholder.name == "repeat") return format("{}", place.repeat);
    if (placeholder.name == "folder") return place.folder.string();
    const auto found = setting.find(placeholder.name);
    if (found != setting.end()) return to_text(found->second);
    check(placeholder.otherwise.has_value(), "a placeholder without a value was not refused");
    return std::string(*placeholder.otherwise);
  }
};

std::vector<std::string> flags_of(const TuneSpace& space, const TuneSetting& setting) {
  std::vector<std::string> words;
  for (const TuneParameter& parameter : space.parameters) {
    const auto found = setting.find(parameter.name);
    if (found == setting.end()) continue;
    if (const auto own = parameter.words.find(to_text(found->second)); own != parameter.words.end()) {
      words.insert(words.end(), own->second.begin(), own->second.end());
      continue;
    }
    if (parameter.flag.empty()) continue;
    const auto is_value = [&](const ParameterValue& omitted) { return same_value(omitted, found->second); };
    if (std::ranges::any_of(parameter.omitted, is_value)) continue;
    if (const auto* truth = std::get_if<bool>(&found->second)) {
      if (*truth)
        words.push_back(parameter.flag);
      else if (!parameter.flag_off.empty())
        words.push_back(parameter.flag_off);
      continue;
    }
    words.push_back(parameter.flag);
    words.push_back(to_text(found->second));
  }
  return words;
}

// All texts of a command that may have placeholders.
std::vector<std::string_view> texts_of(const CommandTemplate& command) {
  std::vector<std::string_view> texts;
  for (const std::string& word : command.words)
    if (word != kFlagsWord) texts.push_back(word);
  for (const auto& [name, value] : command.environment) texts.push_back(value);
  for (const CommandFile& file : command.templates) texts.push_back(file.text);
  return texts;
}

// A parameter may be without a value; so may what is derived from such a one.
bool may_be_absent(const TuneSpace& space, std::string_view name) {
  if (const TuneParameter* parameter = space.find(name)) return parameter->when.has_value();
  for (const NamedExpression& derived : space.derived)
    if (derived.name == name)
      return std::ranges::any_of(derived.expression.names(),
                                 [&](const std::string& other) { return may_be_absent(space, other); });
  return false;
}

}  // namespace

void check_command(const CommandTemplate& command, const TuneSpace& space) {
  if (command.words.empty()) throw usage_error("there is no command to tune");
  const std::vector<std::string> names = space.names();
  std::set<std::string, std::less<>> used;
  for (const std::string_view text : texts_of(command))
    visit_parts(
        text, [](std::string_view) {},
        [&](const Placeholder& placeholder) {
          if (std::ranges::find(kOwnNames, placeholder.name) != kOwnNames.end()) return;
          if (std::ranges::find(names, placeholder.name) == names.end())
            throw usage_error(format("the command has {{{{{}}}}}, and the space has no '{}'",
                                     placeholder.name, placeholder.name),
                              did_you_mean(placeholder.name, names));
          if (!placeholder.otherwise && may_be_absent(space, placeholder.name))
            throw usage_error(format("'{}' does not have a value in every trial", placeholder.name),
                              format("{{{{{}|0}}}} puts 0 where it has none", placeholder.name));
          used.emplace(placeholder.name);
        });
  // What a derived value is made of is passed with it.
  for (auto derived = space.derived.rbegin(); derived != space.derived.rend(); ++derived)
    if (used.contains(derived->name))
      for (const std::string& name : derived->expression.names()) used.insert(name);
  for (const TuneParameter& parameter : space.parameters)
    if (parameter.flag.empty() && parameter.environment.empty() && parameter.words.empty() &&
        !used.contains(parameter.name))
      throw usage_error(format("the command does not get the parameter '{}'", parameter.name),
                        format("write {{{{{}}}}} in the command, or name the parameter env.NAME or flag.NAME",
                               parameter.name));
}

bool program_varies(const CommandTemplate& command) {
  return command.words.at(0).find(kOpening) != std::string::npos;
}

bool needs_folder(const CommandTemplate& command) {
  const auto has_folder = [](std::string_view text) {
    return text.find("{{folder}}") != std::string_view::npos;
  };
  return !command.templates.empty() || std::ranges::any_of(texts_of(command), has_folder);
}

TrialCommand command_for(const CommandTemplate& command, const TuneSpace& space, const TuneSetting& setting,
                         const TrialPlace& place) {
  const Filler fill{setting, place};
  TrialCommand trial;
  const std::vector<std::string> flags = flags_of(space, setting);
  bool placed = false;
  for (const std::string& word : command.words) {
    if (word == kFlagsWord) {
      trial.words.insert(trial.words.end(), flags.begin(), flags.end());
      placed = true;
    } else {
      trial.words.push_back(fill(word));
    }
  }
  if (!placed) trial.words.insert(trial.words.end(), flags.begin(), flags.end());
  for (const auto& [name, value] : command.environment) trial.environment.emplace_back(name, fill(value));
  for (const TuneParameter& parameter : space.parameters) {
    const auto found = setting.find(parameter.name);
    if (parameter.environment.empty() || found == setting.end()) continue;
    const auto is_value = [&](const ParameterValue& omitted) { return same_value(omitted, found->second); };
    if (std::ranges::any_of(parameter.omitted, is_value)) continue;
    const auto* truth = std::get_if<bool>(&found->second);
    trial.environment.emplace_back(parameter.environment, truth == nullptr ? to_text(found->second)
                                                          : *truth         ? "1"
                                                                           : "0");
  }
  for (const CommandFile& file : command.templates)
    trial.files.push_back({.path = place.folder / file.path.filename(), .text = fill(file.text)});
  return trial;
}

std::string shell_word(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=,@%+").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string shell_text(const TrialCommand& command) {
  std::string text;
  for (const auto& [name, value] : command.environment) text += format("{}={} ", name, shell_word(value));
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    // A first word with '=' would be an assignment.
    const bool assignment = i == 0 && command.words[i].find('=') != std::string::npos;
    text += (i == 0 ? "" : " ") + (assignment ? "'" + command.words[i] + "'" : shell_word(command.words[i]));
  }
  return text;
}

}  // namespace nadi::inline tuning
