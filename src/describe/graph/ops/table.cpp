#include <array>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

std::vector<OpDefinition> make_table() {
  std::vector<OpDefinition> table{
#define NADI_OP(kind, name) name##_definition(),
#include "nadi/graph/op_list.h"
  };
  for (std::size_t i = 0; i < table.size(); ++i)
    check(table[i].kind == OpKind{static_cast<std::uint8_t>(i)},
          "a definition is of another op than its name says");
  return table;
}

const std::vector<OpDefinition>& table() {
  static const std::vector<OpDefinition> kTable = make_table();
  return kTable;
}

}  // namespace

const OpDefinition& definition(OpKind kind) {
  return table()[static_cast<std::size_t>(kind)];
}

}  // namespace nadi::inline describe
