// Writes a trace as Chakra's nodes in protobuf's JSON mapping, in one of two forms.
//
// One document, which every JSON library reads at once (.json), with a node on each line:
//
//   {"schema":"chakra 0.0.4","metadata":{"version":"0.0.4","attr":[{"name":"rank","int64Val":"0"}]},
//   "nodes":[
//   {"id":"1","name":"aten::mm","type":"COMP_NODE","dataDeps":["0"],"durationMicros":"12","attr":[...]},
//   ...
//   ]}
//
// Lines (.jsonl): the metadata, then node after node, each a document of its own, as Chakra's jsonizer writes
// them; but each on one line, where that spreads them over many.
//
//   {"version":"0.0.4","attr":[{"name":"rank","int64Val":"0"}]}
//   {"id":"1","name":"aten::mm","type":"COMP_NODE","dataDeps":["0"],"durationMicros":"12","attr":[...]}
//
//   ChakraJsonWriter writer(sink, metadata, chakra_json_form("run.0.json"));
//   writer.write(node);                                     // as often as there are nodes
//   writer.finish();
//
// What the mapping says: names in lowerCamelCase, integers of 64 bits as texts, enumerators by name, bytes as
// Base64, what is zero or empty left out, NaN and infinities as texts. Times beyond whole microseconds are
// attributes as in chakra_writer.h. Reading it (chakra_json_reader.h) gives the same trace, except that bytes
// that are not UTF-8 in texts become U+FFFD and every NaN the same one. The same nodes give the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "nadi/chakra/chakra_writer.h"

namespace nadi::inline traces {

enum class ChakraJsonForm : std::uint8_t { kDocument, kLines };
// By the file's name: lines for .jsonl, else one document.
ChakraJsonForm chakra_json_form(const std::filesystem::path& file);

// One document each, without a newline at the end. The node as for ChakraWriter::write().
void append_metadata_json(std::string& out, const GlobalMetadata& metadata);
void append_node_json(std::string& out, const TraceNode& node);

// The sink is called with about 1 MiB at a time, in order.
class ChakraJsonWriter {
 public:
  // Starts the file with the metadata.
  ChakraJsonWriter(ByteSink sink, const GlobalMetadata& metadata, ChakraJsonForm form);
  void write(const TraceNode& node);
  void finish();

 private:
  ByteSink sink_;
  ChakraJsonForm form_;
  std::string out_;
  bool first_ = true;
};

// A whole trace with its metadata.
void write_chakra_json(const Trace& trace, const ByteSink& sink,
                       ChakraJsonForm form = ChakraJsonForm::kDocument);

}  // namespace nadi::inline traces
