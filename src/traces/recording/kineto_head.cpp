#include "nadi/recording/kineto_head.h"

#include <algorithm>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/recording/kineto_names.h"
#include "nadi/unroll/process_groups.h"

namespace nadi::inline traces {
namespace {

std::string device_properties(const ExecutedDevice& device) {
  std::string list = format(R"({{"id": {}, "name": {})", device.number, kineto_text(device.name));
  for (const auto& [key, value] : device.properties) list += format(R"(, {}: {})", kineto_text(key), value);
  return list + "}";
}

std::string process_group(const KinetoHead& head, std::string_view name, std::string_view description,
                          std::span<const Rank> members) {
  const std::string_view kind = head.device.is_host() ? "cpu" : to_string(head.device.kind);
  return format(R"({{"pg_name": "{}", "pg_desc": "{}", "backend_config": {}, "pg_size": {}, "ranks": {}}})",
                name, description, kineto_text(format("{}:{}", kind, head.backend)), members.size(),
                listed_ranks(members));
}

std::string distributed_info(const KinetoHead& head, const Plan& plan, Rank own) {
  std::vector<Rank> world;
  for (std::int32_t r = 0; r < plan.world_size(); ++r) world.push_back(Rank{r});
  std::string list = process_group(head, "0", "default_pg", world);
  int count = 1;
  for (const GroupKind kind : head.group_kinds) {
    const std::vector<Rank> members = group_members(plan, kind, own);
    // Ranks between the first and the last stage are not in the embedding group.
    if (members.size() < 2 || !std::ranges::count(members, own)) continue;
    const std::string name = format("{}", head.groups->number(kind, own));
    list += ", " + process_group(head, name, to_string(kind), members);
    ++count;
  }
  return format(R"({{"backend": {}, "rank": {}, "world_size": {}, "pg_count": {}, "pg_config": [{}]}})",
                kineto_text(head.backend), to_number(own), plan.world_size(), count, list);
}

}  // namespace

std::string kineto_head(const KinetoOptions& options, const KinetoHead& head) {
  std::string out = "{\n";
  const auto put = [&](std::string_view key, std::string_view value) {
    out += format("  \"{}\": {},\n", key, value);
  };
  put("schemaVersion", "1");
  put("deviceProperties", head.device.is_host() ? "[]" : "[" + device_properties(head.device) + "]");
  put("record_shapes", "1");
  put("with_flops", "1");
  if (options.memory) put("profile_memory", "1");
  if (options.plan != nullptr && options.plan->world_size() > 1)
    put("distributedInfo", distributed_info(head, *options.plan, options.rank));
  put("displayTimeUnit", R"("ms")");
  put("baseTimeNanoseconds", format("{}", head.base));
  return out + R"(  "traceEvents": [)";
}

std::string listed_ranks(std::span<const Rank> ranks) {
  std::string list;
  for (const Rank rank : ranks) list += format("{}{}", list.empty() ? "" : ", ", to_number(rank));
  return "[" + list + "]";
}

}  // namespace nadi::inline traces
