#include "nadi/job_log/job_follower.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <system_error>
#include <thread>

#include "nadi/base/natural_order.h"
#include "nadi/base/worker_threads.h"
#include "nadi/job_log/error_reader.h"
#include "nadi/job_log/line_follower.h"
#include "nadi/job_log/out_reader.h"
#include "nadi/job_log/sample_reader.h"

namespace nadi::inline jobs {
namespace {

// As large as a second-level cache: the lines are looked at right after they were read.
constexpr std::size_t kBlock = std::size_t{256} << 10;
// Below this, other threads are not worth starting.
constexpr std::int64_t kWorthThreads = std::int64_t{2} << 20;

enum class FileKind : std::uint8_t { kOut, kErr, kGpu };

std::optional<FileKind> kind_of(const std::filesystem::path& path) {
  const std::filesystem::path extension = path.extension();
  if (extension == ".out") return FileKind::kOut;
  if (extension == ".err") return FileKind::kErr;
  if (extension == ".gpu") return FileKind::kGpu;
  return std::nullopt;
}

}  // namespace

struct JobFollower::Node {
  LineFollower out, err, gpu;
  bool has_out = false, has_err = false, has_gpu = false;
  OutReader out_reader;
  ErrorReader error_reader;
  SampleReader sample_reader;
};

JobFollower::JobFollower(std::vector<std::filesystem::path> folders) {
  log_.folders = std::move(folders);
}
JobFollower::~JobFollower() = default;
JobFollower::JobFollower(JobFollower&&) noexcept = default;

void JobFollower::find_files() {
  bool added = false;
  for (std::size_t folder = 0; folder < log_.folders.size(); ++folder) {
    std::error_code problem;
    for (std::filesystem::directory_iterator entry(log_.folders[folder], problem), end;
         !problem && entry != end; entry.increment(problem)) {
      const std::filesystem::path& path = entry->path();
      const std::optional<FileKind> kind = kind_of(path);
      if (!kind) continue;
      const std::string name = path.stem().string();
      std::size_t at = 0;
      while (at < log_.nodes.size() && (log_.nodes[at].folder != folder || log_.nodes[at].name != name)) ++at;
      if (at == log_.nodes.size()) {
        log_.nodes.push_back({.name = name, .folder = folder});
        nodes_.push_back(std::make_unique<Node>());
        added = true;
      }
      Node& node = *nodes_[at];
      const auto take = [&](bool& has, LineFollower& follower) {
        if (has) return;
        has = true;
        follower = LineFollower(path);
      };
      switch (*kind) {
        case FileKind::kOut:
          take(node.has_out, node.out);
          break;
        case FileKind::kErr:
          take(node.has_err, node.err);
          break;
        case FileKind::kGpu:
          take(node.has_gpu, node.gpu);
          break;
      }
    }
  }
  if (!added) return;
  std::vector<std::size_t> order(nodes_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const NodeLog &first = log_.nodes[a], &second = log_.nodes[b];
    return first.folder != second.folder ? first.folder < second.folder
                                         : natural_less(first.name, second.name);
  });
  std::vector<NodeLog> logs;
  std::vector<std::unique_ptr<Node>> nodes;
  for (const std::size_t i : order) {
    logs.push_back(std::move(log_.nodes[i]));
    nodes.push_back(std::move(nodes_[i]));
  }
  log_.nodes = std::move(logs);
  nodes_ = std::move(nodes);
}

bool JobFollower::refresh(const RefreshOptions& options) {
  find_files();
  struct Task {
    std::size_t node = 0;
    FileKind kind = FileKind::kOut;
    std::int64_t unread = 0;
  };
  std::vector<Task> tasks;
  std::int64_t unread = 0, size = 0;
  bool changed = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = *nodes_[i];
    NodeLog& log = log_.nodes[i];
    const auto look = [&](bool has, LineFollower& follower, LogFile& file, FileKind kind, auto& reader) {
      if (!has) return;
      if (follower.look(file) == LineFollower::Change::kReplaced) {
        reader.restart(log);
        changed = true;
      }
      size += follower.size();
      if (follower.unread() > 0) {
        tasks.push_back({.node = i, .kind = kind, .unread = follower.unread()});
        unread += follower.unread();
      }
    };
    look(node.has_out, node.out, log.out, FileKind::kOut, node.out_reader);
    look(node.has_err, node.err, log.err, FileKind::kErr, node.error_reader);
    look(node.has_gpu, node.gpu, log.gpu, FileKind::kGpu, node.sample_reader);
  }
  std::ranges::stable_sort(tasks, std::greater{}, &Task::unread);

  const auto begin = std::chrono::steady_clock::now();
  std::atomic<std::size_t> next = 0;
  std::atomic<std::int64_t> done = 0;
  std::atomic<bool> stopped = false;
  const auto out_of_time = [&] {
    return options.most_time &&
           std::chrono::steady_clock::now() - begin > std::chrono::nanoseconds(options.most_time->count());
  };
  const auto work = [&](bool tells) {
    std::vector<char> buffer(
        static_cast<std::size_t>(std::min<std::int64_t>(kBlock, std::max<std::int64_t>(unread, 1))));
    const auto stop = [&](std::size_t bytes) {
      const std::int64_t sum = done += static_cast<std::int64_t>(bytes);
      if (tells && options.progress) options.progress(Bytes{size - unread + sum}, Bytes{size});
      if (!stopped && out_of_time()) stopped = true;
      return stopped.load();
    };
    for (std::size_t i = next++; i < tasks.size() && !stopped; i = next++) {
      Node& node = *nodes_[tasks[i].node];
      NodeLog& log = log_.nodes[tasks[i].node];
      switch (tasks[i].kind) {
        case FileKind::kOut:
          node.out.read(
              log.out, buffer,
              [&](std::string_view line, std::int64_t offset) { node.out_reader.line(log, line, offset); },
              stop);
          break;
        case FileKind::kErr:
          node.err.read(
              log.err, buffer,
              [&](std::string_view line, std::int64_t) { node.error_reader.line(log, line); }, stop);
          break;
        case FileKind::kGpu:
          node.gpu.read(
              log.gpu, buffer,
              [&](std::string_view line, std::int64_t) { node.sample_reader.line(log, line); }, stop);
          SampleReader::settle(log);
          break;
      }
    }
  };
  std::size_t threads =
      options.threads > 0 ? static_cast<std::size_t>(options.threads) : std::thread::hardware_concurrency();
  threads = unread < kWorthThreads
                ? 1
                : std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(tasks.size(), 1));
  run_workers(
      threads, [&](std::size_t worker) { work(worker == 0); }, [&] { stopped = true; });
  if (options.unfinished_lines && !stopped) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = *nodes_[i];
      NodeLog& log = log_.nodes[i];
      // Samples give nothing: what stands in their unfinished line may be half a number.
      node.out.finish(log.out, [&](std::string_view line, std::int64_t offset) {
        node.out_reader.unfinished_line(log, line, offset);
      });
      node.err.finish(log.err,
                      [&](std::string_view line, std::int64_t) { node.error_reader.line(log, line); });
    }
  }
  // A traceback without an end that nothing was added to since the last look is one whose end will not come.
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool quiet = std::ranges::none_of(
        tasks, [&](const Task& task) { return task.node == i && task.kind == FileKind::kErr; });
    const std::size_t before = log_.nodes[i].errors.size();
    if (!stopped && (quiet || options.unfinished_lines)) nodes_[i]->error_reader.settle(log_.nodes[i]);
    changed = changed || log_.nodes[i].errors.size() != before;
  }
  log_.size = Bytes{size};
  log_.read = Bytes{size - std::max<std::int64_t>(unread - done, 0)};
  changed = changed || done > 0;
  if (changed) gather_errors();
  return changed;
}

void JobFollower::gather_errors() {
  std::map<std::pair<ErrorSort, std::string_view>, std::size_t> groups;
  log_.errors.clear();
  // Keys of a vector that grows: views into the nodes' own texts stay valid.
  for (const NodeLog& node : log_.nodes)
    for (const ErrorGroup& error : node.errors) {
      const auto [place, is_new] = groups.try_emplace({error.sort, error.key}, log_.errors.size());
      if (is_new) {
        log_.errors.push_back(error);
        continue;
      }
      ErrorGroup& group = log_.errors[place->second];
      group.count += error.count;
      group.start = std::max(group.start, error.start);
      group.start_known = group.start_known && error.start_known;
      group.nodes.push_back(node.name);
    }
  std::ranges::stable_sort(log_.errors,
                           [](const ErrorGroup& a, const ErrorGroup& b) { return a.count > b.count; });
}

}  // namespace nadi::inline jobs
