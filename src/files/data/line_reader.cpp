#include "nadi/data/line_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;

std::string system_message() {
  return std::generic_category().message(errno);
}

}  // namespace

LineReader::LineReader(const std::filesystem::path& path, Bytes longest_line)
    : name_(path.string()), longest_line_(longest_line) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw read_error(name_, errno);
}

LineReader::~LineReader() {
  ::close(file_);
}

bool LineReader::next() {
  const auto most = static_cast<std::size_t>(longest_line_.count());
  std::size_t end = buffer_.find('\n', begin_);
  while (end == std::string::npos && buffer_.size() - begin_ <= most) {
    const std::size_t searched = buffer_.size() - begin_;
    if (!read_more()) break;
    end = buffer_.find('\n', searched);  // begin_ is 0 now
  }
  const bool has_end = end != std::string::npos;
  if (!has_end) end = buffer_.size();
  if (!has_end && end == begin_) return false;
  ++number_;
  if (end - begin_ > most)
    throw error_at_byte(begin_, format("line {} is longer than {}", number_, to_string(longest_line_)));
  line_ = std::string_view(buffer_).substr(begin_, end - begin_);
  if (const std::size_t at = find_invalid_utf8(line_); at != std::string_view::npos) {
    const auto byte = static_cast<unsigned char>(line_[at]);
    throw error_at_byte(begin_ + at, format("line {} is not UTF-8: byte 0x{:02X}", number_, byte));
  }
  begin_ = has_end ? end + 1 : end;
  if (number_ == 1 && line_.starts_with(kByteOrderMark)) line_.remove_prefix(kByteOrderMark.size());
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  return true;
}

// Lets go of the bytes before begin_ and reads a chunk behind the rest. False at the end of the file.
bool LineReader::read_more() {
  buffer_.erase(0, begin_);
  buffer_start_ += static_cast<std::int64_t>(begin_);
  begin_ = 0;
  const std::size_t held = buffer_.size();
  buffer_.resize(held + kChunk);
  ssize_t got = 0;
  do {
    got = ::read(file_, buffer_.data() + held, kChunk);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(held + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && errno == EISDIR) throw WrongFileKind(name_, FileKind::kFolder, "text");
  if (got < 0) throw error_at_byte(held, format("cannot read: {}", system_message()));
  if (buffer_start_ == 0 && held == 0 && got > 0) expect_text(buffer_, name_, "text");
  return got > 0;
}

Error LineReader::error_at_byte(std::size_t index, std::string message) const {
  return input_error({.file = name_, .byte = buffer_start_ + static_cast<std::int64_t>(index)},
                     std::move(message));
}

}  // namespace nadi::inline files
