// Numbers in integer inputs that ops cannot compute with: a token that is not in its table, a target outside
// the vocabulary, a length that no sequence has. Kernels of the CPU refuse them when they run. Those of a
// device beside the host cannot, so there the inputs of a program are looked at when they are given.
//
//   refuse_wrong_numbers(call.op, 0, ids.elements(), [&](std::int64_t i) { return integer_at(ids, i); });
//
//   const InputNumbers numbers(program);
//   numbers.check("input_ids", bytes);            // Error (input), the same that a kernel of the CPU gives
//
// What is computed on the device, as positions that it counts by itself, nobody looks at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/graph/op_definition.h"

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline engines {

// Input number `input` of the op, whose element i is at(i). Inputs that the op takes as they are pass.
void refuse_wrong_numbers(const OpView& op, std::size_t input, std::int64_t count,
                          const std::function<std::int64_t(std::int64_t)>& at);

class InputNumbers {
 public:
  // The program must outlive it.
  explicit InputNumbers(const Program& program);
  void check(std::string_view input, std::span<const std::byte> values) const;

 private:
  struct Reader {
    OpView op;
    std::size_t input;
    DType dtype;
  };
  std::map<std::string, std::vector<Reader>, std::less<>> readers_;  // by name of the input
};

}  // namespace nadi::inline engines
