#include "nadi/job_log/job_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/job_log/job_follower.h"
#include "nadi/job_log/log_text.h"

namespace nadi::inline jobs {

const PrintedSetting* NodeLog::find_setting(std::string_view setting) const {
  const auto found = std::ranges::find(settings, setting, &PrintedSetting::name);
  return found == settings.end() ? nullptr : &*found;
}

const NodeLog* JobLog::find_node(std::string_view name) const {
  const auto found = std::ranges::find(nodes, name, &NodeLog::name);
  return found == nodes.end() ? nullptr : &*found;
}

JobLog read_job_log(const std::vector<std::filesystem::path>& folders, const JobLogOptions& options) {
  for (const std::filesystem::path& folder : folders) {
    std::error_code problem;
    if (!std::filesystem::is_directory(folder, problem))
      throw input_error({.file = folder.string()}, problem ? problem.message() : "this is no folder",
                        "a job's folder has <node>.out, <node>.err and <node>.gpu");
    std::filesystem::directory_iterator entries(folder, problem);
    if (problem) throw input_error({.file = folder.string()}, problem.message());
  }
  JobFollower follower(folders);
  follower.refresh({.threads = options.threads, .progress = options.progress, .unfinished_lines = true});
  if (follower.log().nodes.empty())
    throw input_error({.file = folders.empty() ? "" : folders.front().string()}, "no logs of a job",
                      "a job's folder has <node>.out, <node>.err and <node>.gpu");
  return follower.take();
}

namespace {

std::int64_t lines_of(const NodeLog& node) {
  std::int64_t lines = 0;
  for (const IterationPoint& point : node.points) lines += point.lines;
  return lines;
}

}  // namespace

bool is_of_newest_start(const JobLog& log, const NodeLog& node) {
  const auto restarts_of = [](const NodeLog& one) {
    return one.starts.empty() ? std::nullopt : one.starts.back().restarts;
  };
  const auto own = restarts_of(node);
  return !own || std::ranges::none_of(log.nodes, [&](const NodeLog& other) {
    return other.folder == node.folder && restarts_of(other).value_or(0) > *own;
  });
}

const NodeLog* iteration_node(const JobLog& log) {
  const NodeLog* best = nullptr;
  for (const NodeLog& node : log.nodes)
    if (!node.points.empty() && (best == nullptr || lines_of(node) > lines_of(*best))) best = &node;
  return best;
}

std::vector<IterationPoint> iterations_of(const JobLog& log) {
  // Nodes with more lines come last and win.
  std::vector<const NodeLog*> nodes;
  for (const NodeLog& node : log.nodes)
    if (!node.points.empty()) nodes.push_back(&node);
  std::ranges::stable_sort(nodes,
                           [](const NodeLog* a, const NodeLog* b) { return lines_of(*a) < lines_of(*b); });
  std::map<std::int64_t, IterationPoint> points;
  const NodeLog* const main = iteration_node(log);
  for (const NodeLog* node : nodes) {
    if (node == main) continue;
    for (const IterationPoint& point : node->points) points.insert_or_assign(point.last, point);
  }
  if (main != nullptr)
    for (const IterationPoint& point : main->points) {
      // What a later start did again, and what merged points of other nodes cover.
      points.erase(points.lower_bound(point.first), points.upper_bound(point.last));
      points.insert_or_assign(point.last, point);
    }
  std::vector<IterationPoint> result;
  result.reserve(points.size());
  for (const auto& [number, point] : points) result.push_back(point);
  return result;
}

LoggedIteration read_timers(const NodeLog& node, const IterationPoint& point, std::int64_t* damaged_lines) {
  constexpr std::size_t kMostText = std::size_t{64} << 20;
  constexpr std::size_t kStep = std::size_t{1} << 20;
  constexpr std::string_view kMarker = "elapsed time per iteration (ms):";
  const std::string name = node.out.path.string();
  const int file = ::open(node.out.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw input_error({.file = name}, std::generic_category().message(errno));
  std::string text;
  std::size_t end = std::string::npos;
  bool cut = false;
  while (end == std::string::npos) {
    if (text.size() >= kMostText) {
      cut = true;
      break;
    }
    const std::size_t before = text.size();
    text.resize(before + kStep);
    const ssize_t got =
        ::pread(file, text.data() + before, kStep, point.offset + static_cast<std::int64_t>(before));
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got <= 0) break;
    if (before == 0 && trimmed_text(text).starts_with("step "))  // of nadi train, which has no timers
      break;
    // Up to the beginning of the next iteration's line.
    const std::size_t own = text.find('\n');
    if (own == std::string::npos) continue;
    const std::size_t from = std::max(own, before > kMarker.size() ? before - kMarker.size() : 0);
    if (const std::size_t marker = text.find(kMarker, from); marker != std::string::npos)
      end = text.rfind('\n', marker) + 1;
  }
  ::close(file);
  if (trimmed_text(text).starts_with("step "))
    return {.iteration = point.last, .iterations = point.iterations, .loss = point.loss};
  if (end != std::string::npos)
    text.resize(end);
  else if (const std::size_t newline = text.rfind('\n'); cut && newline != std::string::npos)
    text.resize(newline + 1);
  TrainingLog log = parse_training_log(text, name);
  if (log.iterations.empty() || log.iterations.front().iteration != point.last)
    throw input_error({.file = name, .byte = point.offset},
                      format("the line of iteration {} is no longer here", point.last),
                      "the file was changed; read it again");
  if (damaged_lines != nullptr) *damaged_lines = log.damaged_lines + (cut ? 1 : 0);
  return std::move(log.iterations.front());
}

}  // namespace nadi::inline jobs
