#include "nadi/checkpoint/safetensors_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/mapped_file.h"
#include "nadi/base/nearest.h"
#include "nadi/base/read_error.h"
#include "nadi/checkpoint/element_conversion.h"

namespace nadi::inline files {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;  // read at a time where elements are converted

Error cannot_read(const std::string& file, int error_number) {
  return read_error(file, error_number);
}

}  // namespace

struct SafetensorsReader::Mapping {
  std::once_flag once;
  std::optional<MappedFile> file;
};

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path)
    : file_(path.string()), mapping_(std::make_unique<Mapping>()) {
  open_file(path);
  try {
    read_header();
  } catch (...) {
    ::close(descriptor_);  // the destructor is not called for what was never constructed
    throw;
  }
}

SafetensorsReader::SafetensorsReader(std::span<const std::byte> bytes, std::string name)
    : file_(std::move(name)),
      mapping_(std::make_unique<Mapping>()),
      memory_(bytes),
      file_size_(static_cast<std::int64_t>(bytes.size())) {
  read_header();
}

SafetensorsReader::SafetensorsReader(SafetensorsReader&& other) noexcept
    : file_(std::move(other.file_)),
      mapping_(std::move(other.mapping_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      memory_(other.memory_),
      file_size_(other.file_size_),
      data_begin_(other.data_begin_),
      header_(std::move(other.header_)),  // the tensors stay where they are, and so do their names
      by_name_(std::move(other.by_name_)) {}

SafetensorsReader::~SafetensorsReader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SafetensorsReader::open_file(const std::filesystem::path& path) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw cannot_read(file_, errno);
  struct stat status {};
  const int failed = fstat(descriptor_, &status) != 0 ? errno : 0;
  const bool is_folder = S_ISDIR(status.st_mode);
  if (failed == 0 && S_ISREG(status.st_mode)) {
    file_size_ = status.st_size;
    return;
  }
  ::close(std::exchange(descriptor_, -1));
  if (is_folder) throw WrongFileKind(file_, FileKind::kFolder, "a safetensors file");
  throw failed != 0 ? cannot_read(file_, failed)
                    : input_error({.file = file_}, "cannot read: not a regular file");
}

// A repository of weights that was cloned without git-lfs holds small text files in their place.
void SafetensorsReader::expect_safetensors() const {
  std::string start(static_cast<std::size_t>(std::min<std::int64_t>(file_size_, kFileKindBytes)), '\0');
  read_at(0, std::as_writable_bytes(std::span(start)));
  expect_kind(start, file_, "a safetensors file", {FileKind::kSafetensors});
}

void SafetensorsReader::read_header() {
  expect_safetensors();
  if (file_size_ < kSafetensorsLengthBytes)
    throw input_error({.file = file_, .byte = 0},
                      format("a file of {} bytes is too short for a safetensors file", file_size_));
  expect_safetensors();
  std::array<std::byte, kSafetensorsLengthBytes> prefix;
  read_at(0, prefix);
  const auto length = std::bit_cast<std::uint64_t>(prefix);
  if (length > static_cast<std::uint64_t>(kMaxSafetensorsHeader))
    throw input_error({.file = file_, .byte = 0},
                      format("a header of {} bytes is over the limit of {}", length, kMaxSafetensorsHeader),
                      "is this a safetensors file?");
  data_begin_ = kSafetensorsLengthBytes + static_cast<std::int64_t>(length);
  if (data_begin_ > file_size_)
    throw input_error({.file = file_, .byte = kSafetensorsLengthBytes},
                      format("a header of {} bytes runs past the end of the file", length),
                      "the file may have been cut short: copy or download it again");
  std::string text(static_cast<std::size_t>(length), '\0');
  read_at(kSafetensorsLengthBytes, std::as_writable_bytes(std::span(text)));
  header_ = parse_safetensors_header(text, file_size_ - data_begin_, file_);
  for (std::size_t i = 0; i < header_.tensors.size(); ++i) by_name_.emplace(header_.tensors[i].name, i);
}

std::span<const std::byte> SafetensorsReader::mapped_file() const {
  if (descriptor_ < 0) return memory_;
  std::call_once(mapping_->once, [&] { mapping_->file.emplace(file_); });
  if (static_cast<std::int64_t>(mapping_->file->bytes().size()) != file_size_)
    throw input_error({.file = file_}, "the file has changed since it was opened");
  return mapping_->file->bytes();
}

std::span<const std::byte> SafetensorsReader::mapped(const SafetensorsTensor& tensor) const {
  return mapped_file().subspan(static_cast<std::size_t>(data_begin_ + tensor.begin),
                               static_cast<std::size_t>(tensor.size().count()));
}

std::span<const std::byte> SafetensorsReader::mapped_header() const {
  return mapped_file().first(static_cast<std::size_t>(data_begin_));
}

const SafetensorsTensor* SafetensorsReader::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &header_.tensors[found->second];
}

const SafetensorsTensor& SafetensorsReader::at(std::string_view name) const {
  if (const SafetensorsTensor* found = find(name)) return *found;
  std::vector<std::string_view> names;
  for (const SafetensorsTensor& tensor : header_.tensors) names.push_back(tensor.name);
  const auto near = nearest(name, names);
  throw input_error({.file = file_}, format("tensor {} is missing", quoted_name(name)),
                    near ? format("the file has {}", quoted_name(*near)) : "");
}

void SafetensorsReader::read(std::string_view name, DType wanted, std::span<std::byte> out) const {
  read(at(name), wanted, out);
}

void SafetensorsReader::read(const SafetensorsTensor& tensor, DType wanted, std::span<std::byte> out) const {
  if (tensor.dtype == file_dtype(wanted)) return read_bytes(tensor, out);
  if (!can_convert_elements(tensor.dtype, wanted))
    throw input_error({.file = file_},
                      format("tensor {} holds {}, which cannot be read as {}", quoted_name(tensor.name),
                             to_string(tensor.dtype), to_string(wanted)));
  const auto from_size = static_cast<std::size_t>(size_of(tensor.dtype));
  const auto to_size = static_cast<std::size_t>(size_of(wanted));
  std::size_t left = static_cast<std::size_t>(tensor.size().count()) / from_size;
  check(out.size() == left * to_size, "a tensor is read into memory of another size");
  std::vector<std::byte> block(std::min(kBlock, left * from_size));
  for (std::int64_t offset = data_begin_ + tensor.begin; left > 0;) {
    const std::size_t count = std::min(left, block.size() / from_size);
    read_at(offset, std::span(block).first(count * from_size));
    convert_elements(tensor.dtype, block.data(), wanted, out.data(), count);
    offset += static_cast<std::int64_t>(count * from_size);
    out = out.subspan(count * to_size);
    left -= count;
  }
}

void SafetensorsReader::read_bytes(const SafetensorsTensor& tensor, std::span<std::byte> out) const {
  check(static_cast<std::int64_t>(out.size()) == tensor.size().count(),
        "a tensor is read into memory of another size");
  read_at(data_begin_ + tensor.begin, out);
}

void SafetensorsReader::read_at(std::int64_t offset, std::span<std::byte> out) const {
  if (descriptor_ < 0) {
    std::ranges::copy(memory_.subspan(static_cast<std::size_t>(offset), out.size()), out.begin());
    return;
  }
  while (!out.empty()) {
    const ssize_t count = pread(descriptor_, out.data(), out.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw cannot_read(file_, errno);
    if (count == 0)
      throw input_error({.file = file_, .byte = offset}, "the file became shorter while it was read");
    out = out.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

}  // namespace nadi::inline files
