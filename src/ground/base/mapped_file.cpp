#include "nadi/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"

namespace nadi::inline ground {
namespace {

static_assert(std::endian::native == std::endian::little, "load() takes bytes as they are");

Error cannot_map(const std::filesystem::path& path, int error_number) {
  return read_error(path.string(), error_number);
}

class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0) throw cannot_map(path, errno);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(number_); }

  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file(path);  // the mapping outlives it
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw cannot_map(path, errno);
  if (S_ISDIR(status.st_mode)) throw WrongFileKind(path.string(), FileKind::kFolder, "a file");
  if (!S_ISREG(status.st_mode))
    throw input_error({.file = path.string()}, "cannot read: this is no regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // cannot be mapped
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number(), 0);
  if (mapped == MAP_FAILED) throw cannot_map(path, errno);
  bytes_ = {static_cast<const std::byte*>(mapped), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace nadi::inline ground
