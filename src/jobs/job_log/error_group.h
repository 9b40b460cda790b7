// Errors on stderr that are not warnings, equal ones grouped.
//
// Two errors are equal when their texts are after numbers, addresses, ranks, paths of processes and times
// have been replaced by
// '#': "[rank3]: CUDA error at 0x7f10" and "[rank5]: CUDA error at 0x7ffe" are one group of two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline jobs {

enum class ErrorSort : std::uint8_t {
  kError,      // a line that says so
  kTraceback,  // of Python: the text is its last line, "RuntimeError: ..."
  kCrash,      // a signal: segmentation fault, killed, aborted
  kMemory,     // out of memory, of the GPU or of the host
  kEnding,     // Slurm ended the step: time limit, preemption, cancelled, node failure
};
std::string_view to_string(ErrorSort sort);  // "error", "traceback", "crash", "out of memory", "ended"

struct ErrorGroup {
  ErrorSort sort = ErrorSort::kError;
  std::string key = {};   // the normalised text
  std::string text = {};  // as it was first printed, at most kLongestErrorText bytes
  std::int64_t count = 0;
  std::int64_t line = 0;                // of the first, in `file`
  std::string file = {};                // "n060.err"
  int start = 0;                        // the newest start of the job that has it
  bool start_known = false;             // the files mark their starts; else `start` is 0
  std::vector<std::string> nodes = {};  // that have it, ascending
};
inline constexpr std::size_t kMostErrorGroups = 256;  // of a node
inline constexpr std::size_t kLongestErrorText = 400;

// The text with what differs from rank to rank and from run to run replaced.
std::string error_key(std::string_view text);

// What a single line of stderr is. Lines that only follow another (a traceback's, a warning's source line)
// need the reader of whole files: error_reader.h.
enum class StderrLine : std::uint8_t { kOther, kWarning, kTracebackStart, kError, kCrash, kMemory, kEnding };
StderrLine classify_stderr(std::string_view line);

}  // namespace nadi::inline jobs
