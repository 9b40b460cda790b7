// The bytes of a file without reading it: the system loads what is looked at and may let go of it again, so
// that a file larger than the memory can be used as if it were an array.
//
//   const MappedFile file(path);
//   file.bytes()
//
// The file must not be shortened while it is open: looking at what is gone ends the program. The writers here
// never do that (base/atomic_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

namespace nadi::inline ground {

class MappedFile {
 public:
  // Error (input) when there is no such file, or it is something else than a file.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// A number at a byte that need not be a multiple of its size. Little-endian, as this machine.
template <typename T>
T load(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace nadi::inline ground
