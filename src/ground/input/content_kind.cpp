#include "nadi/input/content_kind.h"

#include <system_error>

#include "nadi/input/chunked_input.h"

namespace nadi::inline ground {

namespace {
constexpr std::size_t kLook = std::size_t{1} << 20;
}  // namespace

FileKind content_kind(ChunkedInput& input) {
  try {
    return kind_of_bytes(input.ahead(kLook));
  } catch (const Error&) {
    // A compressed file that is damaged further on is told by what comes before that.
    const std::string_view before = input.ahead(0);
    if (before.empty()) throw;
    return kind_of_bytes(before);
  }
}

FileKind content_kind(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) return FileKind::kFolder;
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return FileKind::kUnknown;
  ChunkedInput input(path);
  return content_kind(input);
}

std::uint64_t likely_unpacked_size(const std::filesystem::path& path) {
  constexpr std::uint64_t kShrinking = 20;  // profiles and host traces shrink to a fifteenth to a thirtieth
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : kShrinking * size;
}

}  // namespace nadi::inline ground
