// Where the fields of a ZIP archive lie (PKWARE's APPNOTE 6.3.10, sections 4.3 and 4.5), for the reader and
// the writer of this folder. All numbers are little-endian.
#pragma once

#include <cstdint>

namespace nadi::inline files::zip {

// In front of the data of each entry: 30 bytes, then the name, then the extra field.
inline constexpr std::uint32_t kLocalSignature = 0x04034b50;
inline constexpr std::int64_t kLocalSize = 30;
inline constexpr std::int64_t kLocalNameLength = 26;  // u16, then the length of the extra field, u16

// The central directory: for each entry 46 bytes, then the name, the extra field and a comment.
inline constexpr std::uint32_t kCentralSignature = 0x02014b50;
inline constexpr std::int64_t kCentralSize = 46;
inline constexpr std::int64_t kCentralFlags = 8;    // u16
inline constexpr std::int64_t kCentralMethod = 10;  // u16
inline constexpr std::int64_t kCentralCrc = 16;     // u32, then the packed size and the size, u32 each
inline constexpr std::int64_t kCentralPackedSize = 20;
inline constexpr std::int64_t kCentralFullSize = 24;
inline constexpr std::int64_t kCentralNameLength =
    28;  // u16, then lengths of the extra field and the comment, u16
inline constexpr std::int64_t kCentralOffset = 42;  // u32: of the local header

// The last record: 22 bytes and a comment. In front of it, for large archives, a record of zip64 and a
// locator.
inline constexpr std::uint32_t kEndSignature = 0x06054b50;
inline constexpr std::int64_t kEndSize = 22;
inline constexpr std::int64_t kEndEntries = 10;          // u16
inline constexpr std::int64_t kEndDirectorySize = 12;    // u32
inline constexpr std::int64_t kEndDirectoryOffset = 16;  // u32
inline constexpr std::int64_t kEndCommentLength = 20;    // u16
inline constexpr std::uint32_t kLocatorSignature = 0x07064b50;
inline constexpr std::int64_t kLocatorSize = 20;
inline constexpr std::int64_t kLocatorOffset = 8;  // u64: of the zip64 record
inline constexpr std::uint32_t kEnd64Signature = 0x06064b50;
inline constexpr std::int64_t kEnd64Size = 56;
inline constexpr std::int64_t kEnd64Entries = 32;          // u64
inline constexpr std::int64_t kEnd64DirectorySize = 40;    // u64
inline constexpr std::int64_t kEnd64DirectoryOffset = 48;  // u64

// Behind the data of an entry whose local header has neither checksum nor sizes (kHasDescriptor): signature,
// checksum, packed size and size, the sizes of 4 bytes or, with zip64, of 8.
inline constexpr std::uint32_t kDescriptorSignature = 0x08074b50;

inline constexpr std::uint16_t kEncrypted = 0x0001;
inline constexpr std::uint16_t kHasDescriptor = 0x0008;
inline constexpr std::uint16_t kNamesAreUtf8 = 0x0800;

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kDeflated = 8;

// Extra fields: an id and a length, u16 each. Zip64 has the size, the packed size and the offset, u64 each,
// of those that are kInZip64 in the header.
inline constexpr std::uint16_t kZip64Extra = 0x0001;
inline constexpr std::uint32_t kInZip64 = 0xffffffff;
inline constexpr std::uint16_t kEntriesInZip64 = 0xffff;

}  // namespace nadi::inline files::zip
