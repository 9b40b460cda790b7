#include "nadi/supervision/job_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "nadi/base/format.h"
#include "nadi/base/natural_order.h"
#include "nadi/base/nearest.h"
#include "nadi/scheduler/job_folder.h"

namespace nadi::inline ask {
namespace {

constexpr std::size_t kLogBlock = std::size_t{256} << 10;
constexpr auto kAskEvery = std::chrono::seconds(5);

// A file that may be a pipe, or gone.
int open_quietly(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

std::int64_t offset_of_last(const std::filesystem::path& path, std::int64_t lines) {
  const int file = open_quietly(path);
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

}  // namespace

JobOutput::JobOutput(const JobOutputQuestion& question)
    : question_(question), job_(find_watched_job(question.jobs, question.outputs)) {
  find_files();
  if (files_.empty() && !question_.follow) throw nothing_found();
  if (question_.last_lines)
    for (NodeFile& file : files_) file.offset = offset_of_last(file.path, *question_.last_lines);
}

std::vector<JobOutput::NodeFile> JobOutput::files_in_folders(const std::vector<std::string>& nodes) const {
  std::vector<NodeFile> files;
  for (const std::filesystem::path& folder : job_.folders) {
    std::vector<NodeFile> found;
    std::error_code problem;
    for (std::filesystem::directory_iterator entry(folder, problem), end; !problem && entry != end;
         entry.increment(problem)) {
      const std::filesystem::path& path = entry->path();
      const std::string node = path.stem().string();
      if (path.extension() != question_.extension) continue;
      if (!nodes.empty() && std::ranges::find(nodes, node) == nodes.end()) continue;
      found.push_back({.node = node, .path = path});
    }
    std::ranges::sort(found, natural_less, &NodeFile::node);
    std::ranges::move(found, std::back_inserter(files));
  }
  return files;
}

void JobOutput::find_files() {
  for (NodeFile& file : files_in_folders(question_.nodes))
    if (std::ranges::find(files_, file.path, &NodeFile::path) == files_.end())
      files_.push_back(std::move(file));
}

Error JobOutput::nothing_found() const {
  if (job_.folders.empty())
    return usage_error(format("there is no folder of job {} here", job_.id),
                       "say where the folders of jobs are");
  const std::vector<NodeFile> all = files_in_folders({});
  const std::string place = job_.folders.front().string();
  if (const auto runs = runs_of_sweep(job_.folders.front()); all.empty() && !runs.empty())
    return usage_error(format("job {} is a sweep, and each run has its own logs", job_.id),
                       format("runs: {}", fmt::join(runs, ", ")));
  if (all.empty())
    return input_error({.file = place}, format("no files *{} here", question_.extension),
                       "the job may not have started yet");
  std::vector<std::string> names;
  for (const NodeFile& file : all) names.push_back(file.node);
  return usage_error(
      format("no node '{}' has written a file *{}", question_.nodes.front(), question_.extension),
      did_you_mean(question_.nodes.front(), names));
}

bool JobOutput::read_new(NodeFile& file, const Take& take) {
  const int descriptor = open_quietly(file.path);
  if (descriptor < 0) return false;
  if (::lseek(descriptor, 0, SEEK_END) < file.offset) file.offset = 0;  // it was written anew
  std::vector<char> block(kLogBlock);
  bool news = false;
  for (;;) {
    const ssize_t got = ::pread(descriptor, block.data(), block.size(), file.offset);
    if (got <= 0) break;
    take(file.path, {block.data(), static_cast<std::size_t>(got)});
    file.offset += got;
    news = true;
  }
  ::close(descriptor);
  return news;
}

bool JobOutput::read(const Take& take) {
  find_files();
  bool news = false;
  for (NodeFile& file : files_) news = read_new(file, take) || news;
  return news;
}

bool JobOutput::ended() {
  const auto now = std::chrono::steady_clock::now();
  if (job_.scheduler == nullptr || now - asked_ < kAskEvery) return false;
  asked_ = now;
  try {
    return has_ended(job_.scheduler->status(job_.id).state);
  } catch (const Error& error) {
    // The scheduler has forgotten it. One that does not answer now may do so later.
    return error.kind() == ErrorKind::kUsage;
  }
}

}  // namespace nadi::inline ask
