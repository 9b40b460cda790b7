// Packs texts as gzip and zstd would, where this build has the libraries for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#if NADI_WITH_ZLIB
#include <zlib.h>
#endif
#if NADI_WITH_ZSTD
#include <zstd.h>
#endif

namespace nadi::inline ground {

#if NADI_WITH_ZLIB
inline std::string gzip(std::string_view text) {
  constexpr int kWithGzipHeader = 16;
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + kWithGzipHeader, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}
#endif

#if NADI_WITH_ZSTD
// With a checksum.
inline std::string zstd(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  packed.resize(ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return packed;
}
#endif

struct Packing {
  const char* name;
  std::string (*pack)(std::string_view);
};

inline std::vector<Packing> packings() {
  return {
#if NADI_WITH_ZLIB
    {"gzip", &gzip},
#endif
#if NADI_WITH_ZSTD
        {"zstd", &zstd},
#endif
  };
}

}  // namespace nadi::inline ground
