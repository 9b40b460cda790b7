// The program, as a function: what main() calls with the terminal and tests call with string streams.
#pragma once

#include <span>
#include <string>

namespace nadi::inline show {

struct Console;

// Runs `nadi <arguments>` and returns its exit code. Results go to console.out, messages to console.err;
// nothing is thrown.
int run_cli(std::span<const std::string> arguments, Console& console);

}  // namespace nadi::inline show
