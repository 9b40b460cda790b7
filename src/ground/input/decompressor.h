// Unpacks a compressed file as it is read: the part of ChunkedInput that knows gzip and zstd. For our own
// sources.
//
//   auto decompressor = make_gzip_decompressor(CompressedBytes(first, read, name));
//   while (std::size_t got = decompressor->read(to, room)) ...
//
// Memory is the window of the format, whatever the unpacked size: 32 KiB for gzip, at most 128 MiB for
// zstd. Whatever is wrong is Error (input) with the byte of the compressed file, and comes after what could
// be unpacked before it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nadi/base/error.h"

namespace nadi::inline ground {

// The compressed file: what lies ahead, in order.
class CompressedBytes {
 public:
  using Read = std::function<std::size_t(char* to, std::size_t room)>;  // 0 at the end only

  // `first` is the beginning of the file and is copied, unless `read` is empty: then it is all of the file,
  // and outlives this.
  CompressedBytes(std::string_view first, Read read, std::string name)
      : name_(std::move(name)), read_(std::move(read)), ahead_(first) {
    if (!read_) return;
    buffer_.assign(std::max(first.size(), kBuffer), '\0');
    std::memcpy(buffer_.data(), first.data(), first.size());
    ahead_ = {buffer_.data(), first.size()};
  }
  // ahead_ looks into buffer_, which must therefore not be a short string kept within: it never is.
  CompressedBytes(CompressedBytes&&) = default;
  CompressedBytes& operator=(CompressedBytes&&) = delete;

  // At least `wanted` bytes (few), unless the file ends before that.
  std::string_view ahead(std::size_t wanted = 1) {
    while (ahead_.size() < wanted && read_) {
      std::memmove(buffer_.data(), ahead_.data(), ahead_.size());
      const std::size_t got = read_(buffer_.data() + ahead_.size(), buffer_.size() - ahead_.size());
      if (got == 0) read_ = nullptr;
      ahead_ = {buffer_.data(), ahead_.size() + got};
    }
    return ahead_;
  }
  void consume(std::size_t count) {
    ahead_.remove_prefix(count);
    position_ += count;
  }
  std::uint64_t position() const { return position_; }

  // An Error (input) at the byte that lies ahead.
  Error error(std::string message) const {
    return input_error({.file = name_, .byte = static_cast<std::int64_t>(position_)}, std::move(message));
  }

 private:
  static constexpr std::size_t kBuffer = std::size_t{128} << 10;

  std::string name_;
  Read read_;
  std::string buffer_;
  std::string_view ahead_;
  std::uint64_t position_ = 0;
};

class Decompressor {
 public:
  virtual ~Decompressor() = default;

  // Up to `room` bytes of what was compressed; 0 at the end only.
  std::size_t read(char* to, std::size_t room) {
    if (failure_) throw Error(*failure_);
    std::size_t got = 0;
    try {
      unpack(to, room, got);
    } catch (const Error& error) {
      failure_ = error;
      if (got == 0) throw;
    }
    return got;
  }
  // Bytes of the compressed file that were used.
  std::uint64_t position() const { return bytes_.position(); }

 protected:
  explicit Decompressor(CompressedBytes bytes) : bytes_(std::move(bytes)) {}
  // Sets `got`, too, where it throws.
  virtual void unpack(char* to, std::size_t room, std::size_t& got) = 0;

  CompressedBytes bytes_;

 private:
  std::optional<Error> failure_;
};

std::unique_ptr<Decompressor> make_gzip_decompressor(CompressedBytes bytes);
std::unique_ptr<Decompressor> make_zstd_decompressor(CompressedBytes bytes);

}  // namespace nadi::inline ground
