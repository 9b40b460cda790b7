// nadi calibrate
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/calibrate/calibration.h"
#include "nadi/calibration/calibration_question.h"
#include "nadi/cli/comm_timeout_flag.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/html_flag.h"
#include "nadi/cli/sense_limits.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/comm/mpi_session.h"
#include "nadi/comm/single_process.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/cpu/cpu_description.h"
#include "nadi/draw/answer_page.h"
#include "nadi/launch/rank_world.h"
#include "nadi/launched/launched_job.h"
#include "nadi/report/calibration_progress.h"
#include "nadi/report/calibration_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/silent_console.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

// Where a rank of a job that this command has started writes what it measured.
constexpr const char* kPartVariable = "NADI_CALIBRATION_PART";
constexpr std::int64_t kMostCalibratedRanks = 64;
constexpr std::int64_t kMostPatience = 1'000'000'000;  // seconds; larger numbers have no nanoseconds

std::vector<std::int64_t> ranks_to_measure(const Flags& flags) {
  const auto list = flags.text("--ranks");
  if (!list) return calibrated_ranks(devices()[flags.choice("--device").value_or(0)].kind);
  std::set<std::int64_t> ranks;
  for (std::size_t begin = 0; begin <= list->size();) {
    const std::size_t end = std::min(list->find(',', begin), list->size());
    const std::string word = list->substr(begin, end - begin);
    const bool digits =
        !word.empty() && word.size() < 4 && word.find_first_not_of("0123456789") == std::string::npos;
    const std::int64_t number = digits ? std::stoll(word) : 0;
    if (number < 1 || number > kMostCalibratedRanks)
      throw usage_error(format("--ranks does not take '{}'", *list),
                        format("numbers of ranks from 1 to {}, as 1,2,4", kMostCalibratedRanks));
    check_ranks_here(flags, "--ranks", number);
    ranks.insert(number);
    begin = end + 1;
  }
  return {ranks.begin(), ranks.end()};
}

// "4x256,2x512"
std::vector<SampleSize> resolve_sample_sizes(const std::string& list) {
  std::vector<SampleSize> sizes;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    const std::size_t cross = std::min(word.find('x'), word.size());
    const auto number = [&](const std::string& digits) {
      const bool good =
          !digits.empty() && digits.size() < 7 && digits.find_first_not_of("0123456789") == std::string::npos;
      return good ? std::stoll(digits) : 0;
    };
    const SampleSize size{.batch = number(word.substr(0, cross)),
                          .tokens = cross < word.size() ? number(word.substr(cross + 1)) : 0};
    if (size.batch < 1 || size.tokens < 1)
      throw usage_error(format("--sizes does not take '{}'", list),
                        "sequences and tokens of each, as 4x256 or 4x256,2x512");
    sizes.push_back(size);
    begin = end + 1;
  }
  return sizes;
}

CalibrationQuestion calibration_question(const Flags& flags) {
  CalibrationQuestion question{.device = resolve_device(flags),
                               .quick = flags.given("--quick"),
                               .repetitions = flags.integer("--repeat", 1),
                               .threads = resolve_threads(flags),
                               .models = flags.texts("--model")};
  question.math = resolve_math(flags, question.device);
  if (const auto sizes = flags.text("--sizes")) question.sizes = resolve_sample_sizes(*sizes);
  if (const auto seconds = flags.integer("--patience", 0))
    question.patience = Nanoseconds{1'000'000'000} * std::min(*seconds, kMostPatience);
  const std::vector<std::string_view> names = dtype_names();
  for (const std::string& name : flags.texts("--dtype"))
    question.dtypes.push_back(
        kDTypes[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())].second);
  return question;
}

// A machine that others use is measured with them.
void warn_if_busy(Console& console) {
  double load = 0;
  const int cores = cpu::describe_cpu().cores;
  if (::getloadavg(&load, 1) != 1 || load < 0.5 * cores) return;
  console.warnings() << format(
      "warning: the load of this machine is {:.1f} on {} {}: what is measured is a busy machine\n", load,
      cores, cores == 1 ? "core" : "cores");
}

void write_cluster_file(const Cluster& cluster, const fs::path& path, Overwrite overwrite) {
  AtomicFile file(path, overwrite);
  file.write(cluster_text(cluster));
  file.commit();
}

Cluster measure(std::int64_t ranks, const Flags& flags, const std::optional<TemporaryFolder>& folder,
                Console& console) {
  if (ranks == 1) {
    SingleProcess world;
    CalibrationProgress progress(console, 1);
    return calibrate(resolve(calibration_question(flags), 1), world, progress);
  }
  const fs::path part = folder.value() / format("{}.json", ranks);
  std::vector<std::string> words{"calibrate"};
  words.insert(words.end(), flags.arguments().begin(), flags.arguments().end());
  run_job({.ranks = static_cast<int>(ranks),
           .words = std::move(words),
           .environment = {{kPartVariable, part.string()}},
           .prefix = false,
           .comm_timeout = comm_timeout_of(flags)},
          console);
  return load_cluster(part.string());
}

void run_rank(const Flags& flags, const fs::path& part, Console& own_console) {
  RankWorld ranks(rank_watch_options(flags, own_console));
  Communicator& world = ranks.communicator();
  SilentConsole silence(own_console);
  Console& console = world.rank() == Rank{0} ? own_console : silence.console();
  CalibrationProgress progress(console, world.size());
  const Cluster measured = calibrate(resolve(calibration_question(flags), world.size()), world, progress);
  if (world.rank() == Rank{0}) write_cluster_file(measured, part, Overwrite::kAllow);
}

}  // namespace

void add_calibrate_flags(Flags& flags) {
  flags.value("--output", "FILE", "the cluster file to write, for --cluster of other commands", "required");
  flags.value("--device", "WHERE", device_help(), "cpu", {.choices = device_names()});
  for (FlagSpec& spec : math_flags()) flags.add(std::move(spec));
  flags.value("--threads", "N", "compute threads of each rank", "one per core, or a rank's share of them");
  add_oversubscribe_flag(flags);
  flags.value("--ranks", "LIST", "numbers of ranks that share the machine, each measured by itself: 1,2,4",
              format("1, 2, 4, ... up to the cores, at most {}; 1 on a GPU", kMostRanksUnasked));
  flags.value("--model", "MODEL",
              "a model whose shapes are measured: a built-in one or a config.json; may be given "
              "several times",
              kDefaultCalibratedModel, {.repeatable = true});
  flags.value("--dtype", "TYPE",
              "type of parameters and activations that is measured; may be given several times",
              format("{}; bf16 on a GPU", kDTypes[0].first), {.choices = dtype_names(), .repeatable = true});
  flags.toggle("--quick", "few sizes, in a fraction of the time");
  flags.value("--sizes", "LIST",
              "measure only training of the models, with a rank's micro-batches of these sizes: "
              "4x256,2x512 is 4 sequences of 256 tokens, and 2 of 512",
              "several, and generation");
  flags.value("--repeat", "N", "how often each step is measured; the median counts; short steps more often",
              format("{}", CalibrationOptions{}.repetitions));
  flags.value("--patience", "N",
              "seconds for which disturbed measurements are repeated in all, for each number of ranks: "
              "more than 2% of the processor time was stolen by a hypervisor or taken by other "
              "processes; 0 takes everything",
              format("{:.0f}, with --quick {:.0f}", to_seconds(CalibrationOptions{}.patience),
                     to_seconds(kQuickPatience)));
  add_html_flag(flags, "flags", "also as a page: each measured op beside what the others say of it");
  flags.toggle("--json", "print JSON: see docs/json.md");
  flags.toggle("--force", "overwrite a file that exists");
  flags.show_first({"--output", "--device", "--ranks", "--model", "--quick"});
}

void run_calibrate(const Flags& flags, Console& console) {
  if (const auto part = process_environment()(kPartVariable)) return run_rank(flags, *part, console);
  if (started_by_mpi())
    throw usage_error("nadi calibrate starts its ranks itself", "run it without mpirun and 'nadi launch'");
  const auto output = flags.text("--output");
  if (!output) throw usage_error("-o, --output is missing", "-o me.json writes that file");
  const Overwrite overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
  if (overwrite == Overwrite::kRefuse) refuse_existing(*output);
  const auto page = html_path(flags);
  const std::vector<std::int64_t> ranks = ranks_to_measure(flags);
  static_cast<void>(resolve(calibration_question(flags), ranks.front()));  // mistakes first
  warn_if_busy(console);

  const Clock clock = steady_clock();
  const Nanoseconds start = clock();
  std::optional<TemporaryFolder> folder;  // for what the ranks of jobs write
  if (ranks.back() > 1) folder.emplace("calibrate");
  std::vector<Cluster> parts;
  for (const std::int64_t number : ranks) parts.push_back(measure(number, flags, folder, console));
  const Cluster machine = machine_of(std::move(parts));
  write_cluster_file(machine, *output, overwrite);
  const CalibrationAnswer view{machine, *output, to_seconds(clock() - start)};
  if (page) {
    write_answer_page(calibration_page(view), *page, html_overwrite(flags));
    console.info() << format("page: {}\n", page->string());
  }
  if (flags.given("--json"))
    console.out << dump_json(calibration_json(view));
  else
    print_calibration(view, console.out, style_for(console));
}

}  // namespace nadi::inline show
