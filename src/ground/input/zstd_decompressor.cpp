// zstd (RFC 8878) through libzstd, which checks the checksums of frames that have one. A file may have
// several frames, and skippable ones between them.
#include <zstd.h>

#include "nadi/base/format.h"
#include "nadi/input/decompressor.h"

namespace nadi::inline ground {

namespace {

class ZstdDecompressor : public Decompressor {
 public:
  explicit ZstdDecompressor(CompressedBytes bytes)
      : Decompressor(std::move(bytes)), stream_(ZSTD_createDStream()) {
    check(stream_ != nullptr, "libzstd does not start");
  }
  ~ZstdDecompressor() override { ZSTD_freeDStream(stream_); }
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;

 private:
  void unpack(char* to, std::size_t room, std::size_t& got) override {
    ZSTD_outBuffer out{to, room, 0};
    while (out.pos == 0) {
      const std::string_view ahead = bytes_.ahead();
      if (ahead.empty() && between_frames_) return;
      if (frame_begins_) declared_ = ZSTD_getFrameContentSize(ahead.data(), ahead.size());
      frame_begins_ = false;
      ZSTD_inBuffer in{ahead.data(), ahead.size(), 0};
      const std::size_t before = out.pos;
      const std::size_t status = ZSTD_decompressStream(stream_, &out, &in);
      bytes_.consume(in.pos);
      got = out.pos;
      unpacked_ += out.pos - before;
      if (ZSTD_isError(status) != 0)
        throw bytes_.error(format("the zstd file is damaged: {}", ZSTD_getErrorName(status)));
      between_frames_ = status == 0;
      if (between_frames_) end_frame();
      // Nothing left to feed it and nothing came out: the rest of the frame is missing.
      if (ahead.empty() && out.pos == 0 && !between_frames_) throw bytes_.error("the zstd file is cut short");
    }
  }

  // libzstd holds a frame's size against what its header says only where all of it fits the caller's buffer.
  void end_frame() {
    const bool is_known = declared_ != ZSTD_CONTENTSIZE_UNKNOWN && declared_ != ZSTD_CONTENTSIZE_ERROR;
    if (is_known && declared_ != unpacked_)
      throw bytes_.error(
          format("the zstd file is damaged: a frame of {} bytes holds {}", declared_, unpacked_));
    unpacked_ = 0;
    frame_begins_ = true;
  }

  ZSTD_DStream* stream_;
  bool between_frames_ = false;
  bool frame_begins_ = true;
  unsigned long long declared_ = 0;  // of this frame, by its header
  std::uint64_t unpacked_ = 0;       // of this frame so far
};

}  // namespace

std::unique_ptr<Decompressor> make_zstd_decompressor(CompressedBytes bytes) {
  return std::make_unique<ZstdDecompressor>(std::move(bytes));
}

}  // namespace nadi::inline ground
