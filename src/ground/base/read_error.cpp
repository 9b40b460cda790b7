#include "nadi/base/read_error.h"

#include <cerrno>
#include <system_error>

#include "nadi/base/format.h"
#include "nadi/base/resource_shortage.h"

namespace nadi::inline ground {

Error no_such_file(std::string file, std::string hint) {
  return input_error({.file = std::move(file)}, "no such file or folder", std::move(hint));
}

Error read_error(std::string file, int error_number) {
  if (error_number == ENOENT) return no_such_file(std::move(file));
  if (const std::optional<Error> shortage = resource_shortage(error_number, "read", {.file = file}))
    return *shortage;
  return input_error({.file = std::move(file)},
                     format("cannot read: {}", std::generic_category().message(error_number)));
}

}  // namespace nadi::inline ground
