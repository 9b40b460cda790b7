// Arithmetic of the shell, as $((...)) has it: 64-bit integers, the operators and precedences of C, ** for
// powers.
//
//   shell_arithmetic("NPROC_PER_NODE * NNODES", variables, {.file = "conf.sh", .line = 5});    // 32
//
// A name stands for its variable, with or without '$' (the caller has expanded those with '$' already); a
// variable that is not set is 0, and a variable may hold an expression, as in bash. Numbers are decimal,
// 0x..., 0... (octal) and BASE#DIGITS up to base 36. Sums and products wrap around, as bash's do.
//
// Error (input) at the given place for what is no expression, for a division by zero and for a variable whose
// value refers to itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/base/error.h"

namespace nadi::inline jobs {

// Where names have their values.
struct ShellVariables {
  std::function<std::optional<std::string>(const std::string& name)> value;  // nothing means not set
  std::function<void(const std::string& name, std::string value)> assign;    // x = 1, x += 2, ++x
};

std::int64_t shell_arithmetic(std::string_view expression, const ShellVariables& variables,
                              const Place& place);

}  // namespace nadi::inline jobs
