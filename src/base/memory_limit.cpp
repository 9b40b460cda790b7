#include "nadi/base/memory_limit.h"

#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi {

MemoryAllowance MemoryLimit::for_file(std::string file, std::optional<std::uint64_t> file_bytes) const {
  if (most_) return {std::move(file), file_bytes, *most_};
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kLargest = static_cast<std::uint64_t>((kMost - kAnyFile.count()) / kPerByte);
  if (!file_bytes || *file_bytes > kLargest) return {std::move(file), file_bytes, Bytes{kMost}};
  const Bytes most{kAnyFile.count() + kPerByte * static_cast<std::int64_t>(*file_bytes)};
  return {std::move(file), file_bytes, most};
}

std::uint64_t MemoryAllowance::longest_record() const {
  return static_cast<std::uint64_t>(most_.count() / MemoryLimit::kPerByte);
}

void MemoryAllowance::refuse(Bytes held, std::optional<std::uint64_t> byte, std::string_view what) const {
  Place place{.file = file_};
  if (byte) place.byte = static_cast<std::int64_t>(*byte);
  const std::string of_file =
      file_bytes_ ? format(" for this file of {}", to_string(Bytes{static_cast<std::int64_t>(*file_bytes_)}))
                  : "";
  throw Error{ErrorKind::kEnvironment, std::move(place),
              format("{} takes {} of memory up to here; the limit{} is {}", what, to_string(held), of_file,
                     to_string(most_)),
              "allow more memory if you trust the file"};
}

}  // namespace nadi
