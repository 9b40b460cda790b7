#include "nadi/data/line_blocks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/data/line_reader.h"

namespace nadi::inline files {
namespace {

std::string system_message(int number) {
  return std::generic_category().message(number);
}

}  // namespace

LineBlockReader::LineBlockReader(const std::filesystem::path& path, LineBlockOptions options)
    : name_(path.string()), options_(std::move(options)) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw read_error(name_, errno);
}

LineBlockReader::~LineBlockReader() {
  ::close(file_);
}

bool LineBlockReader::next(LineBlock& block) {
  std::string& text = block.text;
  text.swap(rest_);
  rest_.clear();
  // No "\n" is in what was left over, so the last one is searched for in what is new.
  std::size_t end = std::string::npos;
  bool more = true;
  while (more && end == std::string::npos) {
    const std::size_t old_size = text.size();
    more = read_more(text);
    const std::size_t last = text.rfind('\n');
    if (last != std::string::npos && last >= old_size) end = last + 1;
    if (end == std::string::npos && text.size() > static_cast<std::size_t>(options_.longest_line.count()))
      throw input_error({.file = name_, .line = lines_ + 1},
                        format("the line is longer than {}", to_string(options_.longest_line)));
  }
  if (end != std::string::npos) {
    rest_.assign(text, end);
    text.resize(end);
  }
  block.first_line = lines_ + 1;
  lines_ += std::count(text.begin(), text.end(), '\n');
  if (std::exchange(at_start_, false) && text.starts_with(kByteOrderMark))
    text.erase(0, kByteOrderMark.size());
  return !text.empty();
}

// Fills a block up, or adds as much to what is more than one. False at the end of the file.
bool LineBlockReader::read_more(std::string& text) {
  const auto block = static_cast<std::size_t>(options_.block.count());
  const std::size_t held = text.size();
  std::size_t wanted = held < block ? block - held : block;
  text.resize(held + wanted);
  char* to = text.data() + held;
  bool more = true;
  while (wanted > 0) {
    const ssize_t got = ::read(file_, to, wanted);
    if (got < 0 && errno == EINTR) {
      if (options_.on_signal) options_.on_signal();
      continue;
    }
    if (got < 0 && errno == EISDIR) throw WrongFileKind(name_, FileKind::kFolder, "text");
    if (got < 0) throw input_error({.file = name_}, format("cannot read: {}", system_message(errno)));
    more = got > 0;
    if (!more) break;
    to += got;
    wanted -= static_cast<std::size_t>(got);
  }
  text.resize(text.size() - wanted);
  if (at_start_ && held == 0 && !text.empty())
    expect_text(std::string_view(text).substr(0, kFileKindBytes), name_, "text");
  return more;
}

}  // namespace nadi::inline files
