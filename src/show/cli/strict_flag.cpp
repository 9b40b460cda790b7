#include "nadi/cli/strict_flag.h"

#include "nadi/command_line/flags.h"

namespace nadi::inline show {

void add_strict_flag(Flags& flags, std::string_view group) {
  flags.add({.names = {"--strict"},
             .help = "refuse traces with dependencies on nodes that are not in the file, as Chakra's own "
                     "converter writes them; otherwise such dependencies are dropped with a note",
             .group = group});
}

}  // namespace nadi::inline show
