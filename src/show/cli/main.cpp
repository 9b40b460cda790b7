#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/heap_growth.h"
#include "nadi/cli/run_cli.h"
#include "nadi/launch/node_agent.h"
#include "nadi/launch/rank_supervisor.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_stream.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/signal_thread.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace {

// Called before the constructors of shared libraries: OpenBLAS for one starts threads in there, and they must
// not receive signals either.
__attribute__((section(".preinit_array"), used)) void (*const kBeforeLibraries)() = nadi::block_interrupts;

// Whether a terminal is there that understands escape codes: for colours, and for lines that are written
// over.
bool is_capable_terminal(int descriptor) {
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string(terminal) == "dumb") return false;
  return isatty(descriptor) == 1;
}

// See https://no-color.org.
bool wants_colours(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && is_capable_terminal(descriptor);
}

// Threads of OpenMP wait for the next loop by spinning, for about a millisecond: on a machine that something
// else uses as well, more than half of the speed is lost to that. How long they spin is read when the library
// is loaded, so commands that compute start the program once more with a shorter time (about 5 us), unless
// the user has decided.
void limit_spinning(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  // What is measured is to hold for what is run.
  if (command != "train" && command != "generate" && command != "calibrate") return;
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);
  execv("/proc/self/exe", argv);  // comes back only when it failed: then we go on as we are
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == nadi::kSupervisorWord) return nadi::supervise_rank({argv + 2, argv + argc});
  if (argc > 1 && argv[1] == nadi::kAgentWord) return nadi::reach_node({argv + 2, argv + argc});
  limit_spinning(argc, argv);
  nadi::grow_heap_in_large_steps();

  std::signal(SIGPIPE, SIG_IGN);  // OutputStream notices
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow (ulimit -f) is an error of its write
  nadi::Interruption interruption;
  std::optional<nadi::SignalThread> signals;
  try {
    signals.emplace(interruption, nadi::SignalThreadOptions{.terminal_err = isatty(STDERR_FILENO) == 1});
  } catch (const nadi::Error& error) {  // before there is a console
    std::cerr << "error: " << error.what() << "\n";
    if (!error.hint().empty()) std::cerr << "  hint: " << error.hint() << "\n";
    return nadi::exit_code(error.kind());
  }
  std::optional<nadi::WrappedMessages> wrapped;
  if (nadi::is_terminal(STDERR_FILENO)) wrapped.emplace();
  nadi::OutputStream out(STDOUT_FILENO, "standard output");
  nadi::Console console{.out = out,
                        .err = std::cerr,
                        .colour_out = wants_colours(STDOUT_FILENO),
                        .colour_err = wants_colours(STDERR_FILENO),
                        .terminal_err = is_capable_terminal(STDERR_FILENO),
                        .interruption = &interruption};
  return nadi::run_cli(std::vector<std::string>(argv + 1, argv + argc), console);
}
