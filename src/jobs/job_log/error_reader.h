// Reads the lines of <node>.err into a NodeLog: errors, grouped.
//
// Tracebacks of Python become one error each, with the text of their last line. Ranks of a node share the
// file, so that their tracebacks may be interleaved: as many last lines are taken as tracebacks have begun.
// One whose last line never came, since the process was killed or the file is cut, is an error with the
// innermost place in a file that it names: settle() adds it where nothing more is to be read for now, and the
// next line takes it back. Loggers that print a whole traceback on one line are understood.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "nadi/job_log/node_log.h"

namespace nadi::inline jobs {

class ErrorReader {
 public:
  void line(NodeLog& node, std::string_view text);
  void restart(NodeLog& node);
  void settle(NodeLog& node);

 private:
  void take_back(NodeLog& node);
  void add(NodeLog& node, ErrorSort sort, std::string_view text);

  std::map<std::string, std::size_t, std::less<>> groups_;  // by sort and key; place in NodeLog::errors
  int open_tracebacks_ = 0;
  std::int64_t traceback_line_ = 0;  // of the newest that is open
  std::string traceback_place_;      // "File "x.py", line 3, in f"
  bool settled_ = false;             // the last of NodeLog::errors is the one of settle()
  bool after_warning_ = false;       // an indented line is the warning's source
  int start_ = 0;
  std::int64_t restarts_ = -1;  // SLURM_RESTART_COUNT
};

}  // namespace nadi::inline jobs
