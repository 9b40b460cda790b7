// What the folder of a job says: nadi's own, or one that the old scripts left, which has only <node>.out,
// <node>.err and <node>.gpu. Files of many nodes are read by several threads, as a stream: missing nodes, cut
// lines, binary rubbish and lines of 100 MB are normal, and memory stays bounded (node_log.h).
//
//   const JobLog log = read_job_log({"log2/10932251"});
//   for (const NodeLog& node : log.nodes) use(node.settings, node.points, node.devices);
//   for (const IterationPoint& point : iterations_of(log)) plot(point.last, point.mean());
//   const LoggedIteration timers = read_timers(log, node, node.points.back());      // blocks behind that
//   line
//
// The old scripts' heterogeneous mode is two jobs with two folders, master and slave: name both.
// For a job that still runs see job_follower.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "nadi/job_log/node_log.h"
#include "nadi/megatron_log/log_reader.h"

namespace nadi::inline jobs {

struct JobLog {
  std::vector<std::filesystem::path> folders = {};
  std::vector<NodeLog> nodes = {};      // by folder, then by name in natural order
  std::vector<ErrorGroup> errors = {};  // of all nodes, most frequent first
  Bytes size = {};                      // of all files
  Bytes read = {};                      // of these; less than size only while a follower catches up

  const NodeLog* find_node(std::string_view name) const;
};

struct JobLogOptions {
  int threads = 0;  // 0 means as many as there are processors
  // Called now and then by the calling thread, with bytes read and to be read. May throw.
  std::function<void(Bytes done, Bytes total)> progress = {};
};

// Error (input) for a folder that is not there, cannot be listed or has none of the three kinds of files. A
// file that cannot be read is no Error: LogFile::problem says so.
JobLog read_job_log(const std::vector<std::filesystem::path>& folders, const JobLogOptions& options = {});

// The iterations of the job: of all nodes by number, where several nodes print the same the one of the last
// start and most lines. Several starts: an iteration that was done again counts once, as the later start did
// it.
std::vector<IterationPoint> iterations_of(const JobLog& log);
// The node whose lines iterations_of() mostly has; nullptr when no node prints iterations.
const NodeLog* iteration_node(const JobLog& log);

// Whether the node took part in the newest start of the job, by Slurm's count of restarts: after a requeue
// the job may be on other nodes. True where the files do not mark their starts.
bool is_of_newest_start(const JobLog& log, const NodeLog& node);

// The line of the point (the last, where several are merged) with the blocks of timers behind it, all forms.
// At most 64 MiB of the file are looked at; what is cut there is counted in `damaged_lines` where that is
// given. Error (input) when the file has changed since.
LoggedIteration read_timers(const NodeLog& node, const IterationPoint& point,
                            std::int64_t* damaged_lines = nullptr);

}  // namespace nadi::inline jobs
