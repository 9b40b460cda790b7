#include "nadi/cli/run_cli.h"

#include <algorithm>
#include <new>
#include <ostream>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/cli/command.h"
#include "nadi/cli/console.h"
#include "nadi/cli/flags.h"
#include "nadi/cli/help.h"
#include "nadi/cli/output_stream.h"
#include "nadi/cli/rank_errors.h"
#include "nadi/cli/version.h"

namespace nadi {
namespace {

constexpr int kFailed = 1;
constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells report it

bool is_help(std::string_view word) {
  return word == "--help" || word == "-h";
}

void print_command_help(const CommandEntry& entry, Console& console) {
  Flags flags;
  entry.make()->add_flags(flags);
  console.out << command_help(entry, flags);
}

void print_error(const Error& error, std::string_view command, Console& console) {
  console.err << (console.colour_err ? "\033[1;31merror:\033[0m " : "error: ") << error.what() << '\n';
  if (!error.excerpt().empty()) console.err << error.excerpt() << '\n';
  if (!error.hint().empty())
    console.err << "  hint: " << error.hint() << '\n';
  else if (error.kind() == ErrorKind::kUsage)
    console.err << "  hint: see 'nadi " << command << (command.empty() ? "" : " ") << "--help'\n";
}

void run_command(const CommandEntry& entry, std::span<const std::string> arguments, Console& console) {
  const std::unique_ptr<Command> command = entry.make();
  Flags flags;
  command->add_flags(flags);
  if (std::ranges::any_of(arguments.first(flags.own_words(arguments)), is_help)) {
    console.out << command_help(entry, flags);
    return;
  }
  flags.parse(arguments);
  command->run(flags, console);
}

int run(std::span<const std::string> arguments, Console& console) {
  if (arguments.empty()) {
    console.out << program_help();
    return exit_code(ErrorKind::kUsage);
  }
  const std::string& first = arguments[0];
  const auto refuse_more_than = [&](std::size_t count) {
    if (arguments.size() > count) throw usage_error(format("unexpected argument '{}'", arguments[count]));
  };
  if (first == "--version") {
    refuse_more_than(1);
    console.out << "nadi " << version() << '\n';
  } else if (is_help(first) || (first == "help" && arguments.size() == 1)) {
    refuse_more_than(1);
    console.out << program_help();
  } else if (first == "help") {
    const CommandEntry& entry = command_of(arguments.subspan(1));
    refuse_more_than(1 + word_count(entry));
    print_command_help(entry, console);
  } else if (first.starts_with('-')) {
    constexpr std::string_view kKnown[]{"--version", "--help", "-h"};
    throw usage_error(format("unknown flag '{}'", first), did_you_mean(first, kKnown));
  } else {
    const CommandEntry& entry = command_of(arguments);
    run_command(entry, arguments.subspan(word_count(entry)), console);
  }
  return 0;
}

}  // namespace

int run_cli(std::span<const std::string> arguments, Console& console) {
  const CommandEntry* const entry = find_command(arguments);
  const std::string_view command = entry != nullptr ? entry->name : "";
  try {
    const int code = run(arguments, console);
    console.out.flush();
    return code;
  } catch (const Error& error) {
    if (!another_rank_says_it(console)) print_error(error, command, console);
    return exit_code(error.kind());
  } catch (const ClosedPipe&) {
    return 0;
  } catch (const Interrupted&) {
    return kInterrupted;
  } catch (const SaidFailure& failure) {
    return failure.exit_code;
  } catch (const std::bad_alloc&) {
    print_error(environment_error("out of memory"), command, console);
    return exit_code(ErrorKind::kEnvironment);
  } catch (const std::exception& failure) {
    console.err << "error: " << failure.what() << '\n';
    return kFailed;
  }
}

}  // namespace nadi
