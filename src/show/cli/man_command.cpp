// nadi man
#include <filesystem>
#include <ostream>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/commands.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/command_line/man_page.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

void write_pages(const fs::path& folder, Console& console) {
  const auto write = [&](const std::string& name, const std::string& page) {
    write_atomically(folder / name, page, Overwrite::kAllow);
  };
  write("nadi.1", program_man_page(commands()));
  for (const CommandEntry& entry : commands())
    write(man_page_file(entry), command_man_page(commands(), entry));
  console.out << format("{}: {} pages\n", folder.string(), commands().size() + 1);
}

}  // namespace

void add_man_flags(Flags& flags) {
  flags.set_positional({.name = "COMMAND",
                        .help = "a command, in one or two words: nadi man trace collective",
                        .many = true,
                        .fallback = "the program"});
  flags.value("--output", "FOLDER", "write all pages into this folder: nadi.1, nadi-train.1 and so on",
              "print one");
}

void run_man(const Flags& flags, Console& console) {
  const Verbatim as_it_is(console.out);
  const auto folder = flags.text("--output");
  if (folder && flags.has_positional())
    throw usage_error("COMMAND and --output contradict each other", "--output writes the pages of all");
  if (folder) return write_pages(*folder, console);
  if (!flags.has_positional()) {
    console.out << program_man_page(commands());
    return;
  }
  const std::vector<std::string>& words = flags.positionals();
  const CommandEntry& entry = commands().at(words);
  if (words.size() > word_count(entry))
    throw usage_error(format("unexpected argument '{}'", words[word_count(entry)]));
  console.out << command_man_page(commands(), entry);
}

}  // namespace nadi::inline show
