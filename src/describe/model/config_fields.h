// The fields of ModelConfig by name: what keys of configurations set (architecture.h) and what two
// configurations are compared by.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "nadi/model/model_config.h"

namespace nadi::inline describe {

struct ConfigField {
  using Member = std::variant<std::int64_t ModelConfig::*, double ModelConfig::*, bool ModelConfig::*,
                              Activation ModelConfig::*, std::vector<std::int64_t> ModelConfig::*>;
  std::string_view name;
  Member member;
};

// In the order of ModelConfig.
std::span<const ConfigField> config_fields();
const ConfigField* find_config_field(std::string_view name);  // nullptr when there is none

// What keys set besides: the base of rotary frequencies, and how they are stretched.
inline constexpr std::string_view kRotaryTheta = "rotary.theta", kRotaryScaling = "rotary";

// The first field in which two configurations of one architecture differ; nullptr where none does. Fields that
// the architecture has no use for are left out.
const ConfigField* first_difference(const ModelConfig& one, const ModelConfig& other);

}  // namespace nadi::inline describe
