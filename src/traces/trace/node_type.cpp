#include "nadi/trace/node_type.h"

#include "nadi/base/error.h"

namespace nadi::inline traces {

std::string_view to_string(NodeType type) {
  switch (type) {
    case NodeType::kInvalid:
      return "INVALID";
    case NodeType::kMetadata:
      return "METADATA";
    case NodeType::kMemLoad:
      return "MEM_LOAD";
    case NodeType::kMemStore:
      return "MEM_STORE";
    case NodeType::kComp:
      return "COMP";
    case NodeType::kCommSend:
      return "COMM_SEND";
    case NodeType::kCommRecv:
      return "COMM_RECV";
    case NodeType::kCommColl:
      return "COMM_COLL";
  }
  unreachable();
}

std::optional<NodeType> node_type_from_number(std::uint64_t number) {
  if (number > static_cast<std::uint64_t>(NodeType::kCommColl)) return std::nullopt;
  return static_cast<NodeType>(number);
}

}  // namespace nadi::inline traces
