#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/cli/process_start.h"
#include "nadi/cli/run_cli.h"
#include "nadi/launch/node_agent.h"
#include "nadi/launch/rank_supervisor.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_stream.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/signal_thread.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace {

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

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == nadi::kSupervisorWord) return nadi::supervise_rank({argv + 2, argv + argc});
  if (argc > 1 && argv[1] == nadi::kAgentWord) return nadi::reach_node({argv + 2, argv + argc});
  nadi::start_process(argc, argv);
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
