// The lines of a text file of any size, one at a time.
//
//   LineReader lines(path);
//   while (lines.next()) use(lines.line(), lines.number());
//
// Lines end with "\n" or "\r\n"; the last one may lack it. A byte order mark at the beginning is skipped.
// Memory is that of the longest line, which has a limit. Error (input) names the file and the byte: a longer
// line, what is not UTF-8, a failure to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/units.h"

namespace nadi::inline files {

// UTF-8's, which some editors put at the start of a file.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class LineReader {
 public:
  // Opens a file or a pipe.
  explicit LineReader(const std::filesystem::path& path, Bytes longest_line = 64_MiB);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Moves on to the next line, or returns false at the end.
  bool next();

  // Without its end; valid until next().
  std::string_view line() const { return line_; }
  std::int64_t number() const { return number_; }  // from 1
  // File and line number.
  Place place() const { return {.file = name_, .line = number_}; }

 private:
  bool read_more();
  Error error_at_byte(std::size_t index, std::string message) const;

  std::string name_;
  Bytes longest_line_;
  int file_ = -1;
  std::string buffer_;
  std::size_t begin_ = 0;          // of the bytes in buffer_ that no line has had yet
  std::int64_t buffer_start_ = 0;  // where in the file buffer_ begins
  std::string_view line_;
  std::int64_t number_ = 0;
};

}  // namespace nadi::inline files
