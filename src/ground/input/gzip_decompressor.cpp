// gzip (RFC 1952) through zlib, which checks the length and CRC-32 of each member. A file may have several
// members, as those of parallel compressors and of log files appended to have. Zeros behind the last one are
// padding (tapes, some file systems); anything else there is damage.
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "nadi/base/format.h"
#include "nadi/input/decompressor.h"

namespace nadi::inline ground {

namespace {

constexpr int kLargestWindow = 15;
constexpr int kWithGzipHeader = 16;
constexpr std::string_view kMagic = "\x1f\x8b";

class GzipDecompressor : public Decompressor {
 public:
  explicit GzipDecompressor(CompressedBytes bytes) : Decompressor(std::move(bytes)) {
    check(inflateInit2(&stream_, kLargestWindow + kWithGzipHeader) == Z_OK, "zlib does not start");
  }
  ~GzipDecompressor() override { inflateEnd(&stream_); }
  GzipDecompressor(const GzipDecompressor&) = delete;
  GzipDecompressor& operator=(const GzipDecompressor&) = delete;

 private:
  void unpack(char* to, std::size_t room, std::size_t& got) override {
    while (got == 0 && !finished_) {
      const std::string_view ahead = bytes_.ahead();
      if (between_members_) {
        next_member();
        continue;
      }
      if (ahead.empty()) throw bytes_.error("the gzip file is cut short");
      step(ahead, to, room, got);
    }
  }

  void step(std::string_view ahead, char* to, std::size_t room, std::size_t& got) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(ahead.data()));
    stream_.avail_in = static_cast<uInt>(std::min(ahead.size(), kMost));
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min(room, kMost));
    const int status = inflate(&stream_, Z_NO_FLUSH);
    bytes_.consume(static_cast<std::size_t>(reinterpret_cast<const char*>(stream_.next_in) - ahead.data()));
    got = static_cast<std::size_t>(reinterpret_cast<const char*>(stream_.next_out) - to);
    if (status == Z_STREAM_END) between_members_ = true;
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      throw bytes_.error(
          format("the gzip file is damaged: {}", stream_.msg == nullptr ? "no reason" : stream_.msg));
  }

  void next_member() {
    if (bytes_.ahead(kMagic.size()).starts_with(kMagic)) {
      check(inflateReset(&stream_) == Z_OK, "zlib does not start again");
      between_members_ = false;
      return;
    }
    std::string_view ahead = bytes_.ahead();
    while (!ahead.empty()) {
      const std::size_t zeros = std::min(ahead.find_first_not_of('\0'), ahead.size());
      bytes_.consume(zeros);
      if (zeros < ahead.size()) throw bytes_.error("behind the end of the gzip data is something else");
      ahead = bytes_.ahead();
    }
    finished_ = true;
  }

  z_stream stream_{};
  bool between_members_ = false;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<Decompressor> make_gzip_decompressor(CompressedBytes bytes) {
  return std::make_unique<GzipDecompressor>(std::move(bytes));
}

}  // namespace nadi::inline ground
