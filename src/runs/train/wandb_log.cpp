#include "nadi/train/wandb_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "nadi/base/crc32.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline runs {
namespace {

constexpr std::size_t kLogBlock = 32768;
constexpr std::size_t kChunkHead = 7;
constexpr std::string_view kLogHead{":W&B\xe1\xbe\0", 7};

enum class ChunkType : std::uint8_t { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

ChunkType chunk_type(bool first, bool last) {
  if (first) return last ? ChunkType::kWhole : ChunkType::kFirst;
  return last ? ChunkType::kLast : ChunkType::kMiddle;
}

void append_little_endian(std::string& out, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void append_chunk(std::string& out, ChunkType type, std::string_view content) {
  const auto type_byte = static_cast<std::byte>(type);
  const std::uint32_t sum =
      crc32(std::as_bytes(std::span(content)), crc32(std::span(&type_byte, std::size_t{1})));
  append_little_endian(out, sum, 4);
  append_little_endian(out, static_cast<std::uint32_t>(content.size()), 2);
  out += static_cast<char>(type);
  out += content;
}

Error log_error(const std::filesystem::path& path, std::string_view what, int error) {
  return environment_error(
      format("cannot {} '{}': {}", what, path.string(), std::generic_category().message(error)));
}

}  // namespace

WandbLog::WandbLog(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw log_error(path_, "create", errno);
  try {
    write(kLogHead);
  } catch (...) {
    close(descriptor_);  // the destructor of a half-made object does not run
    throw;
  }
}

WandbLog::~WandbLog() {
  close(descriptor_);
}

void WandbLog::append(std::string_view record) {
  std::string out;
  bool first = true;
  do {
    std::size_t room = kLogBlock - (size_ + out.size()) % kLogBlock;
    if (room < kChunkHead) {
      out.append(room, '\0');
      room = kLogBlock;
    }
    const std::string_view content = record.substr(0, room - kChunkHead);
    record.remove_prefix(content.size());
    append_chunk(out, chunk_type(first, record.empty()), content);
    first = false;
  } while (!record.empty());
  write(out);
}

void WandbLog::write(std::string_view bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw log_error(path_, "write to", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace nadi::inline runs
