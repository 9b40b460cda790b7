#include "nadi/megatron/megatron_flags.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/megatron/flag_tables.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kNoEffectGroup =
    "Megatron's flags that are accepted and have no effect (docs/megatron.md says why)";
constexpr std::string_view kRefusedGroup = "Megatron's flags that are refused (docs/megatron.md says why)";

void append_group(const MegatronFlagGroup& group, MegatronEffect effect, std::vector<MegatronFlag>& flags) {
  for (const std::string_view text : group.flags) {
    const std::size_t space = text.find(' ');
    const std::string_view value =
        space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
    flags.push_back({.spec = {.names = {text.substr(0, space)},
                              .value = value,
                              .help = "",
                              .group = effect == MegatronEffect::kNone ? kNoEffectGroup : kRefusedGroup,
                              .many = value.ends_with("...")},
                     .effect = effect,
                     .reason = group.reason});
  }
}

std::vector<MegatronFlag> all_flags() {
  std::vector<MegatronFlag> flags = acting_megatron_flags();
  for (const MegatronFlagGroup& group : megatron_flags_without_effect())
    append_group(group, MegatronEffect::kNone, flags);
  for (const MegatronFlagGroup& group : refused_megatron_flags())
    append_group(group, MegatronEffect::kRefused, flags);
  return flags;
}

}  // namespace

const std::vector<MegatronFlag>& megatron_flags() {
  static const std::vector<MegatronFlag> flags = all_flags();
  return flags;
}

void add_megatron_flags(Flags& flags) {
  for (const MegatronFlag& flag : megatron_flags()) {
    FlagSpec spec = flag.spec;
    spec.page = HelpPage::kMegatron;
    flags.add(std::move(spec));
  }
}

bool uses_megatron_flags(const Flags& flags) {
  return std::ranges::any_of(megatron_flags(),
                             [&](const MegatronFlag& flag) { return flags.given(flag.spec.names[0]); });
}

std::string_view given_name(const Flags& flags, std::string_view own) {
  std::string_view found = own;
  for (const MegatronFlag& flag : megatron_flags()) {
    const std::string_view name = flag.spec.names[0];
    if (flag.same_as != own || !flags.given(name)) continue;
    if (flags.given(own))
      throw usage_error(format("{} and {} are two names of the same thing", own, name), "give one of them");
    found = name;
  }
  return found;
}

std::vector<std::string_view> given_without_effect(const Flags& flags) {
  std::vector<std::string_view> given;
  for (const MegatronFlag& flag : megatron_flags())
    if (flag.effect == MegatronEffect::kNone && flags.given(flag.spec.names[0]))
      given.push_back(flag.spec.names[0]);
  return given;
}

void refuse_megatron_flags(const Flags& flags) {
  for (const MegatronFlag& flag : megatron_flags())
    if (flag.effect == MegatronEffect::kRefused && flags.given(flag.spec.names[0]))
      throw usage_error(format("{} is not supported: {}", flag.spec.names[0], flag.reason));
}

}  // namespace nadi::inline show
