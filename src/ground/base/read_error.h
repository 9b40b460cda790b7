// What is said of a file that cannot be read: one wording everywhere.
#pragma once

#include <string>

#include "nadi/base/error.h"

namespace nadi::inline ground {

// Error (input): "FILE: no such file or folder".
Error no_such_file(std::string file, std::string hint = "");

// For a system call that failed with this errno: the same for ENOENT, Error (environment) for a shortage
// (resource_shortage.h), else Error (input): "FILE: cannot read: Permission denied".
Error read_error(std::string file, int error_number);

}  // namespace nadi::inline ground
