// Reads Chakra traces that are written as JSON, plain, gzip or zstd, in any of the ways seen:
//   - node after node, each a document of its own and the metadata before them, as Chakra's jsonizer and
//     chakra_json_writer.h write them;
//   - one document {"schema": "...", "metadata": {...}, "nodes": [...]}, in any order, as
//   chakra_json_writer.h
//     writes it, too; also called "globalMetadata" or "global_metadata" and "node";
//   - an array of nodes;
//   - the input of Chakra's own feeder, {"workload_graph": [{"Id": 1, "NodeType": 4, "runtime": 5, ...}]}.
//
//   Trace trace = read_chakra_json("run.0.json");
//
// Nodes are as protobuf's JSON mapping has them: names in lowerCamelCase or as in the schema, integers as
// numbers or texts, enumerators by name or number, bytes as Base64, null for what is absent. Members that the
// schema does not have are passed over and counted. Whatever is wrong is Error (input) with the byte, or is
// left out and counted, as the options say. Error (environment) in a build without simdjson.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "nadi/chakra/chakra_reading.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

Trace read_chakra_json(const std::filesystem::path& path, const ChakraReadOptions& options = {},
                       ChakraReadStats* stats = nullptr);
Trace read_chakra_json(std::string_view json, std::string name, const ChakraReadOptions& options = {},
                       ChakraReadStats* stats = nullptr);

}  // namespace nadi::inline traces
