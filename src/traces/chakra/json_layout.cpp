#include "nadi/chakra/json_layout.h"

#include "nadi/base/json_start.h"

namespace nadi::inline traces {

JsonLayout json_layout(std::string_view start) {
  const JsonStart json = look_at_json(start);
  if (json.is_list) return JsonLayout::kArray;
  return json.has_top({"nodes", "node", "workload_graph", "metadata", "globalMetadata", "global_metadata"})
             ? JsonLayout::kDocument
             : JsonLayout::kDocuments;
}

}  // namespace nadi::inline traces
