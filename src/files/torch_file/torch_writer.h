// Writes files of torch.save: archives that PyTorch loads, with mmap=True and, where no objects of other
// classes are in them, with weights_only=True.
//
//   PickleArena values;
//   const PickleValue model = values.ordered_dict();
//   TorchStorage& storage = values.storage(FileDType::kF32, 50257 * 768);
//   values.set(model, "wte.weight", values.tensor({.storage = &storage, .shape = {50257, 768}}));
//   AtomicFile file("pytorch_model.bin", Overwrite::kRefuse);
//   write_torch_file(file, model, [&](const TorchStorage&, const StorageSink& sink) { sink(bytes); });
//   file.commit();
//
// Everything but the data is known beforehand: several threads may fill a file of layout.file_size() bytes,
// each storage at its place, and write layout.head() and layout.ending() around them.
//
//   const TorchLayout layout(model);
//   for (const StoragePlace& place : layout.storages()) fill(place.offset, *place.storage);
//   write(layout.head());
//   write(layout.ending(checksums));               // crc32.h: of each storage, whole; crc32_of_both() joins
//   parts
//
// Entries are stored, data starts at multiples of 64 bytes, sizes over 4 GB are zip64. The same values and
// data give the same bytes. Storages that no tensor of the values uses are not written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nadi/torch_file/pickle_value.h"

namespace nadi::inline ground {
class AtomicFile;
}  // namespace nadi::inline ground

namespace nadi::inline files {

struct StoragePlace {
  const TorchStorage* storage = nullptr;
  std::int64_t offset = 0;  // of its first byte in the file
  std::int64_t size = 0;
};

// Bytes at a place in the file.
struct FilePiece {
  std::int64_t offset = 0;
  std::string bytes = {};
};

class TorchLayout {
 public:
  // `archive`: the folder within the archive, "archive" where torch.save is given no path.
  explicit TorchLayout(PickleValue root, std::string archive = "archive");

  std::int64_t file_size() const { return file_size_; }
  std::span<const StoragePlace> storages() const { return storages_; }  // in the order of the file

  // What does not depend on the data: the pickle and the headers, in order.
  const std::vector<FilePiece>& head() const { return head_; }
  // What follows from the checksums of the storages, in their order: a record behind each, and the directory
  // at the end.
  std::vector<FilePiece> ending(std::span<const std::uint32_t> checksums) const;

 private:
  struct Entry {
    std::string name;
    std::int64_t header = 0;  // offset of the local header
    std::int64_t offset = 0;  // of the data
    std::int64_t size = 0;
    std::uint32_t crc32 = 0;
    bool is_storage = false;
  };
  void add_text(const std::string& name, std::string_view contents);
  void add_storage(const std::string& name, const TorchStorage& storage);
  std::string local_header(Entry& entry) const;

  std::string archive_;
  std::int64_t file_size_ = 0;
  std::int64_t directory_ = 0;  // where it starts
  std::vector<Entry> entries_;
  std::vector<StoragePlace> storages_;
  std::vector<FilePiece> head_;
};

// Takes the next bytes of a storage. Pieces of a megabyte or more are best.
using StorageSink = std::function<void(std::span<const std::byte>)>;
// Hands over all bytes of a storage, in order.
using StorageData = std::function<void(const TorchStorage&, const StorageSink&)>;

// Appends the whole file; the caller commits it. Without `data`, the storages are those of open files, whose
// bytes are copied. Too many or too few bytes are bugs of the caller.
void write_torch_file(AtomicFile& file, PickleValue root, const StorageData& data = {},
                      const std::string& archive = "archive");

}  // namespace nadi::inline files
