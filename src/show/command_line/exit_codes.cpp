#include "nadi/command_line/exit_codes.h"

#include <array>

namespace nadi::inline show {
namespace {

constexpr std::array kExitCodes{
    ExitCodeEntry{"0", "done", "done"},
    ExitCodeEntry{"1", "failed", "failed"},
    ExitCodeEntry{"2", "usage", "usage: the command line is wrong"},
    ExitCodeEntry{"3", "bad input", "the input is wrong"},
    ExitCodeEntry{"4", "environment lacks something",
                  "the environment lacks something: memory, a program, a device"},
    ExitCodeEntry{"5", "no feasible answer", "no feasible answer"},
    ExitCodeEntry{"130", "interrupted", "interrupted"},
};

}  // namespace

std::span<const ExitCodeEntry> exit_codes() {
  return kExitCodes;
}

}  // namespace nadi::inline show
