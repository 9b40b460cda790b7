#include "nadi/cli/process_start.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "nadi/base/heap_growth.h"
#include "nadi/terminal/signal_thread.h"

namespace nadi::inline show {
namespace {

// Before .init_array, which has the constructors of shared libraries.
__attribute__((section(".preinit_array"), used)) void (*const kBeforeLibraries)() = block_interrupts;

// By default, threads of OpenMP wait for the next loop by spinning for about a millisecond: on a machine that something else uses as
// well, more than half of the speed is lost to that. About 5 us is enough, unless the user has decided.
void limit_spinning(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  // `calibrate`, too: what is measured is to hold for what is run.
  if (command != "train" && command != "generate" && command != "evaluate" && command != "calibrate") return;
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);
  execv("/proc/self/exe", argv);  // comes back only when it failed: then we go on as we are
}

}  // namespace

void start_process(int argc, char** argv) {
  limit_spinning(argc, argv);
  grow_heap_in_large_steps();
  std::signal(SIGPIPE, SIG_IGN);  // OutputStream notices
  std::signal(SIGXFSZ, SIG_IGN);  // `ulimit -f`
}

}  // namespace nadi::inline show
