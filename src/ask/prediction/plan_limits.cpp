#include "nadi/prediction/plan_limits.h"

#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/parse_duration.h"
#include "nadi/base/read_number.h"

namespace nadi::inline ask {
namespace {

// A text that is read from its front.
class LimitWords {
 public:
  explicit LimitWords(std::string_view text) : rest_(text) {}

  void skip_spaces() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool take(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // Above 0 and finite.
  std::optional<double> number() {
    skip_spaces();
    double value = 0;
    std::string_view after = rest_;
    if (!take_number(after, value) || !std::isfinite(value) || value <= 0) return std::nullopt;
    rest_ = after;
    return value;
  }
  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }
  std::string_view rest() {
    skip_spaces();
    return rest_;
  }

 private:
  std::string_view rest_;
};

// "tokens", "1M tokens", "300B tokens".
std::optional<double> tokens_in(LimitWords& words) {
  double count = words.number().value_or(1);
  constexpr std::array<std::pair<std::string_view, double>, 4> kPrefixes{
      {{"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}}};
  for (const auto& [prefix, factor] : kPrefixes)
    if (words.take(prefix)) {
      count *= factor;
      break;
    }
  if (!words.take("tokens") && !words.take("token")) return std::nullopt;
  return count;
}

std::optional<double> seconds_in(LimitWords& words) {
  constexpr std::array<std::pair<std::string_view, double>, 9> kUnits{{{"weeks", 604'800.0},
                                                                       {"week", 604'800.0},
                                                                       {"days", 86'400.0},
                                                                       {"day", 86'400.0},
                                                                       {"d", 86'400.0},
                                                                       {"hours", 3'600.0},
                                                                       {"hour", 3'600.0},
                                                                       {"h", 3'600.0},
                                                                       {"min", 60.0}}};
  if (const auto time = parse_duration(words.rest())) return static_cast<double>(time->count()) * 1e-9;
  const auto count = words.number();
  if (!count) return std::nullopt;
  for (const auto& [unit, seconds] : kUnits)
    if (words.take(unit)) return words.at_end() ? std::optional(*count * seconds) : std::nullopt;
  return std::nullopt;
}

}  // namespace

double parse_budget(const std::string& text, std::int64_t tokens_per_step) {
  const auto refuse = [&] {
    return usage_error(format("the budget '{}' is no price", text),
                       "for example \"5 $/1M tokens\", or \"0.02 $/step\"");
  };
  LimitWords words(text);
  const bool sign_first = words.take("$");
  const auto dollars = words.number();
  if (!dollars || (!sign_first && !words.take("$")) || !words.take("/")) throw refuse();
  double tokens = static_cast<double>(tokens_per_step);
  if (!words.take("step")) {
    const auto given = tokens_in(words);
    if (!given) throw refuse();
    tokens = *given;
  }
  if (!words.at_end()) throw refuse();
  return *dollars / tokens * 1e6;
}

Nanoseconds parse_deadline(const std::string& text, std::int64_t tokens_per_step) {
  const auto refuse = [&] {
    return usage_error(format("the deadline '{}' is neither the time of a step nor tokens in a time", text),
                       "for example 1.5s, or \"300B tokens in 30 days\"");
  };
  if (const auto step = parse_duration(text)) {
    if (step->count() == 0) throw refuse();
    return *step;
  }
  LimitWords words(text);
  const auto tokens = tokens_in(words);
  if (!tokens || !words.take("in")) throw refuse();
  const auto seconds = seconds_in(words);
  if (!seconds) throw refuse();
  const double step = *seconds * 1e9 * (static_cast<double>(tokens_per_step) / *tokens);
  // Beyond that, nothing is a limit to a step.
  constexpr double kLongest = 9e18;
  if (step < 1)
    throw usage_error(format("the deadline '{}' leaves a step of {} tokens less than a nanosecond", text,
                             with_thousands(tokens_per_step)));
  return Nanoseconds{static_cast<std::int64_t>(std::min(step, kLongest))};
}

}  // namespace nadi::inline ask
