// main() of the tests: the same program is also the ranks, and their supervisors, when a test launches some,
// and `nadi` itself where a job of a test runs it: whatever begins with a command's name and not with a flag.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "nadi/cli/run_cli.h"
#include "nadi/launch/node_agent.h"
#include "nadi/launch/rank_supervisor.h"
#include "nadi/terminal/console.h"

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == nadi::kSupervisorWord) return nadi::supervise_rank({argv + 2, argv + argc});
  if (argc > 1 && argv[1] == nadi::kAgentWord) return nadi::reach_node({argv + 2, argv + argc});
  const bool has_command = argc > 1 && argv[1][0] != '-';
  if (has_command || std::getenv(std::string(nadi::kContactVariable).c_str()) != nullptr) {
    nadi::Console console{.out = std::cout, .err = std::cerr};
    return nadi::run_cli(std::vector<std::string>(argv + 1, argv + argc), console);
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
