// A text file of any size in blocks of whole lines, to be worked on by several threads.
//
//   LineBlockReader reader(path);
//   LineBlock block;
//   while (reader.next(block)) use(block.text, block.first_line);
//
// A block is about 1 MiB, or one line where that is longer; the last line may lack its "\n". A byte order
// mark at the beginning of the file is skipped. What is in the lines is not looked at: line_reader.h does
// that, line by line. Error (input) names the file: it cannot be read, or a line is beyond the limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "nadi/base/units.h"

namespace nadi::inline files {

struct LineBlock {
  std::string text = {};
  std::int64_t first_line = 1;
};

struct LineBlockOptions {
  Bytes block = 1_MiB;
  Bytes longest_line = 1_GiB;
  // Called when a signal arrives while a pipe is waited for; may throw.
  std::function<void()> on_signal = {};
};

class LineBlockReader {
 public:
  // Opens a file or a pipe.
  explicit LineBlockReader(const std::filesystem::path& path, LineBlockOptions options = {});
  ~LineBlockReader();
  LineBlockReader(const LineBlockReader&) = delete;
  LineBlockReader& operator=(const LineBlockReader&) = delete;

  // Replaces the contents of `block`, or returns false at the end.
  bool next(LineBlock& block);

 private:
  bool read_more(std::string& text);

  std::string name_;
  LineBlockOptions options_;
  int file_ = -1;
  std::string rest_;  // the beginning of a line whose end is not read yet
  std::int64_t lines_ = 0;
  bool at_start_ = true;
};

}  // namespace nadi::inline files
