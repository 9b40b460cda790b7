// The logs of a job that runs, read again and again: only what is new.
//
//   JobFollower follower({folder});
//   while (...) {
//     follower.refresh({.most_time = Nanoseconds{100'000'000}});   // returns early when there is much to read
//     show(follower.log());                                        // read < size: it is still catching up
//   }
//
// A file that became shorter, or was replaced by another of the same name, is read again from its beginning
// (LogFile::replaced). New files and new nodes are noticed; a node whose files are gone stays.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/job_log/job_log.h"

namespace nadi::inline jobs {

struct RefreshOptions {
  int threads = 0;                            // 0 means as many as there are processors
  std::optional<Nanoseconds> most_time = {};  // nothing means until all is read
  std::function<void(Bytes done, Bytes total)> progress = {};
  // Takes the last line of a file although its newline is missing: for who does not come back.
  bool unfinished_lines = false;
};

class JobFollower {
 public:
  // Folders need not be there yet: a job that waits in a queue has written nothing.
  explicit JobFollower(std::vector<std::filesystem::path> folders);
  ~JobFollower();
  JobFollower(JobFollower&&) noexcept;

  // True when something new was read.
  bool refresh(const RefreshOptions& options = {});
  const JobLog& log() const { return log_; }
  JobLog take() { return std::move(log_); }  // the last call

 private:
  struct Node;
  void find_files();
  void gather_errors();

  JobLog log_;
  std::vector<std::unique_ptr<Node>> nodes_;  // beside log_.nodes, in the same order
};

}  // namespace nadi::inline jobs
