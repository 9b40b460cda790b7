#include "nadi/cli/run_cli.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <new>
#include <optional>
#include <ostream>
#include <system_error>
#include <thread>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/base/resource_shortage.h"
#include "nadi/base/units.h"
#include "nadi/base/version.h"
#include "nadi/cli/commands.h"
#include "nadi/cli/completion_values.h"
#include "nadi/cli/start_ranks.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/file_kind_hints.h"
#include "nadi/command_line/flag_hints.h"
#include "nadi/command_line/flags.h"
#include "nadi/command_line/help.h"
#include "nadi/command_line/shell_scripts.h"
#include "nadi/launch/rank_errors.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/log_level.h"
#include "nadi/terminal/output_stream.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/printable.h"
#include "nadi/terminal/wrap.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

constexpr int kFailed = 1;

constexpr std::string_view kHelpAll = "--help-all";

bool is_help(std::string_view word) {
  return word == "--help" || word == "-h" || word == kHelpAll;
}

bool is_version(std::string_view word) {
  return word == "--version" || word == "-V";
}

void print_version(Console& console) {
  console.out << "nadi " << version() << '\n';
}

void print_command_help(const CommandEntry& entry, Console& console) {
  Flags flags;
  entry.add_flags(flags);
  console.out << command_help(commands(), entry, flags, HelpExtent::kUsual, output_width(console.out));
}

void print_program_help(HelpExtent extent, Console& console) {
  console.out << program_help(commands(), extent, output_width(console.out));
}

void print_error(const Error& error, std::string_view command, Console& console) {
  console.err << (console.colour_err ? "\033[1;31merror:\033[0m " : "error: ") << error.what() << '\n';
  if (!error.excerpt().empty()) {
    const Verbatim carets_stay_below(console.err);
    console.err << error.excerpt() << '\n';
  }
  const auto* wrong = dynamic_cast<const WrongFileKind*>(&error);
  std::string hint = wrong == nullptr ? hint_with_flags(error.hint()) : hint_for(wrong->found(), command);
  if (hint.empty() && is_existing_target(error)) hint = "use --force to overwrite";
  if (hint.empty() && error.kind() == ErrorKind::kUsage && error.message().ends_with(" is missing"))
    if (const CommandEntry* entry = commands().find(words_of(command)))
      hint = format("for example: {}", entry->examples[0]);
  if (!hint.empty())
    console.err << "  hint: " << hint << '\n';
  else if (error.kind() == ErrorKind::kUsage)
    console.err << "  hint: see 'nadi " << command << (command.empty() ? "" : " ") << "--help'\n";
}

void name_overrides(const Flags& flags, Console& console) {
  // Rank 0 prints them, unless the process that started the ranks has.
  if (rank_started(process_environment()).value_or(0) != 0 || started_by_same_command()) return;
  for (const Override& flag : flags.overrides())
    console.info() << format("note: {} was given {} times; the last counts: {}\n", flag.name, flag.times,
                             flag.value);
}

void run_command(const CommandEntry& entry, std::span<const std::string> arguments, Console& console) {
  Flags flags;
  entry.add_flags(flags);
  const std::span<const std::string> own = arguments.first(flags.own_words(arguments));
  if (const auto extent = wanted_help(flags, own)) {
    console.out << command_help(commands(), entry, flags, *extent, output_width(console.out));
    return;
  }
  if (own.size() == 1 && is_version(own[0])) {
    print_version(console);
    return;
  }
  flags.parse(arguments);
  name_overrides(flags, console);
  // What is for programs, or is copied, is not wrapped.
  std::optional<Verbatim> for_programs;
  for (const std::string_view flag : {"--json", "--csv", "--schema", "--graph"})
    if (flags.find(flag) != nullptr && flags.given(flag) && !for_programs) for_programs.emplace(console.out);
  entry.run(flags, console);
}

// `nadi data`, `nadi data --help`
int run_group(std::span<const std::string> arguments, Console& console) {
  const std::string& group = arguments[0];
  if (arguments.size() > 2) throw usage_error(format("unexpected argument '{}'", arguments[2]));
  if (arguments.size() == 2 && is_version(arguments[1])) {
    print_version(console);
    return 0;
  }
  if (arguments.size() == 2 && !is_help(arguments[1]))
    throw usage_error(format("unknown flag '{}'", arguments[1]), format("see 'nadi help {}'", group));
  console.out << group_help(commands(), group, output_width(console.out));
  return arguments.size() == 2 ? 0 : exit_code(ErrorKind::kUsage);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

int run(std::span<const std::string> arguments, Console& console) {
  if (arguments.empty()) {
    print_program_help(HelpExtent::kUsual, console);
    return exit_code(ErrorKind::kUsage);
  }
  const std::string& first = arguments[0];
  const auto refuse_more_than = [&](std::size_t count) {
    if (arguments.size() > count) throw usage_error(format("unexpected argument '{}'", arguments[count]));
  };
  const auto is_group = [](const std::string& word) { return !commands().group(word).empty(); };
  if (first == kCompleteWord) {
    console.out << answer_completion(commands(), arguments.subspan(1), completion_values());
  } else if (is_version(first)) {
    refuse_more_than(1);
    print_version(console);
  } else if (is_help(first) || (first == "help" && arguments.size() == 1)) {
    refuse_more_than(1);
    print_program_help(first == kHelpAll ? HelpExtent::kAll : HelpExtent::kUsual, console);
  } else if (first == "help" && arguments.size() == 2 && commands().find(arguments.subspan(1)) == nullptr &&
             is_group(arguments[1])) {
    console.out << group_help(commands(), arguments[1], output_width(console.out));
  } else if (first == "help") {
    const CommandEntry& entry = commands().at(arguments.subspan(1));
    refuse_more_than(1 + word_count(entry));
    print_command_help(entry, console);
  } else if (first.starts_with('-')) {
    constexpr std::string_view kKnown[]{"--version", "-V", "--help", "-h", kHelpAll};
    throw usage_error(format("unknown flag '{}'", first), did_you_mean(first, kKnown));
  } else if (is_group(first) && commands().find(arguments) == nullptr &&
             (arguments.size() == 1 || arguments[1].starts_with('-'))) {
    return run_group(arguments, console);
  } else {
    const CommandEntry& entry = commands().at(arguments);
    run_command(entry, arguments.subspan(word_count(entry)), console);
  }
  return 0;
}

void heed_log_level(Console& console) {
  console.level = parse_log_level(process_environment()("LOGLEVEL").value_or(""));
  if (console.level > LogLevel::kInfo) console.terminal_err = false;  // nor is progress shown
}

void debug_start(std::span<const std::string> arguments, Console& console) {
  if (console.level > LogLevel::kDebug) return;
  std::string words;
  for (const std::string& word : arguments) words += " " + printable(word);
  console.debug() << format("debug: nadi {}, {} cores, in {}: nadi{}\n", version(),
                            std::thread::hardware_concurrency(), std::filesystem::current_path().string(),
                            words);
}

void debug_end(int code, std::chrono::nanoseconds elapsed, Console& console) {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  console.debug() << format(
      "debug: exit code {} after {:.3f} s, {:.3f} s of them computing, at most {} of memory\n", code,
      std::chrono::duration<double>(elapsed).count(), seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
      to_string(Bytes{usage.ru_maxrss * 1024}));
}

// Turns what is thrown into a message and an exit code.
int run_caught(std::span<const std::string> arguments, Console& console) {
  const CommandEntry* const entry = commands().find(arguments);
  const std::string_view command = entry != nullptr ? entry->name : "";
  try {
    heed_log_level(console);
    debug_start(arguments, console);
    const int code = run(arguments, console);
    console.out.flush();
    return code;
  } catch (const Error& error) {
    if (!another_rank_prints_error([&] { return console.interrupted(); }))
      print_error(error, command, console);
    return exit_code(error.kind());
  } catch (const ClosedPipe&) {
    return 0;
  } catch (const Interrupted&) {
    return console.interruption != nullptr ? console.interruption->exit_code() : kInterruptedExitCode;
  } catch (const SaidFailure& failure) {
    return failure.exit_code;
  } catch (const std::bad_alloc&) {
    print_error(memory_shortage(), command, console);
    return exit_code(ErrorKind::kEnvironment);
  } catch (const std::system_error& failure) {
    // Threads, and files by way of the standard library.
    const std::optional<Error> shortage = resource_shortage(
        failure.code().value(), failure.code().value() == EAGAIN ? "start a thread" : "go on");
    if (!shortage) {
      console.err << "error: " << failure.what() << '\n';
      return kFailed;
    }
    print_error(*shortage, command, console);
    return exit_code(ErrorKind::kEnvironment);
  } catch (const std::exception& failure) {
    console.err << "error: " << failure.what() << '\n';
    return kFailed;
  }
}

}  // namespace

int run_cli(std::span<const std::string> arguments, Console& console) {
  const auto start = std::chrono::steady_clock::now();
  const int code = run_caught(arguments, console);
  debug_end(code, std::chrono::steady_clock::now() - start, console);
  return code;
}

}  // namespace nadi::inline show
