// nadi completion
#include <algorithm>
#include <ostream>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/command_line/shell_scripts.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/wrap.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

std::vector<std::string_view> shell_names() {
  std::vector<std::string_view> names;
  for (const ShellEntry& entry : shells()) names.push_back(entry.name);
  return names;
}

}  // namespace

void add_completion_flags(Flags& flags) {
  flags.set_positional(
      {.name = "SHELL",
       .help = format("{}; bash reads it with: source <(nadi completion bash)", join(shell_names(), ", ")),
       .choices = shell_names()});
  flags.value("--output", "FILE", "write it to this file, which is replaced if it exists", "print it");
}

void run_completion(const Flags& flags, Console& console) {
  const Verbatim as_it_is(console.out);
  const std::string& name = flags.positional();
  const auto shell = std::ranges::find(shells(), name, &ShellEntry::name);
  if (shell == shells().end())
    throw usage_error(format("no completion for '{}'", name), did_you_mean(name, shell_names()));
  const auto path = flags.text("--output");
  if (path)
    write_atomically(*path, shell->script, Overwrite::kAllow);
  else
    console.out << shell->script;
}

}  // namespace nadi::inline show
