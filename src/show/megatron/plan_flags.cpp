#include "nadi/megatron/plan_flags.h"

#include <algorithm>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline show {
namespace {

struct WrittenFlag {
  std::string name;
  std::vector<std::string> values = {};
};

bool is_flag_word(std::string_view word) {
  return word.starts_with("--") && word.size() > 2;
}

// The flag at `at`, with the words behind it up to the next flag.
WrittenFlag flag_at(const std::vector<std::string>& words, std::size_t at) {
  const std::size_t equals = words[at].find('=');
  if (equals != std::string::npos) return {words[at].substr(0, equals), {words[at].substr(equals + 1)}};
  WrittenFlag flag{words[at]};
  for (std::size_t i = at + 1; i < words.size() && !is_flag_word(words[i]); ++i)
    flag.values.push_back(words[i]);
  return flag;
}

std::string flag_text(std::string_view name, const std::vector<std::string>& values) {
  return values.empty() ? std::string(name) : format("{} {}", name, fmt::join(values, " "));
}

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  if (!read_number(text, number)) return std::nullopt;
  return number;
}

bool says_the_same(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto first = number_in(a), second = number_in(b);
  return first && second && *first == *second;
}

bool agrees(const WrittenFlag& written, const MegatronPlanFlag& planned) {
  switch (planned.use) {
    case MegatronPlanFlag::Use::kAbsent:
      return false;
    case MegatronPlanFlag::Use::kGiven:
      return std::ranges::equal(written.values, planned.values, says_the_same);
    case MegatronPlanFlag::Use::kDefault:
      return written.values.size() == 1 && std::ranges::any_of(planned.values, [&](const std::string& value) {
               return says_the_same(written.values.front(), value);
             });
  }
  unreachable();
}

std::string planned_text(const MegatronPlanFlag& planned) {
  switch (planned.use) {
    case MegatronPlanFlag::Use::kAbsent:
      return planned.instead.empty() ? "goes without it" : "has " + planned.instead;
    case MegatronPlanFlag::Use::kGiven:
      return "has " + flag_text(planned.name, planned.values);
    case MegatronPlanFlag::Use::kDefault:
      return format("has {} {}", planned.name, fmt::join(planned.values, " or "));
  }
  unreachable();
}

}  // namespace

std::vector<std::string> with_plan_flags(std::vector<std::string> words,
                                         const std::vector<MegatronPlanFlag>& flags, std::string_view plan) {
  std::vector<std::string> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_flag_word(words[i])) continue;
    const WrittenFlag written = flag_at(words, i);
    const auto planned = std::ranges::find(flags, written.name, &MegatronPlanFlag::name);
    if (planned == flags.end()) continue;
    if (!agrees(written, *planned))
      throw usage_error(format("{} of the job contradicts {}, which {}",
                               flag_text(written.name, written.values), plan, planned_text(*planned)),
                        "leave the flag out: the plan adds its own");
    given.push_back(written.name);
  }
  for (const MegatronPlanFlag& flag : flags) {
    if (flag.use != MegatronPlanFlag::Use::kGiven || std::ranges::find(given, flag.name) != given.end())
      continue;
    words.push_back(flag.name);
    words.insert(words.end(), flag.values.begin(), flag.values.end());
  }
  return words;
}

}  // namespace nadi::inline show
