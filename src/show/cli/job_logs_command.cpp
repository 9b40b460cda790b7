// nadi job logs
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/natural_order.h"
#include "nadi/base/nearest.h"
#include "nadi/cli/chosen_job.h"
#include "nadi/cli/watched_job.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/escaped_text.h"
#include "nadi/terminal/output_stream.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kLogBlock = std::size_t{256} << 10;
constexpr std::chrono::milliseconds kLogTick{200};

// A file that is printed, and how far.
struct PrintedFile {
  std::string name;  // of the node
  std::filesystem::path path;
  std::int64_t offset = 0;
  std::string half = {};  // of a character whose rest was not read yet
};

bool ended(WatchedJob& job) {
  if (job.scheduler == nullptr) return false;
  try {
    return has_ended(job.scheduler->status(job.id).state);
  } catch (const Error& error) {
    // The scheduler has forgotten it. One that does not answer now may do so later.
    return error.kind() == ErrorKind::kUsage;
  }
}

void find_files(const std::vector<std::filesystem::path>& folders, std::string_view extension,
                const std::vector<std::string>& wanted, std::vector<PrintedFile>& files) {
  for (const std::filesystem::path& folder : folders) {
    std::vector<PrintedFile> found;
    std::error_code problem;
    for (std::filesystem::directory_iterator entry(folder, problem), end; !problem && entry != end;
         entry.increment(problem)) {
      const std::filesystem::path& path = entry->path();
      const std::string name = path.stem().string();
      if (path.extension() != extension) continue;
      if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
      if (std::ranges::find(files, path, &PrintedFile::path) != files.end()) continue;
      found.push_back({.name = name, .path = path});
    }
    std::ranges::sort(found, natural_less, &PrintedFile::name);
    std::ranges::move(found, std::back_inserter(files));
  }
}

Error nothing_found(const WatchedJob& job, std::string_view extension,
                    const std::vector<std::string>& wanted) {
  std::vector<PrintedFile> all;
  find_files(job.folders, extension, {}, all);
  if (job.folders.empty())
    return usage_error(format("there is no folder of job {} here", job.id),
                       "--outputs says where the folders of jobs are");
  const std::string place = job.folders.front().string();
  if (const auto runs = runs_of_sweep(job.folders.front()); all.empty() && !runs.empty())
    return usage_error(format("job {} is a sweep, and each run has its own logs", job.id),
                       format("runs: {}", fmt::join(runs, ", ")));
  if (all.empty())
    return input_error({.file = place}, format("no files *{} here", extension),
                       "the job may not have started yet");
  std::vector<std::string> names;
  for (const PrintedFile& file : all) names.push_back(file.name);
  return usage_error(format("no node '{}' has written a file *{}", wanted.front(), extension),
                     did_you_mean(wanted.front(), names));
}

std::int64_t offset_of_last(const std::filesystem::path& path, std::int64_t lines) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return 0;
  const std::int64_t size = ::lseek(file, 0, SEEK_END);
  std::vector<char> block(kLogBlock);
  std::int64_t at = size;
  std::int64_t newlines = 0, result = 0;
  while (at > 0 && result == 0) {
    const std::int64_t begin = std::max<std::int64_t>(0, at - static_cast<std::int64_t>(kLogBlock));
    const ssize_t got = ::pread(file, block.data(), static_cast<std::size_t>(at - begin), begin);
    if (got != at - begin) break;
    for (std::int64_t i = got; i-- > 0;) {
      // The newline at the end of the file ends the last line.
      if (block[static_cast<std::size_t>(i)] != '\n' || begin + i + 1 == size) continue;
      if (++newlines == lines) {
        result = begin + i + 1;
        break;
      }
    }
    at = begin;
  }
  ::close(file);
  return result;
}

bool print_new(PrintedFile& file, bool headings, std::string& shown, Console& console) {
  const int descriptor = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  if (::lseek(descriptor, 0, SEEK_END) < file.offset) file.offset = 0;  // it was written anew
  std::vector<char> block(kLogBlock);
  bool printed = false;
  for (;;) {
    const ssize_t got = ::pread(descriptor, block.data(), block.size(), file.offset);
    if (got <= 0) break;
    if (headings && shown != file.path.string()) {
      console.out << (shown.empty() ? "" : "\n")
                  << console.heading(format("==> {} <==", file.path.filename().string())) << "\n";
      shown = file.path.string();
    }
    const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
    const auto* const output = dynamic_cast<const OutputStream*>(&console.out);
    if (output != nullptr && is_terminal(output->descriptor()))
      console.out << escaped_text(bytes, file.half);
    else
      console.out.write(block.data(), got);
    file.offset += got;
    printed = true;
    console.check_interrupted();
  }
  ::close(descriptor);
  return printed;
}

}  // namespace

void add_job_logs_flags(Flags& flags) {
  flags.set_positional({.name = "JOB",
                        .help = "id of a job, or the folder of its logs; several: the folders of one run",
                        .many = true});
  flags.value("--node", "NAME", "only of this node", "all", {.repeatable = true});
  flags.toggle("--err", "standard error in place of standard output");
  flags.toggle("--gpu", "samples of GPUs and memory in place of standard output");
  flags.toggle("--follow", "print what comes until the job has ended");
  flags.value("--lines", "N", "only the last N lines of each file", "all");
  add_outputs_flag(flags);
}

void run_job_logs(const Flags& flags, Console& console) {
  const Verbatim as_it_is(console.out);
  WatchedJob job = find_watched_job(flags.positionals(), outputs_flag(flags));
  if (flags.given("--err") && flags.given("--gpu"))
    throw usage_error("--err and --gpu contradict each other",
                      "one of them at a time; 'nadi job watch --all' has both");
  const std::string_view extension = flags.given("--err") ? ".err" : flags.given("--gpu") ? ".gpu" : ".out";
  const std::vector<std::string> wanted = flags.texts("--node");
  const bool follow = flags.given("--follow");
  std::vector<PrintedFile> files;
  find_files(job.folders, extension, wanted, files);
  if (files.empty() && !follow) throw nothing_found(job, extension, wanted);
  const auto lines = flags.integer("--lines");
  for (PrintedFile& file : files)
    if (lines) file.offset = offset_of_last(file.path, *lines);
  const bool headings = wanted.size() != 1;
  std::string shown;  // the file of the last heading
  auto asked = std::chrono::steady_clock::now();
  for (;;) {
    bool printed = false;
    for (PrintedFile& file : files) printed = print_new(file, headings, shown, console) || printed;
    if (!follow) return;
    // Asked before the last read, so that nothing that came before the end is missed.
    const auto now = std::chrono::steady_clock::now();
    constexpr auto kAskEvery = std::chrono::seconds(5);
    if (!printed && now - asked >= kAskEvery) {
      asked = now;
      if (ended(job)) {
        for (PrintedFile& file : files) print_new(file, headings, shown, console);
        return;
      }
    }
    console.out << std::flush;
    console.check_interrupted();
    std::this_thread::sleep_for(kLogTick);
    console.check_interrupted();
    find_files(job.folders, extension, wanted, files);
  }
}

}  // namespace nadi::inline show
