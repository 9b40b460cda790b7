#include "nadi/cli/step_metadata.h"

#include <string_view>

namespace nadi::inline show {
namespace {

std::string metadata_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> step_metadata(const Json& resolved) {
  std::vector<std::pair<std::string, std::string>> metadata{
      {"nadi_version", metadata_text(resolved.at("nadi_version"))}};
  for (const std::string_view part : {"model", "step", "plan"})
    for (const auto& [key, value] : resolved.at(std::string(part)).items())
      if (!value.is_null()) metadata.emplace_back(key == "name" ? "model" : key, metadata_text(value));
  return metadata;
}

}  // namespace nadi::inline show
