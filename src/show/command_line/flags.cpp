#include "nadi/command_line/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/base/parse_bytes.h"
#include "nadi/base/read_number.h"
#include "nadi/command_line/flag_aliases.h"
#include "nadi/command_line/value_hints.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

// "--batch_size=a_b" -> "--batch-size=a_b"
std::string with_dashes(const std::string& argument) {
  if (!argument.starts_with("--")) return argument;
  std::string flag = argument;
  std::replace(flag.begin(),
               flag.begin() + static_cast<std::ptrdiff_t>(std::min(flag.find('='), flag.size())), '_', '-');
  return flag;
}

// A value in brackets, "[NAME]", may be left out: the flag then has the value "".
bool is_optional(const FlagSpec& spec) {
  return spec.value.starts_with('[');
}

}  // namespace

void Flags::add(FlagSpec spec) {
  spec.names = with_aliases(std::move(spec.names));
  specs_.push_back(std::move(spec));
  values_.emplace_back();
}

FlagSpec value_flag(FlagNames names, std::string_view value, std::string help, std::string fallback,
                    FlagTraits traits) {
  return {.names = std::move(names.list),
          .value = value,
          .help = std::move(help),
          .fallback = std::move(fallback),
          .choices = std::move(traits.choices),
          .repeatable = traits.repeatable,
          .many = traits.many,
          .may_be_empty = traits.may_be_empty};
}

FlagSpec switch_flag(FlagNames names, std::string help, std::string fallback) {
  return {.names = std::move(names.list), .help = std::move(help), .fallback = std::move(fallback)};
}

void Flags::value(FlagNames names, std::string_view value, std::string help, std::string fallback,
                  FlagTraits traits) {
  add(value_flag(std::move(names), value, std::move(help), std::move(fallback), std::move(traits)));
}

void Flags::toggle(FlagNames names, std::string help, std::string fallback) {
  add(switch_flag(std::move(names), std::move(help), std::move(fallback)));
}

void FlagHeading::add(FlagSpec spec) {
  spec.group = heading_;
  flags_.add(std::move(spec));
}

void FlagHeading::value(FlagNames names, std::string_view value, std::string help, std::string fallback,
                        FlagTraits traits) {
  add(value_flag(std::move(names), value, std::move(help), std::move(fallback), std::move(traits)));
}

void FlagHeading::toggle(FlagNames names, std::string help, std::string fallback) {
  add(switch_flag(std::move(names), std::move(help), std::move(fallback)));
}

void Flags::set_positional(PositionalSpec spec) {
  positional_spec_ = std::move(spec);
}

void Flags::set_rest(PositionalSpec spec) {
  rest_spec_ = std::move(spec);
}

std::size_t Flags::own_words(std::span<const std::string> arguments) const {
  if (!rest_spec_) return arguments.size();
  std::size_t at = 0;
  while (at < arguments.size()) {
    const std::string word = with_dashes(arguments[at]);
    if (word == "--") return at + 1;
    if (!word.starts_with('-')) return at;
    const FlagSpec* const spec = find(word);
    bool takes_next = spec != nullptr && !spec->value.empty();
    if (takes_next && is_optional(*spec))
      takes_next = at + 1 < arguments.size() && !arguments[at + 1].starts_with('-');
    at += takes_next ? 2 : 1;
  }
  return arguments.size();
}

void Flags::parse(std::span<const std::string> arguments) {
  arguments_.assign(arguments.begin(), arguments.end());
  const std::size_t own = own_words(arguments);
  rest_.assign(arguments.begin() + static_cast<std::ptrdiff_t>(own), arguments.end());
  arguments = arguments.first(own);

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  // By flag, each time it was given: its words.
  std::vector<std::vector<std::vector<std::string>>> occurrences(specs_.size());
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const FlagSpec& spec = specs_[i];
    const CLI::callback_t keep = [&occurrences, i](const std::vector<std::string>& words) {
      occurrences[i].push_back(words);
      return true;
    };
    CLI::Option* const option = app.add_option(join(spec.names, ","), keep);
    if (spec.value.empty()) option->expected(0)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    if (!spec.value.empty()) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (spec.many) option->expected(1, -1)->allow_extra_args();
    if (is_optional(spec)) option->expected(0, 1);
    option->trigger_on_parse();
  }
  CLI::Option* word = positional_spec_ ? app.add_option("word") : nullptr;
  if (word != nullptr && positional_spec_->many) word->expected(1, -1)->allow_extra_args();

  // CLI11 takes the arguments from the back.
  std::vector<std::string> reversed;
  bool only_words = false;
  for (const std::string& argument : arguments) {
    only_words = only_words || argument == "--";
    const std::string word_of_flag = only_words ? argument : with_dashes(argument);
    // "--flag=" has the empty value; CLI11 would take the next word.
    const bool is_empty = !only_words && word_of_flag.starts_with("--") && word_of_flag.ends_with('=');
    const FlagSpec* const spec = is_empty ? find(word_of_flag.substr(0, word_of_flag.size() - 1)) : nullptr;
    if (spec != nullptr && !spec->value.empty()) {
      reversed.push_back(word_of_flag.substr(0, word_of_flag.size() - 1));
      reversed.emplace_back();
    } else {
      reversed.push_back(word_of_flag);
    }
  }
  std::ranges::reverse(reversed);
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ArgumentMismatch&) {
    // A value is missing, and only the last argument can be the flag without one.
    throw usage_error(format("{} needs a value", with_dashes(arguments.back())));
  } catch (const CLI::ParseError& error) {
    throw usage_error(error.what());
  }
  check_words(app.remaining());
  for (std::size_t i = 0; i < specs_.size(); ++i) take(i, occurrences[i]);
  if (word != nullptr) positionals_ = word->results();
}

void Flags::fill(std::string_view name, std::string value) {
  const std::size_t flag = index_of(name);
  check(values_[flag].empty(), "a flag that was given is filled in");
  check_value(specs_[flag], value);
  values_[flag].push_back(std::move(value));
}

void Flags::fill_positional(std::string word) {
  check(positional_spec_ && positionals_.empty(), "a word that was given is filled in");
  positionals_.push_back(std::move(word));
}

void Flags::check_words(const std::vector<std::string>& extra) const {
  for (const std::string& word : extra) {
    if (!word.starts_with('-') || word == "--") continue;
    const std::string flag = word.substr(0, word.find('='));
    std::vector<std::string_view> known = help_words();
    for (const FlagSpec& spec : specs_) known.insert(known.end(), spec.names.begin(), spec.names.end());
    const auto guess = nearest(flag, known);
    throw usage_error(format("unknown flag '{}'", flag), guess ? format("did you mean '{}'?", *guess) : "");
  }
  for (const std::string& word : extra)
    if (word != "--") throw usage_error(format("unexpected argument '{}'", word));
}

void Flags::take(std::size_t flag, const std::vector<std::vector<std::string>>& occurrences) {
  const FlagSpec& spec = specs_[flag];
  for (const std::vector<std::string>& words : occurrences)
    for (const std::string& word : words) check_value(spec, word);
  if (occurrences.empty()) return;
  if (spec.repeatable) {
    for (const std::vector<std::string>& words : occurrences)
      values_[flag].insert(values_[flag].end(), words.begin(), words.end());
    return;
  }
  values_[flag] = occurrences.back();
  const auto differs = [&](const std::vector<std::string>& words) { return words != occurrences.back(); };
  if (std::ranges::any_of(occurrences, differs)) {
    std::string value;
    for (const std::string& word : occurrences.back()) value += (value.empty() ? "" : " ") + word;
    overrides_.push_back({.name = spec.names[0], .times = occurrences.size(), .value = std::move(value)});
  }
}

void Flags::check_value(const FlagSpec& spec, const std::string& value) const {
  const std::string_view name = spec.names[0];
  if (spec.value.empty()) {
    if (value != "true") throw usage_error(format("{} takes no value, but '{}' was given", name, value));
    return;
  }
  if (value.empty() && (is_optional(spec) || spec.may_be_empty)) return;
  if (value.empty() || is_flag(value))
    throw usage_error(value.empty() ? format("{} needs a value", name)
                                    : format("{} needs a value, and '{}' is a flag", name, value));
  if (!spec.choices.empty() && std::ranges::find(spec.choices, value) == spec.choices.end()) {
    const std::string_view known = value_hint(name, value);
    throw usage_error(format("{} does not take '{}'", name, value),
                      known.empty() ? did_you_mean(value, spec.choices)
                                    : format("{} known: {}", known, join(spec.choices, ", ")));
  }
}

const FlagSpec* Flags::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      specs_, [&](const FlagSpec& spec) { return std::ranges::find(spec.names, name) != spec.names.end(); });
  return found == specs_.end() ? nullptr : &*found;
}

bool Flags::has_page(HelpPage page) const {
  return std::ranges::find(specs_, page, &FlagSpec::page) != specs_.end();
}

std::vector<std::string_view> Flags::help_words() const {
  std::vector<std::string_view> words{"--help", "--help-all"};
  if (has_page(HelpPage::kMegatron)) words.push_back("--help-megatron");
  return words;
}

bool Flags::is_flag(std::string_view word) const {
  return find(word) != nullptr;
}

std::size_t Flags::index_of(std::string_view name) const {
  const auto spec =
      std::ranges::find_if(specs_, [&](const FlagSpec& entry) { return entry.names[0] == name; });
  check(spec != specs_.end(), "a command reads a flag that it did not add");
  return static_cast<std::size_t>(spec - specs_.begin());
}

const std::string& Flags::positional() const {
  return positionals().front();
}

const std::vector<std::string>& Flags::positionals() const {
  check(positional_spec_.has_value(), "a command asks for an argument that it does not take");
  if (positionals_.empty()) throw usage_error(format("{} is missing", positional_spec_->name));
  return positionals_;
}

const std::vector<std::string>& Flags::rest() const {
  check(rest_spec_.has_value(), "a command asks for a rest that it does not take");
  if (rest_.empty()) throw usage_error(format("{} is missing", rest_spec_->name));
  return rest_;
}

bool Flags::given(std::string_view name) const {
  return !values_[index_of(name)].empty();
}

std::optional<std::string> Flags::text(std::string_view name) const {
  const std::vector<std::string>& values = values_[index_of(name)];
  if (values.empty()) return std::nullopt;
  return values.back();
}

const std::vector<std::string>& Flags::texts(std::string_view name) const {
  return values_[index_of(name)];
}

std::optional<std::int64_t> Flags::integer(std::string_view name, std::int64_t least) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  std::int64_t parsed = 0;
  if (!read_number(*value, parsed) || parsed < least)
    throw usage_error(format("{} takes a whole number of at least {}, not '{}'", name, least, *value));
  return parsed;
}

std::optional<double> Flags::number(std::string_view name, double limit) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  double parsed = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), parsed);
  const bool fits = std::isfinite(parsed) && parsed >= 0 && parsed < limit;
  if (error != std::errc{} || end != value->data() + value->size() || !fits)
    throw usage_error(format("{} takes a number of at least 0{}, not '{}'", name,
                             std::isfinite(limit) ? format(" and below {}", limit) : "", *value));
  return parsed;
}

std::optional<Bytes> Flags::bytes(std::string_view name) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  const std::optional<Bytes> parsed = parse_bytes(*value);
  if (!parsed || *parsed < 1_B)
    throw usage_error(format("{} takes a size of at least 1 byte, not '{}'", name, *value),
                      "1MB is 1,000,000 bytes, 1MiB is 1,048,576, and 4096 is just that");
  return parsed;
}

std::optional<std::size_t> Flags::choice(std::string_view name) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  const std::vector<std::string_view>& choices = specs_[index_of(name)].choices;
  return static_cast<std::size_t>(std::ranges::find(choices, *value) - choices.begin());
}

}  // namespace nadi::inline show
