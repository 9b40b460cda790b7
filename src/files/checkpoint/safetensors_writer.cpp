#include "nadi/checkpoint/safetensors_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "nadi/base/atomic_file.h"
#include "nadi/base/chunk_sums.h"
#include "nadi/base/crc32.h"
#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/round_up.h"
#include "nadi/checkpoint/safetensors_header.h"

namespace nadi::inline files {
namespace {

constexpr std::size_t kAlignment = 8;  // of the data, in the file

std::int64_t bytes_of(const TensorToWrite& tensor) {
  return checked_multiply(tensor.shape.elements(), size_of(tensor.dtype), "bytes");
}

std::string header_of(std::span<const TensorToWrite> tensors,
                      const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[std::string(kSafetensorsMetadata)] = metadata;
  // Past the map's own insertion, which compares with every key there is.
  auto& members = static_cast<Json::object_t::Container&>(header.get_ref<Json::object_t&>());
  Bytes offset;
  for (const TensorToWrite& tensor : tensors) {
    const Bytes end = offset + Bytes{bytes_of(tensor)};
    const auto extents = tensor.shape.extents();
    members.emplace_back(tensor.name,
                         Json{{"dtype", to_string(tensor.dtype)},
                              {"shape", std::vector<std::int64_t>(extents.begin(), extents.end())},
                              {"data_offsets", {offset.count(), end.count()}}});
    offset = end;
  }
  std::string text = header.dump();
  text.resize(rounded_up(text.size(), kAlignment), ' ');
  check(static_cast<std::int64_t>(text.size()) <= kMaxSafetensorsHeader,
        "a safetensors header is over its limit");
  return text;
}

void write_bytes(AtomicFile& file, std::span<const std::byte> bytes) {
  file.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::string safetensors_head(std::vector<TensorToWrite>& tensors,
                             const std::map<std::string, std::string>& metadata) {
  std::ranges::sort(tensors, comes_first_in_safetensors);
  std::vector<std::string_view> names;
  for (const TensorToWrite& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  check(std::ranges::adjacent_find(names) == names.end() &&
            !std::ranges::binary_search(names, kSafetensorsMetadata),
        "two tensors of a file have the same name");
  const std::string header = header_of(tensors, metadata);
  const std::array<std::uint64_t, 1> length{header.size()};
  return std::string(reinterpret_cast<const char*>(length.data()), sizeof(length)) + header;
}

SafetensorsSums write_safetensors(AtomicFile& file, std::vector<TensorToWrite> tensors,
                                  const std::map<std::string, std::string>& metadata) {
  const std::string head = safetensors_head(tensors, metadata);
  file.write(head);
  SafetensorsSums sums{.size = Bytes{static_cast<std::int64_t>(head.size())},
                       .header = crc32c(std::as_bytes(std::span(head)))};
  for (const TensorToWrite& tensor : tensors) {
    const std::int64_t size = bytes_of(tensor);
    std::int64_t written = 0;
    ChunkSums chunks(Bytes{size});
    const auto sink = [&](std::span<const std::byte> piece) {
      check(static_cast<std::int64_t>(piece.size()) <= size - written,
            "a tensor handed over more bytes than its shape has");
      chunks.add(written, piece);
      write_bytes(file, piece);
      written += static_cast<std::int64_t>(piece.size());
    };
    if (tensor.pieces) {
      tensor.pieces(sink);
    } else {
      sink(tensor.bytes);
    }
    check(written == size, "a tensor handed over fewer bytes than its shape has");
    sums.tensors.push_back({.name = tensor.name, .chunks = chunks.take()});
    sums.size += Bytes{size};
  }
  return sums;
}

}  // namespace nadi::inline files
