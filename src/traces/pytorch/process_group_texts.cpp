#include "nadi/pytorch/process_group_texts.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"

namespace nadi::inline traces {

namespace {

// Lists may come as a text that holds them.
constexpr int kLayers = 2;

Json parsed(std::string_view json, std::string_view what) {
  Json value = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  for (int layer = 1; layer < kLayers && value.is_string(); ++layer)
    value = Json::parse(value.get<std::string>(), nullptr, false);
  if (value.is_discarded()) throw input_error({}, format("{} is not JSON", what));
  return value;
}

Json unpacked(const Json& value, std::string_view what) {
  return value.is_string() ? parsed(value.get<std::string>(), what) : value;
}

std::optional<std::int64_t> integer(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  if (!found->is_number_integer()) throw input_error({}, format("{} is not a whole number", key));
  return found->get<std::int64_t>();
}

// Names are texts; a number is taken, too.
std::string name_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number_integer()) return found->dump();
  throw input_error({}, format("{} is not a text", key));
}

std::vector<KinetoGroup> groups_of(const Json& list) {
  if (!list.is_array()) throw input_error({}, "the process groups are not a list");
  std::vector<KinetoGroup> groups;
  for (const Json& entry : list) {
    if (!entry.is_object()) throw input_error({}, "a process group is not an object");
    KinetoGroup& group = groups.emplace_back();
    group.name = name_of(entry, "pg_name");
    group.description = name_of(entry, "pg_desc");
    const auto ranks = entry.find("ranks");
    if (ranks == entry.end() || ranks->is_null()) continue;
    const Json members = unpacked(*ranks, "ranks");
    if (!members.is_array()) throw input_error({}, "the ranks of a process group are not a list");
    for (const Json& rank : members) {
      if (!rank.is_number_integer()) throw input_error({}, "a rank is not a whole number");
      group.ranks.push_back(rank.get<std::int64_t>());
    }
  }
  return groups;
}

}  // namespace

DistributedInfo read_distributed_info(std::string_view json) {
  const Json info = parsed(json, "distributedInfo");
  if (!info.is_object()) throw input_error({}, "distributedInfo is not an object");
  DistributedInfo result{.rank = integer(info, "rank"), .world_size = integer(info, "world_size")};
  const auto groups = info.find("pg_config");
  if (groups != info.end() && !groups->is_null()) result.groups = groups_of(unpacked(*groups, "pg_config"));
  return result;
}

std::vector<KinetoGroup> read_group_values(std::string_view json) {
  if (json.empty()) return {};
  const Json values = parsed(json, "what process_group:init says");
  if (!values.is_array() || values.empty()) return {};
  return groups_of(unpacked(values.front(), "what process_group:init says"));
}

}  // namespace nadi::inline traces
