#include "nadi/job_log/line_follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace nadi::inline jobs {
namespace {

constexpr std::size_t kBeginning = 256;
constexpr std::size_t kTailBytes = std::size_t{8} << 10;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

std::size_t read_at(int descriptor, char* to, std::size_t room, std::int64_t offset) {
  ssize_t got = 0;
  do {
    got = ::pread(descriptor, to, room, offset);
  } while (got < 0 && errno == EINTR);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

std::vector<std::string> last_lines(std::string_view text, bool whole) {
  if (!whole) text.remove_prefix(std::min(text.find('\n') + 1, text.size()));  // no newline: npos + 1 is 0
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < kTailLines) {
    const std::size_t newline = text.rfind('\n');
    std::string_view line = newline == std::string_view::npos ? text : text.substr(newline + 1);
    while (line.ends_with('\r')) line.remove_suffix(1);
    if (const std::size_t back = line.rfind('\r'); back != std::string_view::npos)
      line.remove_prefix(back + 1);
    lines.emplace_back(line.substr(0, kLongestTailLine));
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(0, newline);
  }
  std::ranges::reverse(lines);
  return lines;
}

}  // namespace

LineFollower::Change LineFollower::look(LogFile& file) {
  file.path = path_;
  struct stat about {};
  if (::stat(path_.c_str(), &about) != 0) {
    file.problem = std::strerror(errno);
    size_ = offset_;
    return Change::kNone;
  }
  if (!S_ISREG(about.st_mode)) {
    file.problem = "this is no file";
    size_ = offset_;
    return Change::kNone;
  }
  file.problem.clear();
  const std::int64_t modified = about.st_mtim.tv_sec * kNanosecondsPerSecond + about.st_mtim.tv_nsec;
  const bool same_file = about.st_dev == device_ && about.st_ino == inode_;
  if (same_file && modified == modified_ns_ && about.st_size == size_)
    return unread() > 0 ? Change::kGrown : Change::kNone;
  const bool known = device_ != 0 || inode_ != 0;
  bool replaced = known && (!same_file || about.st_size < offset_);
  if (known && !replaced && !beginning_.empty()) {
    std::string beginning(beginning_.size(), '\0');
    const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0) {
      replaced = read_at(descriptor, beginning.data(), beginning.size(), 0) != beginning.size() ||
                 beginning != beginning_;
      ::close(descriptor);
    }
  }
  device_ = about.st_dev;
  inode_ = about.st_ino;
  modified_ns_ = modified;
  size_ = about.st_size;
  file.modified = about.st_mtim.tv_sec;
  if (replaced) {
    const std::int64_t times = file.replaced + 1;
    file = LogFile{.path = path_, .modified = about.st_mtim.tv_sec, .replaced = times};
    offset_ = pending_at_ = 0;
    pending_.clear();
    pending_is_long_ = false;
    beginning_.clear();
    return Change::kReplaced;
  }
  return unread() > 0 ? Change::kGrown : Change::kNone;
}

bool LineFollower::open(LogFile& file) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ >= 0) return true;
  file.problem = std::strerror(errno);
  size_ = offset_;
  return false;
}

void LineFollower::close(LogFile& file) {
  std::string end(kTailBytes, '\0');
  const std::int64_t from = std::max<std::int64_t>(0, size_ - static_cast<std::int64_t>(kTailBytes));
  end.resize(read_at(descriptor_, end.data(), end.size(), from));
  file.tail = last_lines(end, from == 0);
  ::close(descriptor_);
  descriptor_ = -1;
}

std::string_view LineFollower::next_block(LogFile& file, std::span<char> buffer) {
  const std::size_t wanted = std::min(buffer.size(), static_cast<std::size_t>(unread()));
  const std::size_t got = read_at(descriptor_, buffer.data(), wanted, offset_);
  if (got == 0) {
    size_ = offset_;  // it was cut short meanwhile: the next look notices
    return {};
  }
  if (beginning_.size() < kBeginning && offset_ == static_cast<std::int64_t>(beginning_.size()))
    beginning_.append(buffer.data(), std::min(got, kBeginning - beginning_.size()));
  offset_ += static_cast<std::int64_t>(got);
  file.size = Bytes{offset_};
  return {buffer.data(), got};
}

void LineFollower::append(LogFile& file, std::string_view part) {
  const std::size_t room = kLongestLogLine - pending_.size();
  if (part.size() <= room) {
    pending_.append(part);
    return;
  }
  if (!pending_is_long_) ++file.long_lines;
  pending_is_long_ = true;
  if (const std::size_t back = part.rfind('\r'); back != std::string_view::npos) {
    pending_.assign(part.substr(back + 1, kLongestLogLine));
  } else if (const std::size_t own = pending_.rfind('\r'); own != std::string_view::npos) {
    pending_.erase(0, own + 1);
    pending_.append(part.substr(0, kLongestLogLine - pending_.size()));
  } else {
    pending_.append(part.substr(0, room));
  }
}

}  // namespace nadi::inline jobs
