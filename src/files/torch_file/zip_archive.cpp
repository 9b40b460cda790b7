#include "nadi/torch_file/zip_archive.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "nadi/base/crc32.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/torch_file/zip_format.h"

#if NADI_WITH_ZLIB
#include <zlib.h>
#endif

namespace nadi::inline files {
namespace {

constexpr const char* kCutShort = "the file may have been cut short: copy or download it again";

template <typename T>
T field(std::span<const std::byte> record, std::int64_t at) {
  T value;
  std::memcpy(&value, record.data() + at, sizeof value);
  return value;
}

// Whether `size` bytes at `offset` lie within `total`; all as they are in the file.
bool lies_within(std::uint64_t offset, std::uint64_t size, std::uint64_t total) {
  return offset <= total && size <= total - offset;
}

}  // namespace

ZipArchive::ZipArchive(std::span<const std::byte> bytes, std::string file, std::int64_t first_byte)
    : bytes_(bytes), file_(std::move(file)), first_byte_(first_byte) {
  read_directory(find_directory());
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

// The end record is the last one, with a comment of up to 64 KiB behind it, which none of these files has.
ZipArchive::Directory ZipArchive::find_directory() const {
  constexpr std::int64_t kLongestComment = std::numeric_limits<std::uint16_t>::max();
  const std::int64_t last = size() - zip::kEndSize;
  for (std::int64_t at = last; at >= 0 && at >= last - kLongestComment; --at) {
    const auto record = bytes_.subspan(static_cast<std::size_t>(at));
    if (field<std::uint32_t>(record, 0) != zip::kEndSignature) continue;
    if (at + zip::kEndSize + field<std::uint16_t>(record, zip::kEndCommentLength) != size()) continue;
    return zip64_directory(at, {.offset = field<std::uint32_t>(record, zip::kEndDirectoryOffset),
                                .size = field<std::uint32_t>(record, zip::kEndDirectorySize),
                                .entries = field<std::uint16_t>(record, zip::kEndEntries)});
  }
  throw input_error({.file = file_, .byte = first_byte_ + size()}, "the archive has no directory at its end",
                    kCutShort);
}

ZipArchive::Directory ZipArchive::zip64_directory(std::int64_t end_record, Directory plain) const {
  const auto fail = [&](std::int64_t at) {
    return input_error({.file = file_, .byte = first_byte_ + at},
                       "the directory of the archive lies beyond its end", kCutShort);
  };
  const std::int64_t locator = end_record - zip::kLocatorSize;
  if (locator >= 0 && field<std::uint32_t>(bytes_, locator) == zip::kLocatorSignature) {
    const auto at = field<std::uint64_t>(bytes_, locator + zip::kLocatorOffset);
    if (!lies_within(at, zip::kEnd64Size, bytes_.size())) throw fail(locator);
    const auto record = bytes_.subspan(at, zip::kEnd64Size);
    if (field<std::uint32_t>(record, 0) != zip::kEnd64Signature) throw fail(locator);
    const auto offset = field<std::uint64_t>(record, zip::kEnd64DirectoryOffset);
    const auto length = field<std::uint64_t>(record, zip::kEnd64DirectorySize);
    if (!lies_within(offset, length, bytes_.size())) throw fail(static_cast<std::int64_t>(at));
    return {.offset = static_cast<std::int64_t>(offset),
            .size = static_cast<std::int64_t>(length),
            .entries = field<std::uint64_t>(record, zip::kEnd64Entries)};
  }
  if (plain.offset + plain.size > end_record) throw fail(end_record);
  return plain;
}

void ZipArchive::read_directory(const Directory& directory) {
  auto left =
      bytes_.subspan(static_cast<std::size_t>(directory.offset), static_cast<std::size_t>(directory.size));
  const auto fail = [&](const std::string& message) {
    const std::int64_t at = directory.offset + directory.size - static_cast<std::int64_t>(left.size());
    return input_error({.file = file_, .byte = first_byte_ + at}, message);
  };
  if (directory.entries > left.size() / static_cast<std::size_t>(zip::kCentralSize))
    throw fail(format("the directory of the archive is too short for {} entries", directory.entries));
  entries_.reserve(directory.entries);
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (left.size() < static_cast<std::size_t>(zip::kCentralSize) ||
        field<std::uint32_t>(left, 0) != zip::kCentralSignature)
      throw fail(format("entry {} of the archive's directory is damaged", i));
    const std::size_t name_length = field<std::uint16_t>(left, zip::kCentralNameLength);
    const std::size_t extra_length = field<std::uint16_t>(left, zip::kCentralNameLength + 2);
    const std::size_t comment_length = field<std::uint16_t>(left, zip::kCentralNameLength + 4);
    const std::size_t length =
        static_cast<std::size_t>(zip::kCentralSize) + name_length + extra_length + comment_length;
    if (left.size() < length) throw fail(format("entry {} of the archive's directory is damaged", i));
    ZipEntry entry;
    entry.name = {reinterpret_cast<const char*>(left.data()) + zip::kCentralSize, name_length};
    const std::string name = quote_for_message(entry.name);
    if ((field<std::uint16_t>(left, zip::kCentralFlags) & zip::kEncrypted) != 0)
      throw fail(format("entry {} is encrypted", name));
    const auto method = field<std::uint16_t>(left, zip::kCentralMethod);
    if (method != zip::kStored && method != zip::kDeflated)
      throw fail(
          format("entry {} is packed with method {}; stored and deflated ones are known", name, method));
    entry.is_stored = method == zip::kStored;
    entry.crc32 = field<std::uint32_t>(left, zip::kCentralCrc);
    entry.packed_size = field<std::uint32_t>(left, zip::kCentralPackedSize);
    entry.size = field<std::uint32_t>(left, zip::kCentralFullSize);
    std::int64_t header = field<std::uint32_t>(left, zip::kCentralOffset);
    read_zip64_sizes(entry, header,
                     left.subspan(static_cast<std::size_t>(zip::kCentralSize) + name_length, extra_length));
    locate(entry, header);
    if (entry.is_stored && entry.size != entry.packed_size)
      throw fail(
          format("entry {} is stored and has two sizes, {} and {}", name, entry.size, entry.packed_size));
    if (!by_name_.emplace(entry.name, entries_.size()).second)
      throw fail(format("the archive has two entries {}", name));
    entries_.push_back(entry);
    left = left.subspan(length);
  }
}

void ZipArchive::read_zip64_sizes(ZipEntry& entry, std::int64_t& header,
                                  std::span<const std::byte> extra) const {
  const auto fail = [&] {
    return input_error({.file = file_},
                       format("entry {}: its extra field is damaged", quote_for_message(entry.name)));
  };
  constexpr std::size_t kHead = 4;  // id and length
  while (extra.size() >= kHead) {
    const auto id = field<std::uint16_t>(extra, 0);
    const std::size_t length = field<std::uint16_t>(extra, 2);
    if (length > extra.size() - kHead) throw fail();
    auto values = extra.subspan(kHead, length);
    extra = extra.subspan(kHead + length);
    if (id != zip::kZip64Extra) continue;
    for (std::int64_t* value : {&entry.size, &entry.packed_size, &header}) {
      if (*value != zip::kInZip64) continue;
      if (values.size() < sizeof(std::uint64_t)) throw fail();
      const auto number = field<std::uint64_t>(values, 0);
      if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) throw fail();
      *value = static_cast<std::int64_t>(number);
      values = values.subspan(sizeof(std::uint64_t));
    }
  }
}

void ZipArchive::locate(ZipEntry& entry, std::int64_t header) const {
  const auto fail = [&](std::int64_t at) {
    return input_error({.file = file_, .byte = first_byte_ + at},
                       format("entry {} lies beyond the end of the archive", quote_for_message(entry.name)),
                       kCutShort);
  };
  const std::uint64_t total = bytes_.size();
  if (!lies_within(static_cast<std::uint64_t>(header), zip::kLocalSize, total)) throw fail(header);
  const auto local = bytes_.subspan(static_cast<std::size_t>(header));
  if (field<std::uint32_t>(local, 0) != zip::kLocalSignature)
    throw input_error(
        {.file = file_, .byte = first_byte_ + header},
        format("entry {} has no header where the directory says", quote_for_message(entry.name)));
  entry.offset = header + zip::kLocalSize + field<std::uint16_t>(local, zip::kLocalNameLength) +
                 field<std::uint16_t>(local, zip::kLocalNameLength + 2);
  if (!lies_within(static_cast<std::uint64_t>(entry.offset), static_cast<std::uint64_t>(entry.packed_size),
                   total))
    throw fail(header);
}

std::span<const std::byte> ZipArchive::bytes_of(const ZipEntry& entry) const {
  check(entry.is_stored, "a deflated entry is read as a stored one");
  return bytes_.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.size));
}

void ZipArchive::check_sum(const ZipEntry& entry, std::span<const std::byte> contents) const {
  if (entry.crc32 == 0) return;
  const std::uint32_t found = crc32(contents);
  if (found != entry.crc32)
    throw input_error({.file = file_, .byte = first_byte_ + entry.offset},
                      format("entry {} is damaged: its checksum is {:08x}, not {:08x}",
                             quote_for_message(entry.name), found, entry.crc32));
}

#if NADI_WITH_ZLIB
std::vector<std::byte> ZipArchive::inflate(const ZipEntry& entry, std::int64_t limit) const {
  // Deflate makes at most 1,032 bytes of one.
  constexpr std::int64_t kMostPerByte = 1032;
  const Place place{.file = file_, .byte = first_byte_ + entry.offset};
  const std::string name = quote_for_message(entry.name);
  if (entry.size > limit || entry.packed_size > limit)
    throw input_error(place, format("entry {} of {} bytes is over the limit of {}", name, entry.size, limit));
  if (entry.size / kMostPerByte > entry.packed_size)
    throw input_error(
        place, format("entry {} cannot have {} bytes, packed into {}", name, entry.size, entry.packed_size));
  std::vector<std::byte> out(static_cast<std::size_t>(entry.size));
  z_stream stream{};
  constexpr int kRawDeflate = -15;  // the largest window, without a header
  check(inflateInit2(&stream, kRawDeflate) == Z_OK, "zlib cannot be started");
  const auto packed =
      bytes_.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.packed_size));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::byte nothing{};  // zlib wants an address
  stream.next_out = reinterpret_cast<Bytef*>(out.empty() ? &nothing : out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = ::inflate(&stream, Z_FINISH);
  const bool is_whole = result == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!is_whole) throw input_error(place, format("entry {} cannot be unpacked", name));
  return out;
}
#else
std::vector<std::byte> ZipArchive::inflate(const ZipEntry& entry, std::int64_t /*limit*/) const {
  throw Error{ErrorKind::kEnvironment,
              {.file = file_, .byte = first_byte_ + entry.offset},
              format("entry {} is compressed, and this build has no zlib", quote_for_message(entry.name))};
}
#endif

}  // namespace nadi::inline files
