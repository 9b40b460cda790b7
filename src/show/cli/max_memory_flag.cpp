#include "nadi/cli/max_memory_flag.h"

#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {

void add_max_memory_flag(Flags& flags, std::string_view group) {
  FlagHeading(flags, group)
      .value("--max-memory", "SIZE",
             "most that the contents of one file may take in memory, such as 2GB: more is refused",
             format("{} and {} times the size of the file", to_string(MemoryLimit::kAnyFile),
                    MemoryLimit::kPerByte));
}

MemoryLimit memory_limit_of(const Flags& flags) {
  return MemoryLimit(flags.bytes("--max-memory"));
}

}  // namespace nadi::inline show
