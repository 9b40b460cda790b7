// Reads the lines of <node>.err into a NodeLog: errors, grouped.
//
// Tracebacks of Python become one error each, with the text of their last line. Ranks of a node share the
// file, so that their tracebacks may be interleaved: as many last lines are taken as tracebacks have begun.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "nadi/job_log/node_log.h"

namespace nadi {

class ErrorReader {
 public:
  void line(NodeLog& node, std::string_view text);
  void restart(NodeLog& node);

 private:
  void add(NodeLog& node, ErrorSort sort, std::string_view text);

  std::map<std::string, std::size_t, std::less<>> groups_;  // by sort and key; place in NodeLog::errors
  int open_tracebacks_ = 0;
  bool after_warning_ = false;  // an indented line is the warning's source
  int start_ = 0;
  std::int64_t restarts_ = -1;  // SLURM_RESTART_COUNT
};

}  // namespace nadi
