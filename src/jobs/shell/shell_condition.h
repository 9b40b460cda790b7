// What [ ... ], test and [[ ... ]] say of texts and numbers: comparisons (= == != < > -eq -ne -lt -le -gt
// -ge), -z, -n, files (-e -f -d), !, -a, -o, &&, || and parentheses.
//
//   shell_condition({"4", "-gt", "1"}, place);     // true
//
// Anything else is Error (input).
#pragma once

#include <span>
#include <string>

#include "nadi/base/error.h"

namespace nadi::inline jobs {

struct ShellConditionWord {
  std::string text = {};  // expanded
  bool quoted = false;    // it is text and never an operator or a pattern
};
// `patterns`: the right side of == and != is one, as in [[ ... ]].
bool shell_condition(std::span<const ShellConditionWord> words, bool patterns, const Place& place);

}  // namespace nadi::inline jobs
