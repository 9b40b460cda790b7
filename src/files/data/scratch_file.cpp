#include "nadi/data/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/resource_shortage.h"

namespace nadi::inline files {
namespace {

Error scratch_error(const std::filesystem::path& folder, std::string_view action) {
  const int problem = errno;
  if (const auto shortage = resource_shortage(problem, format("{} a temporary file in this folder", action),
                                              {.file = folder.string()}))
    return *shortage;
  return Error{ErrorKind::kEnvironment,
               {.file = folder.string()},
               format("cannot {} a temporary file in this folder: {}", action,
                      std::generic_category().message(problem))};
}

int open_without_name(const std::filesystem::path& folder) {
  if (const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); file >= 0) return file;
  // Some file systems cannot (NFS): there it has a name for a moment.
  std::string name = (folder / ".nadi.scratch.XXXXXX").string();
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) throw scratch_error(folder, "create");
  ::unlink(name.c_str());
  return file;
}

}  // namespace

ScratchFile::ScratchFile(std::filesystem::path folder)
    : folder_(std::move(folder)), file_(open_without_name(folder_)) {}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      file_(std::exchange(other.file_, -1)),
      buffer_(std::move(other.buffer_)),
      size_(other.size_) {}

ScratchFile::~ScratchFile() {
  if (file_ >= 0) ::close(file_);
}

void ScratchFile::append(std::string_view bytes) {
  size_ += static_cast<std::int64_t>(bytes.size());
  buffer_ += bytes;
  if (buffer_.size() >= kBlock) flush();
}

void ScratchFile::flush() {
  for (std::string_view rest = buffer_; !rest.empty();) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw scratch_error(folder_, "write");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void ScratchFile::for_each_block(const std::function<void(std::string_view block)>& visit) {
  flush();
  std::string block(kBlock, '\0');
  for (std::int64_t at = 0; at < size_;) {
    const std::size_t wanted = std::min(kBlock, static_cast<std::size_t>(size_ - at));
    for (std::size_t got = 0; got < wanted;) {
      const ssize_t more =
          ::pread(file_, block.data() + got, wanted - got, at + static_cast<std::int64_t>(got));
      if (more < 0 && errno == EINTR) continue;
      if (more <= 0) throw scratch_error(folder_, "read");
      got += static_cast<std::size_t>(more);
    }
    visit(std::string_view(block).substr(0, wanted));
    at += static_cast<std::int64_t>(wanted);
  }
}

}  // namespace nadi::inline files
