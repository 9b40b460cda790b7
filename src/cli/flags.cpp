#include "nadi/cli/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/base/parse_bytes.h"
#include "nadi/cli/wrap.h"

namespace nadi {
namespace {

// "--batch_size=a_b" -> "--batch-size=a_b"
std::string with_dashes(const std::string& argument) {
  if (!argument.starts_with("--")) return argument;
  std::string flag = argument;
  std::replace(flag.begin(),
               flag.begin() + static_cast<std::ptrdiff_t>(std::min(flag.find('='), flag.size())), '_', '-');
  return flag;
}

}  // namespace

void Flags::add(FlagSpec spec) {
  specs_.push_back(std::move(spec));
  values_.emplace_back();
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
    const bool takes_next = std::ranges::any_of(specs_, [&](const FlagSpec& spec) {
      return !spec.value.empty() && std::ranges::find(spec.names, word) != spec.names.end();
    });
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
  std::vector<CLI::Option*> options;
  for (const FlagSpec& spec : specs_) {
    const std::string names = join(spec.names, ",");
    options.push_back(spec.value.empty() ? app.add_flag(names) : app.add_option(names));
    options.back()->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (spec.many) options.back()->expected(1, -1)->allow_extra_args();
  }
  CLI::Option* word = positional_spec_ ? app.add_option("word") : nullptr;
  if (word != nullptr && positional_spec_->many) word->expected(1, -1)->allow_extra_args();

  // CLI11 takes the arguments from the back.
  std::vector<std::string> reversed;
  bool only_words = false;
  for (const std::string& argument : arguments) {
    only_words = only_words || argument == "--";
    reversed.push_back(only_words ? argument : with_dashes(argument));
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
  for (std::size_t i = 0; i < specs_.size(); ++i) values_[i] = options[i]->results();
  if (word != nullptr) positionals_ = word->results();
  check_values();
}

void Flags::check_words(const std::vector<std::string>& extra) const {
  for (const std::string& word : extra) {
    if (!word.starts_with('-') || word == "--") continue;
    const std::string flag = word.substr(0, word.find('='));
    std::vector<std::string_view> known{"--help"};
    for (const FlagSpec& spec : specs_) known.insert(known.end(), spec.names.begin(), spec.names.end());
    const auto guess = nearest(flag, known);
    throw usage_error(format("unknown flag '{}'", flag), guess ? format("did you mean '{}'?", *guess) : "");
  }
  for (const std::string& word : extra)
    if (word != "--") throw usage_error(format("unexpected argument '{}'", word));
}

void Flags::check_values() const {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const FlagSpec& spec = specs_[i];
    const auto differs = [&](const std::string& value) { return value != values_[i][0]; };
    const bool repeated = repeats_ && std::ranges::none_of(values_[i], differs);
    if (values_[i].size() > 1 && !spec.repeatable && !spec.many && !repeated)
      throw usage_error(format("{} is given twice", spec.names[0]));
    for (const std::string& value : values_[i]) check_value(spec, value);
  }
}

void Flags::check_value(const FlagSpec& spec, const std::string& value) const {
  const std::string_view name = spec.names[0];
  if (spec.value.empty()) {
    if (value != "true") throw usage_error(format("{} takes no value, but '{}' was given", name, value));
    return;
  }
  if (value.empty() || is_flag(value))
    throw usage_error(value.empty() ? format("{} needs a value", name)
                                    : format("{} needs a value, and '{}' is a flag", name, value));
  if (!spec.choices.empty() && std::ranges::find(spec.choices, value) == spec.choices.end())
    throw usage_error(format("{} does not take '{}'", name, value), did_you_mean(value, spec.choices));
}

bool Flags::is_flag(std::string_view word) const {
  return std::ranges::any_of(
      specs_, [&](const FlagSpec& spec) { return std::ranges::find(spec.names, word) != spec.names.end(); });
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
  return values[0];
}

const std::vector<std::string>& Flags::texts(std::string_view name) const {
  return values_[index_of(name)];
}

std::optional<std::int64_t> Flags::integer(std::string_view name, std::int64_t least) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  std::int64_t parsed = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), parsed);
  if (error != std::errc{} || end != value->data() + value->size() || parsed < least)
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

}  // namespace nadi
