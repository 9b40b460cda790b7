#include "nadi/cli/strict_flag.h"

#include "nadi/command_line/flags.h"

namespace nadi::inline show {

void add_strict_flag(Flags& flags, std::string_view group) {
  FlagHeading(flags, group)
      .toggle("--strict",
              "refuse traces with dependencies on nodes that are not in the file, as Chakra's own "
              "converter writes them; otherwise such dependencies are dropped with a note");
}

}  // namespace nadi::inline show
