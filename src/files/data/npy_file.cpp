// A header is "\x93NUMPY", version 1.0, the size of the rest as u16, and a dictionary as Python writes it,
// with spaces up to a multiple of 64 bytes and a newline:
//
//   {'descr': '<i4', 'fortran_order': False, 'shape': (280,), }

#include "nadi/data/npy_file.h"

#include <array>
#include <limits>

#include "nadi/base/atomic_file_set.h"
#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline files {
namespace {

struct TypeEntry {
  NpyType type;
  std::string_view descr;
  std::size_t size;
};

constexpr std::array kTypes{
    TypeEntry{NpyType::kU8, "|u1", 1},  TypeEntry{NpyType::kI8, "|i1", 1},
    TypeEntry{NpyType::kU16, "<u2", 2}, TypeEntry{NpyType::kI16, "<i2", 2},
    TypeEntry{NpyType::kU32, "<u4", 4}, TypeEntry{NpyType::kI32, "<i4", 4},
    TypeEntry{NpyType::kU64, "<u8", 8}, TypeEntry{NpyType::kI64, "<i8", 8},
};

const TypeEntry& entry_of(NpyType type) {
  for (const TypeEntry& entry : kTypes) {
    if (entry.type == type) return entry;
  }
  unreachable();
}

constexpr std::string_view kMagic{"\x93NUMPY\x01\x00", 8};
constexpr std::size_t kPrefixSize = 10;  // magic, version, size
constexpr std::size_t kAlignment = 64;

std::string shape_text(const NpyShape& shape) {
  return shape.size() == 1 ? format("({},)", shape[0]) : format("({})", fmt::join(shape, ", "));
}

// What a dictionary of a header says. Takes its pieces from the left; a piece that is not there is an Error.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : whole_(text), rest_(text), file_(file) {}

  void parse() {
    take("{");
    while (!try_take("}")) {
      const std::string_view key = quoted();
      take(":");
      if (key == "descr" && descr_.empty()) {
        descr_ = quoted();
      } else if (key == "fortran_order" && !has_order_) {
        take("False");  // a list of columns is of no use here
        has_order_ = true;
      } else if (key == "shape" && shape_.empty()) {
        parse_shape();
      } else {
        throw error(format("unknown or repeated key '{}'", key));
      }
      if (!try_take(",")) {
        take("}");
        break;
      }
    }
    skip_spaces();
    if (!rest_.empty()) throw error("there is more behind the dictionary");
    if (descr_.empty() || !has_order_ || shape_.empty())
      throw error("'descr', 'fortran_order' or 'shape' is missing");
  }

  std::string_view descr() const { return descr_; }
  const NpyShape& shape() const { return shape_; }

  Error error(std::string message) const {
    const std::size_t at = kPrefixSize + (whole_.size() - rest_.size());
    return input_error({.file = file_, .byte = static_cast<std::int64_t>(at)},
                       "header of a NumPy array: " + std::move(message));
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }

  bool try_take(std::string_view piece) {
    skip_spaces();
    if (!rest_.starts_with(piece)) return false;
    rest_.remove_prefix(piece.size());
    return true;
  }

  void take(std::string_view piece) {
    if (!try_take(piece)) throw error(format("expected '{}'", piece));
  }

  std::string_view quoted() {
    take("'");
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) throw error("a quote is not closed");
    const std::string_view text = rest_.substr(0, end);
    for (const char letter : text)
      if (letter < ' ' || letter > '~') throw error("a name has other letters than those of ASCII");
    rest_.remove_prefix(end + 1);
    return text;
  }

  void parse_shape() {
    take("(");
    while (!try_take(")")) {
      skip_spaces();
      std::int64_t size = 0;
      std::string_view after = rest_;
      if (!take_number(after, size) || size < 0) throw error("expected the size of an axis");
      rest_ = after;
      shape_.push_back(size);
      if (!try_take(",")) {
        take(")");
        break;
      }
    }
    if (shape_.empty() || shape_.size() > 2)
      throw error(format("an array of {} axes, not of one or two", shape_.size()));
  }

  std::string_view whole_;
  std::string_view rest_;
  const std::string& file_;
  std::string_view descr_;
  NpyShape shape_;
  bool has_order_ = false;
};

}  // namespace

std::size_t size_of(NpyType type) {
  return entry_of(type).size;
}

std::string_view descr_of(NpyType type) {
  return entry_of(type).descr;
}

std::string npy_header(NpyType type, const NpyShape& shape) {
  std::string header =
      format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr_of(type), shape_text(shape));
  const std::size_t unpadded = kPrefixSize + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  const auto size = static_cast<std::uint16_t>(header.size());
  return std::string(kMagic) + static_cast<char>(size & 0xff) + static_cast<char>(size >> 8) + header;
}

NpyFile::NpyFile(const std::filesystem::path& path) : name_(path.string()) {
  bytes_ = file_.emplace(path).bytes();
  read_header();
}

NpyFile::NpyFile(std::span<const std::byte> bytes, std::string name) : name_(std::move(name)), bytes_(bytes) {
  read_header();
}

void NpyFile::read_header() {
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  expect_kind(text.substr(0, kFileKindBytes), name_, "a NumPy array", {FileKind::kNpy});
  if (text.size() < kPrefixSize)
    throw input_error({.file = name_, .byte = static_cast<std::int64_t>(text.size())},
                      format("the file has {} bytes, too few for a NumPy array", text.size()));
  if (!text.starts_with(kMagic))
    throw input_error({.file = name_, .byte = 0}, "this is no NumPy array of version 1.0");
  const std::size_t size = load<std::uint16_t>(bytes_, kMagic.size());
  if (size > text.size() - kPrefixSize)
    throw input_error({.file = name_, .byte = static_cast<std::int64_t>(kMagic.size())},
                      format("a header of {} bytes does not fit in a file of {}", size, text.size()));
  HeaderParser header(text.substr(kPrefixSize, size), name_);
  header.parse();
  const TypeEntry* type = nullptr;
  for (const TypeEntry& entry : kTypes) {
    if (entry.descr == header.descr()) type = &entry;
  }
  if (type == nullptr)
    throw header.error(format("elements of type '{}', not whole numbers, little-endian", header.descr()));
  type_ = type->type;
  shape_ = header.shape();
  begin_ = kPrefixSize + size;
  const std::size_t held = text.size() - begin_;
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(shape_.front(), shape_.size() == 2 ? shape_.back() : 1, &elements) ||
      static_cast<std::uint64_t>(elements) != held / type->size || held % type->size != 0)
    throw input_error({.file = name_, .byte = static_cast<std::int64_t>(begin_)},
                      format("{} bytes of elements do not make an array of shape {} and type '{}'", held,
                             shape_text(shape_), type->descr),
                      "was the file copied as a whole?");
}

std::int64_t NpyFile::elements() const {
  return shape_.size() == 2 ? shape_[0] * shape_[1] : shape_[0];
}

void NpyFile::expect(NpyType type, const NpyShape& shape, const std::string& hint) const {
  if (type == type_ && shape == shape_) return;
  throw input_error({.file = name_, .byte = static_cast<std::int64_t>(kPrefixSize)},
                    format("an array of shape {} and type '{}', not of shape {} and type '{}'",
                           shape_text(shape_), descr_of(type_), shape_text(shape), descr_of(type)),
                    hint);
}

Place NpyFile::place_of(std::int64_t index) const {
  return {.file = name_,
          .byte = static_cast<std::int64_t>(begin_) + index * static_cast<std::int64_t>(size_of(type_))};
}

NpyWriter::NpyWriter(const std::filesystem::path& path, NpyType type, const NpyShape& shape,
                     Overwrite overwrite)
    : file_(path, overwrite), element_size_(size_of(type)) {
  const std::string header = npy_header(type, shape);
  file_.write(header);
  whole_ = Bytes{static_cast<std::int64_t>(header.size())};
  Bytes elements{static_cast<std::int64_t>(element_size_)};
  for (const std::int64_t size : shape) elements *= size;
  whole_ += elements;
}

void NpyWriter::append_bytes(std::span<const std::byte> bytes, std::size_t element_size) {
  check(element_size == element_size_, "elements of another size than the array's");
  file_.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void NpyWriter::commit() {
  commit_together(std::array<NpyWriter*, 1>{this});
}

void NpyWriter::commit_together(std::span<NpyWriter* const> writers) {
  std::vector<AtomicFile*> files;
  for (NpyWriter* writer : writers) {
    check(writer->file_.size() == writer->whole_, "an array with more or fewer elements than its shape says");
    writer->file_.close(Durability::kNow);
    files.push_back(&writer->file_);
  }
  publish_together(files);
}

}  // namespace nadi::inline files
