// Lines of a file that grows: each call reads what is new since the last.
//
//   LineFollower follower(path);
//   if (follower.look(file) == LineFollower::Change::kReplaced) forget_everything();
//   follower.read(file, buffer, [&](std::string_view line, std::int64_t offset) { ... }, stop);
//
// A line is delivered when its newline is there; of one longer than kLongestLogLine only the beginning. Where
// a program overwrites its line with carriage returns (progress bars), of such a long line the newest part is
// kept. Files are read, not mapped: a mapped file that is cut short ends the program.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "nadi/job_log/node_log.h"

namespace nadi::inline jobs {

class LineFollower {
 public:
  enum class Change : std::uint8_t { kNone, kGrown, kReplaced };

  LineFollower() = default;
  explicit LineFollower(std::filesystem::path path) : path_(std::move(path)) {}

  // Looks at the file's size, age and beginning, and fills in LogFile. After kReplaced the lines come again
  // from the first.
  Change look(LogFile& file);
  std::int64_t unread() const { return size_ > offset_ ? size_ - offset_ : 0; }
  std::int64_t size() const { return size_; }

  // Calls line(text, offset) for each new line until the end of the file, or until stop() is true, which is
  // asked between blocks. LogFile counts lines: during the call LogFile::lines is the number of the line.
  template <typename Line, typename Stop>
  void read(LogFile& file, std::span<char> buffer, const Line& line, const Stop& stop) {
    if (!open(file)) return;
    while (unread() > 0) {
      const std::int64_t block_at = offset_;
      const std::string_view block = next_block(file, buffer);
      if (block.empty()) break;
      deliver(file, block, block_at, line);
      if (stop(block.size())) break;
    }
    close(file);
  }

  // The unfinished last line, for readers that will not come again.
  template <typename Line>
  void finish(LogFile& file, const Line& line) {
    if (pending_.empty()) return;
    ++file.lines;
    line(std::string_view(pending_), pending_at_);
    pending_.clear();
    pending_at_ = offset_;
  }

 private:
  bool open(LogFile& file);
  void close(LogFile& file);  // also reads the tail
  std::string_view next_block(LogFile& file, std::span<char> buffer);
  void append(LogFile& file, std::string_view part);

  template <typename Line>
  void deliver(LogFile& file, std::string_view block, std::int64_t block_at, const Line& line) {
    const char* at = block.data();
    const char* const end = at + block.size();
    while (at < end) {
      const auto* const newline =
          static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
      const char* const stop = newline != nullptr ? newline : end;
      const std::string_view part(at, static_cast<std::size_t>(stop - at));
      if (newline == nullptr) return append(file, part);
      ++file.lines;
      if (!pending_.empty() || pending_is_long_) {
        append(file, part);
        line(std::string_view(pending_), pending_at_);
        pending_.clear();
        pending_is_long_ = false;
      } else if (part.size() > kLongestLogLine) {
        ++file.long_lines;
        line(part.substr(0, kLongestLogLine), block_at + (at - block.data()));
      } else {
        line(part, block_at + (at - block.data()));
      }
      at = stop + 1;
      pending_at_ = block_at + (at - block.data());
    }
  }

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t offset_ = 0;  // of the next byte to read
  std::int64_t size_ = 0;
  std::uint64_t device_ = 0, inode_ = 0;
  std::int64_t modified_ns_ = -1;
  std::string beginning_;  // of the file, to notice that it was written anew
  std::string pending_;    // the beginning of an unfinished line
  bool pending_is_long_ = false;
  std::int64_t pending_at_ = 0;
};

}  // namespace nadi::inline jobs
