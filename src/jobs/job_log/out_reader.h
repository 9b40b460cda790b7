// Reads the lines of <node>.out into a NodeLog: settings, starts, iterations, memory, validation.
//
// Most lines of a log are none of these, and there are hundreds of megabytes of them: the first letters
// decide, and only then is a line parsed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "nadi/job_log/node_log.h"
#include "nadi/job_log/series_limit.h"

namespace nadi::inline jobs {

class OutReader {
 public:
  // `offset`: of the line in the file. The number of the line is node.out.lines.
  void line(NodeLog& node, std::string_view text, std::int64_t offset);
  // The last line of a file, which has no newline and gets none: only lines whose fields have ends of their
  // own count. Half of a setting's value would be a wrong one.
  void unfinished_line(NodeLog& node, std::string_view text, std::int64_t offset);
  // The file was replaced: forgets all that came from it.
  void restart(NodeLog& node);

 private:
  void setting(NodeLog& node, std::string_view name, std::string_view value);
  void start(NodeLog& node, std::optional<std::int64_t> restarts);
  void add(NodeLog& node, IterationPoint point);
  bool iteration(NodeLog& node, std::string_view text, std::int64_t offset);
  bool own_step(NodeLog& node, std::string_view text, std::int64_t offset);
  void variable(NodeLog& node, std::string_view text);
  void argument(NodeLog& node, std::string_view text);

  std::unordered_map<std::string, std::size_t> setting_index_;
  SeriesLimit limit_{.most = kMostPoints, .alone = kFirstPoints};
  bool counts_restarts_ = false;      // SLURM_RESTART_COUNT was printed
  bool iterated_ = false;             // since the start
  std::int64_t last_iteration_ = -1;  // of the start
};

}  // namespace nadi::inline jobs
