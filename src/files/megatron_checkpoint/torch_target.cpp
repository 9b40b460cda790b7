#include "nadi/megatron_checkpoint/torch_target.h"

#include <memory>
#include <span>
#include <utility>

#include "nadi/base/crc32.h"
#include "nadi/base/error.h"
#include "nadi/torch_file/torch_writer.h"

namespace nadi::inline files {
namespace {

// What the end of a file is made from. Shared by the copies of the file's function.
struct TorchEnding {
  TorchLayout layout;
  std::vector<bool> filled = {};              // by storage: whether it is a place
  std::vector<std::uint32_t> checksums = {};  // by storage: of those that are not

  std::vector<ReadyBytes> operator()(std::span<const std::uint32_t> of_places) const {
    std::vector<std::uint32_t> sums = checksums;
    std::size_t place = 0;
    for (std::size_t storage = 0; storage < filled.size(); ++storage)
      if (filled[storage]) sums[storage] = of_places[place++];
    std::vector<ReadyBytes> pieces;
    for (FilePiece& piece : layout.ending(sums))
      pieces.push_back({.offset = piece.offset, .bytes = std::move(piece.bytes)});
    return pieces;
  }
};

}  // namespace

TargetFile torch_target(std::string name, PickleValue root,
                        const std::map<const TorchStorage*, StorageContent>& contents,
                        const std::string& archive) {
  const auto ending = std::make_shared<TorchEnding>(TorchEnding{.layout = TorchLayout(root, archive)});
  TargetFile file{.name = std::move(name), .size = Bytes{ending->layout.file_size()}};
  for (const FilePiece& piece : ending->layout.head())
    file.ready.push_back({.offset = piece.offset, .bytes = piece.bytes});
  for (const StoragePlace& storage : ending->layout.storages()) {
    const auto found = contents.find(storage.storage);
    check(found != contents.end(), "a storage of a torch.save file has no content");
    const StorageContent& content = found->second;
    const bool filled = !content.blocks.empty();
    ending->filled.push_back(filled);
    if (filled) {
      file.places.push_back({.offset = storage.offset, .dtype = content.dtype, .blocks = content.blocks});
      check(file.places.back().bytes() == storage.size, "the blocks of a storage do not fill it");
      ending->checksums.push_back(0);
    } else {
      check(static_cast<std::int64_t>(content.bytes.size()) == storage.size,
            "the bytes of a storage do not fill it");
      ending->checksums.push_back(crc32(std::as_bytes(std::span(content.bytes))));
      file.ready.push_back({.offset = storage.offset, .bytes = content.bytes});
    }
  }
  file.ending = [ending](std::span<const std::uint32_t> sums) { return (*ending)(sums); };
  return file;
}

}  // namespace nadi::inline files
