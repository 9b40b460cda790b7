// The entries of a ZIP archive in memory, of a mapped file as a rule: read through the central directory,
// with zip64, and checked to lie inside the archive.
//
//   const ZipArchive archive(mapped.bytes(), "pytorch_model.bin");
//   const ZipEntry* entry = archive.find("archive/data/0");       // names are compared, never used as paths
//   std::span<const std::byte> data = archive.bytes_of(*entry);   // of a stored entry: in the archive
//
// Everything is Error (input) with file and byte: no central directory (a file that was cut short), entries
// beyond the end, encrypted ones, two of one name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline files {

struct ZipEntry {
  std::string_view name;  // in the archive
  bool is_stored = true;  // else it is deflated
  std::uint32_t crc32 = 0;
  std::int64_t size = 0;         // of the contents
  std::int64_t packed_size = 0;  // in the archive
  std::int64_t offset = 0;       // of the first byte of data in the archive
};

class ZipArchive {
 public:
  // The bytes must outlive it. `first_byte`: where the archive starts in its file, for messages.
  ZipArchive(std::span<const std::byte> bytes, std::string file, std::int64_t first_byte = 0);

  std::span<const ZipEntry> entries() const { return entries_; }  // in the order of the directory
  const ZipEntry* find(std::string_view name) const;              // nullptr when there is none

  // The data of a stored entry.
  std::span<const std::byte> bytes_of(const ZipEntry& entry) const;
  // The data of a deflated one, if it has at most `limit` bytes.
  std::vector<std::byte> inflate(const ZipEntry& entry, std::int64_t limit) const;

  // Error (input) when the contents have another checksum than the archive states. A checksum of 0 is none:
  // some writers leave it out.
  void check_sum(const ZipEntry& entry, std::span<const std::byte> contents) const;

 private:
  struct Directory {
    std::int64_t offset = 0;
    std::int64_t size = 0;
    std::uint64_t entries = 0;
  };
  Directory find_directory() const;
  Directory zip64_directory(std::int64_t end_record, Directory plain) const;
  void read_directory(const Directory& directory);
  void read_zip64_sizes(ZipEntry& entry, std::int64_t& header, std::span<const std::byte> extra) const;
  void locate(ZipEntry& entry, std::int64_t header) const;
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

  std::span<const std::byte> bytes_;
  std::string file_;
  std::int64_t first_byte_;
  std::vector<ZipEntry> entries_;
  std::map<std::string_view, std::size_t> by_name_;
};

}  // namespace nadi::inline files
