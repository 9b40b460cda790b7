// Stands in for chakra_json_reader.cpp and node_link_reader.cpp in a build without simdjson.
#include "nadi/base/error.h"
#include "nadi/chakra/chakra_json_reader.h"
#include "nadi/chakra/node_link_graph.h"

namespace nadi::inline traces {
namespace {

[[noreturn]] void refuse() {
  throw environment_error("this build of Nadi cannot read traces in JSON",
                          "it was built without simdjson: install libsimdjson-dev and build again");
}

}  // namespace

Trace read_chakra_json(const std::filesystem::path&, const ChakraReadOptions&, ChakraReadStats*) {
  refuse();
}

Trace read_chakra_json(std::string_view, std::string, const ChakraReadOptions&, ChakraReadStats*) {
  refuse();
}

NodeLinkGraph read_node_link(const std::filesystem::path&, const NodeLinkReadOptions&) {
  refuse();
}

NodeLinkGraph read_node_link(std::string_view, std::string, const NodeLinkReadOptions&) {
  refuse();
}

}  // namespace nadi::inline traces
