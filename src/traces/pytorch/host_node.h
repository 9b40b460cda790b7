// Reads one node of PyTorch's execution trace into a Trace. Schema 1.0.1 has all fields side by side;
// later ones group tensors and list attributes with name, type and value. Both are read alike, whatever the
// file says its schema is.
//
//   HostNodeReader reader(trace, place, {});
//   HostNode node;
//   reader.read(tokens, node);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/pytorch/json_texts.h"
#include "nadi/pytorch/json_tokens.h"
#include "nadi/pytorch/record_place.h"
#include "nadi/trace/string_table.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

struct HostNode {
  std::optional<std::uint64_t> id = {};
  std::uint64_t parent = 0;
  std::uint64_t record_function = 0;
  std::uint64_t thread = 0;
  std::string_view name = {};          // valid as long as the record
  std::string_view input_values = {};  // the same: as JSON
  InternedIo inputs = {};
  InternedIo outputs = {};
  std::vector<InternedAttribute> attributes = {};
};

struct HostNodeOptions {
  bool all = true;       // false means only what has a field in HostNode, and what communication says
  bool lenient = false;  // a value that is not of the type it is said to have is taken as what it is
};

class HostNodeReader {
 public:
  // Trace and place must outlive this; texts and attributes go into the trace.
  HostNodeReader(Trace& trace, const RecordPlace& place, const HostNodeOptions& options);

  // Reads all of a node. Of a name that is given twice the last counts.
  void read(JsonTokens tokens, HostNode& node);

 private:
  struct Attribute {
    std::string_view name;                                // in the trace
    std::string_view type = {};                           // as the file called it last time; "" for none
    TraceAttributeKind kind = TraceAttributeKind::kNone;  // of that type
    TraceAttributeKind key_kind = TraceAttributeKind::kNone;
    std::optional<TraceKey> key = {};  // for key_kind
    bool wanted = true;
    std::uint32_t follower = 0;  // the attribute that came after this one last time
    std::uint64_t node = 0;      // the last one that had it
    std::size_t at = 0;          // and where among its attributes
  };
  // A value that is looked at later than it was met.
  struct Value {
    std::string_view token = {};  // where it stands; empty where there is none
    JsonTexts::Text text = {};
  };
  struct Tensors {
    JsonTexts::Text values;
    JsonTexts::Text shapes;
    JsonTexts::Text types;
    JsonTexts::Text strides;
  };

  std::string_view take_key(JsonTokens& tokens);
  void read_field(JsonTokens& tokens, HostNode& node);
  void read_tensors(JsonTokens& tokens, Tensors& tensors);
  void read_attributes(JsonTokens& tokens, HostNode& node);
  void finish(HostNode& node);
  Value take_value(JsonTokens& tokens);
  std::uint64_t take_id(JsonTokens& tokens) const;
  std::uint32_t find(std::string_view name, std::uint32_t guess);
  void take(std::uint32_t index, std::string_view type, const Value& value, HostNode& node);
  TraceAttributeKind kind_of(Attribute& attribute, std::string_view type, const Value& value);
  void take_as_it_is(std::uint32_t index, const Value& value, HostNode& node);
  void put(std::uint32_t index, TraceAttributeKind kind, std::uint64_t payload, HostNode& node);

  Trace* trace_;
  const RecordPlace* place_;
  HostNodeOptions options_;
  JsonTexts texts_;
  StringTable names_;
  std::vector<Attribute> attributes_;  // by number in names_; the first stands before the first of a node
  std::uint64_t node_ = 0;             // counts nodes
  Tensors inputs_;
  Tensors outputs_;
};

}  // namespace nadi::inline traces
