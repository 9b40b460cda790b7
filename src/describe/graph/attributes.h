// The settings of an op that are fixed when the graph is built: transposition, activation, group of ranks.
// What changes from step to step is an input tensor, never an attribute, so that a captured graph stays
// valid.
//
//   Attributes a{{"transpose_b", true}, {"activation", "gelu_tanh"}};
//   a.boolean("transpose_b")
//
// An op's definition lists the attributes it knows with their types and defaults; building an op with any
// other is refused, and those left out are filled in, so that reading one never has to supply a default.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace nadi::inline describe {

using Integers = std::vector<std::int64_t>;
using AttributeValue = std::variant<bool, std::int64_t, double, std::string, Integers>;

std::string to_string(const AttributeValue& value);

struct AttributeSpec {
  std::string_view name;
  AttributeValue fallback;  // also says the type
};

class Attributes {
 public:
  struct Entry {
    std::string_view name;  // points to the op's definition once the op is in a graph
    AttributeValue value;
    bool operator==(const Entry&) const = default;
  };

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) : entries_(entries) {}

  // Reading; asking for a name or type that the op does not have is a bug.
  bool boolean(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const Integers& integers(std::string_view name) const;

  void set(std::string_view name, AttributeValue value);
  const std::vector<Entry>& entries() const { return entries_; }
  bool operator==(const Attributes&) const = default;

  // The same settings in the definition's order with its defaults filled in. Throws Error (input) for a
  // name or a type that the specification does not have; `op` names the op in the message.
  Attributes completed(const std::vector<AttributeSpec>& specs, std::string_view op) &&;

 private:
  friend class GraphBatch;
  const AttributeValue* find(std::string_view name) const;
  std::vector<Entry> entries_;
};

}  // namespace nadi::inline describe
