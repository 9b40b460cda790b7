#include "nadi/base/memory_limit.h"

#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline ground {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Bytes limit_for(std::uint64_t bytes) {
  constexpr auto kLargest =
      static_cast<std::uint64_t>((kMost - MemoryLimit::kAnyFile.count()) / MemoryLimit::kPerByte);
  if (bytes > kLargest) return Bytes{kMost};
  return Bytes{MemoryLimit::kAnyFile.count() + MemoryLimit::kPerByte * static_cast<std::int64_t>(bytes)};
}

}  // namespace

MemoryAllowance MemoryLimit::for_file(std::string file, std::uint64_t file_bytes) const {
  return {std::move(file), file_bytes, most_ ? *most_ : limit_for(file_bytes)};
}

MemoryAllowance MemoryLimit::for_pipe(std::string name, const std::uint64_t* read) const {
  if (most_) return {std::move(name), *most_};
  return {std::move(name), read};
}

Bytes MemoryAllowance::most() const {
  return read_ != nullptr ? limit_for(*read_) : most_;
}

std::uint64_t MemoryAllowance::longest_record() const {
  const Bytes most = read_ != nullptr ? Bytes{kMost} : most_;
  return static_cast<std::uint64_t>(most.count() / MemoryLimit::kPerByte);
}

void MemoryAllowance::refuse(Bytes held, std::optional<std::uint64_t> byte, std::string_view what) const {
  Place place{.file = file_};
  if (byte) place.byte = static_cast<std::int64_t>(*byte);
  const auto shown = [](std::uint64_t bytes) { return to_string(Bytes{static_cast<std::int64_t>(bytes)}); };
  const std::string of_file = file_bytes_        ? format(" for this file of {}", shown(*file_bytes_))
                              : read_ != nullptr ? format(" after {} of this pipe", shown(*read_))
                                                 : "";
  throw Error{ErrorKind::kEnvironment, std::move(place),
              format("{} takes {} of memory up to here; the limit{} is {}", what, to_string(held), of_file,
                     to_string(most())),
              "allow more memory if you trust the file"};
}

}  // namespace nadi::inline ground
