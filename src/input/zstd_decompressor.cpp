// zstd (RFC 8878) through libzstd, which checks the checksums of frames that have one. A file may have
// several frames, and skippable ones between them.
#include <zstd.h>

#include "nadi/base/format.h"
#include "nadi/input/decompressor.h"

namespace nadi {

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
      ZSTD_inBuffer in{ahead.data(), ahead.size(), 0};
      const std::size_t status = ZSTD_decompressStream(stream_, &out, &in);
      bytes_.consume(in.pos);
      got = out.pos;
      if (ZSTD_isError(status) != 0)
        throw bytes_.error(format("the zstd file is damaged: {}", ZSTD_getErrorName(status)));
      between_frames_ = status == 0;
      // Nothing left to feed it and nothing came out: the rest of the frame is missing.
      if (ahead.empty() && out.pos == 0 && !between_frames_) throw bytes_.error("the zstd file is cut short");
    }
  }

  ZSTD_DStream* stream_;
  bool between_frames_ = false;
};

}  // namespace

std::unique_ptr<Decompressor> make_zstd_decompressor(CompressedBytes bytes) {
  return std::make_unique<ZstdDecompressor>(std::move(bytes));
}

}  // namespace nadi
