#include "nadi/torch_file/torch_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "nadi/base/atomic_file.h"
#include "nadi/base/crc32.h"
#include "nadi/base/error.h"
#include "nadi/base/round_up.h"
#include "nadi/torch_file/pickle_writer.h"
#include "nadi/torch_file/zip_format.h"

namespace nadi::inline files {
namespace {

constexpr std::int64_t kDataAlignment = 64;      // as PyTorch has it
constexpr std::uint16_t kPaddingExtra = 0x4246;  // "FB": how PyTorch fills up to the alignment
constexpr std::int64_t kExtraHead = 4;           // id and length
constexpr std::uint16_t kPlainVersion = 20, kZip64Version = 45;
constexpr std::uint16_t kNoDate = 0x0021;  // 1 January 1980, the first there is: the same bytes every day
constexpr std::int64_t kLocalZip64 = kExtraHead + 16;

class Record {
 public:
  Record& u16(std::uint64_t value) { return number<std::uint16_t>(value); }
  Record& u32(std::uint64_t value) { return number<std::uint32_t>(value); }
  Record& u64(std::uint64_t value) { return number<std::uint64_t>(value); }
  Record& text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  std::string take() { return std::move(bytes_); }
  std::size_t size() const { return bytes_.size(); }

 private:
  template <typename T>
  Record& number(std::uint64_t value) {
    const T narrow = static_cast<T>(value);
    char bytes[sizeof narrow];
    std::memcpy(bytes, &narrow, sizeof narrow);
    bytes_.append(bytes, sizeof narrow);
    return *this;
  }
  std::string bytes_;
};

bool needs_zip64(std::int64_t value) {
  return value >= static_cast<std::int64_t>(zip::kInZip64);
}

std::uint64_t or_in_zip64(std::int64_t value) {
  return needs_zip64(value) ? zip::kInZip64 : static_cast<std::uint64_t>(value);
}

std::int64_t descriptor_size(std::int64_t size) {
  return needs_zip64(size) ? 24 : 16;
}

std::string descriptor(std::int64_t size, std::uint32_t crc) {
  Record record;
  record.u32(zip::kDescriptorSignature).u32(crc);
  const auto bytes = static_cast<std::uint64_t>(size);
  return (needs_zip64(size) ? record.u64(bytes).u64(bytes) : record.u32(bytes).u32(bytes)).take();
}

std::span<const std::byte> as_bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

TorchLayout::TorchLayout(PickleValue root, std::string archive) : archive_(std::move(archive)) {
  const PickledValue pickled = write_pickle(root);
  add_text("data.pkl", pickled.bytes);
  add_text("byteorder", "little");
  for (std::size_t i = 0; i < pickled.storages.size(); ++i)
    add_storage("data/" + std::to_string(i), *pickled.storages[i]);
  add_text("version", "3\n");
  directory_ = file_size_;
  const std::vector<std::uint32_t> any(storages_.size(), 0);
  const std::vector<FilePiece> pieces = ending(any);
  file_size_ = pieces.back().offset + static_cast<std::int64_t>(pieces.back().bytes.size());
}

// Sets where the data starts: behind the header, whose last extra field fills up to the alignment.
std::string TorchLayout::local_header(Entry& entry) const {
  const bool zip64 = needs_zip64(entry.size);
  const std::int64_t fixed = entry.header + zip::kLocalSize + static_cast<std::int64_t>(entry.name.size()) +
                             (zip64 ? kLocalZip64 : 0) + kExtraHead;
  entry.offset = rounded_up(fixed, kDataAlignment);
  const std::int64_t padding = entry.offset - fixed;
  // The checksum of a storage is known when its data is, and stands behind it; the sizes do, too.
  const std::uint64_t size = entry.is_storage ? 0 : static_cast<std::uint64_t>(entry.size);
  Record record;
  record.u32(zip::kLocalSignature)
      .u16(zip64 ? kZip64Version : kPlainVersion)
      .u16(zip::kNamesAreUtf8 | (entry.is_storage ? zip::kHasDescriptor : 0))
      .u16(zip::kStored)
      .u16(0)
      .u16(kNoDate)
      .u32(entry.crc32)
      .u32(zip64 ? zip::kInZip64 : size)
      .u32(zip64 ? zip::kInZip64 : size)
      .u16(entry.name.size())
      .u16(static_cast<std::uint64_t>((zip64 ? kLocalZip64 : 0) + kExtraHead + padding))
      .text(entry.name);
  if (zip64) record.u16(zip::kZip64Extra).u16(16).u64(0).u64(0);
  record.u16(kPaddingExtra).u16(static_cast<std::uint64_t>(padding));
  record.text(std::string(static_cast<std::size_t>(padding), 'Z'));
  return record.take();
}

void TorchLayout::add_text(const std::string& name, std::string_view contents) {
  Entry& entry = entries_.emplace_back(Entry{.name = archive_ + "/" + name,
                                             .header = file_size_,
                                             .size = static_cast<std::int64_t>(contents.size()),
                                             .crc32 = crc32(as_bytes_of(contents))});
  check(!needs_zip64(entry.size), "a pickle is over 4 GB");
  std::string bytes = local_header(entry);
  bytes += contents;
  file_size_ += static_cast<std::int64_t>(bytes.size());
  head_.push_back({.offset = entry.header, .bytes = std::move(bytes)});
}

void TorchLayout::add_storage(const std::string& name, const TorchStorage& storage) {
  Entry& entry = entries_.emplace_back(
      Entry{.name = archive_ + "/" + name, .header = file_size_, .size = storage.size, .is_storage = true});
  head_.push_back({.offset = entry.header, .bytes = local_header(entry)});
  storages_.push_back({.storage = &storage, .offset = entry.offset, .size = entry.size});
  file_size_ = entry.offset + entry.size + descriptor_size(entry.size);
}

std::vector<FilePiece> TorchLayout::ending(std::span<const std::uint32_t> checksums) const {
  check(checksums.size() == storages_.size(), "there must be a checksum for each storage");
  std::vector<FilePiece> pieces;
  for (std::size_t i = 0; i < storages_.size(); ++i)
    pieces.push_back({.offset = storages_[i].offset + storages_[i].size,
                      .bytes = descriptor(storages_[i].size, checksums[i])});
  Record record;
  std::size_t storage = 0;
  for (const Entry& entry : entries_) {
    const bool large = needs_zip64(entry.size), far = needs_zip64(entry.header);
    const std::size_t extra = (large ? 16 : 0) + (far ? 8 : 0);
    record.u32(zip::kCentralSignature)
        .u16(kZip64Version)
        .u16(large || far ? kZip64Version : kPlainVersion)
        .u16(zip::kNamesAreUtf8 | (entry.is_storage ? zip::kHasDescriptor : 0))
        .u16(zip::kStored)
        .u16(0)
        .u16(kNoDate)
        .u32(entry.is_storage ? checksums[storage++] : entry.crc32)
        .u32(or_in_zip64(entry.size))
        .u32(or_in_zip64(entry.size))
        .u16(entry.name.size())
        .u16(extra > 0 ? extra + static_cast<std::size_t>(kExtraHead) : 0)
        .u16(0)  // comment, disk, attributes
        .u16(0)
        .u16(0)
        .u32(0)
        .u32(or_in_zip64(entry.header))
        .text(entry.name);
    if (extra > 0) record.u16(zip::kZip64Extra).u16(extra);
    if (large) record.u64(static_cast<std::uint64_t>(entry.size)).u64(static_cast<std::uint64_t>(entry.size));
    if (far) record.u64(static_cast<std::uint64_t>(entry.header));
  }
  const auto directory_size = static_cast<std::int64_t>(record.size());
  const std::uint64_t count = entries_.size();
  const bool many = count >= zip::kEntriesInZip64;
  if (many || needs_zip64(directory_) || needs_zip64(directory_size)) {
    constexpr std::uint64_t kBehindItsSize = zip::kEnd64Size - 12;
    record.u32(zip::kEnd64Signature)
        .u64(kBehindItsSize)
        .u16(kZip64Version)
        .u16(kZip64Version)
        .u32(0)
        .u32(0)
        .u64(count)
        .u64(count)
        .u64(static_cast<std::uint64_t>(directory_size))
        .u64(static_cast<std::uint64_t>(directory_));
    record.u32(zip::kLocatorSignature)
        .u32(0)
        .u64(static_cast<std::uint64_t>(directory_ + directory_size))
        .u32(1);
  }
  const std::uint64_t shown = many ? zip::kEntriesInZip64 : count;
  record.u32(zip::kEndSignature)
      .u16(0)
      .u16(0)
      .u16(shown)
      .u16(shown)
      .u32(or_in_zip64(directory_size))
      .u32(or_in_zip64(directory_))
      .u16(0);
  pieces.push_back({.offset = directory_, .bytes = record.take()});
  return pieces;
}

void write_torch_file(AtomicFile& file, PickleValue root, const StorageData& data,
                      const std::string& archive) {
  const TorchLayout layout(root, archive);
  std::vector<std::uint32_t> checksums(layout.storages().size(), 0);
  const std::int64_t start = file.size().count();
  const auto here = [&] { return file.size().count() - start; };
  std::size_t storage = 0;
  for (const FilePiece& piece : layout.head()) {
    check(piece.offset == here(), "a part of an archive is written at another place");
    file.write(piece.bytes);
    if (storage == layout.storages().size() || layout.storages()[storage].offset != here()) continue;
    const StoragePlace& place = layout.storages()[storage];
    std::int64_t left = place.size;
    const auto sink = [&](std::span<const std::byte> bytes) {
      left -= static_cast<std::int64_t>(bytes.size());
      check(left >= 0, "a storage handed over more bytes than it has");
      checksums[storage] = crc32(bytes, checksums[storage]);
      file.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
    if (data) {
      data(*place.storage, sink);
    } else {
      check(!place.storage->big_endian, "big-endian data cannot be copied");
      sink(place.storage->bytes);
    }
    check(left == 0, "a storage handed over fewer bytes than it has");
    file.write(descriptor(place.size, checksums[storage]));
    ++storage;
  }
  file.write(layout.ending(checksums).back().bytes);
}

}  // namespace nadi::inline files
