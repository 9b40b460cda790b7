// Arrays of whole numbers in NumPy's format (.npy, version 1.0): reading without loading, and writing the
// very bytes that NumPy writes.
//
//   const NpyFile file(path);
//   file.expect(NpyType::kI32, {{rows, 2}});
//   file.at<std::int32_t>(2 * row)
//
//   NpyWriter writer(path, NpyType::kU32, {rows}, Overwrite::kAllow);
//   writer.append(std::span(numbers));          // rows of them in all, in as many pieces as you like
//   writer.commit();
//
// Errors of reading are of kind input and name file and byte.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/mapped_file.h"

namespace nadi::inline ground {
struct Place;
}  // namespace nadi::inline ground

namespace nadi::inline files {

enum class NpyType : std::uint8_t { kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64 };

std::size_t size_of(NpyType type);        // bytes of an element
std::string_view descr_of(NpyType type);  // as the header writes it: "<i4"

// One axis or two.
using NpyShape = std::vector<std::int64_t>;

class NpyFile {
 public:
  // Error when header and size of the file do not fit together, or elements are not of an NpyType.
  explicit NpyFile(const std::filesystem::path& path);
  // From bytes that outlive the object; `name` is for messages.
  NpyFile(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  NpyType type() const { return type_; }
  const NpyShape& shape() const { return shape_; }
  std::int64_t elements() const;

  // Error, naming both, when type or shape are others.
  void expect(NpyType type, const NpyShape& shape, const std::string& hint = "") const;

  // T is the type of the elements; `index` counts them row by row.
  template <typename T>
  T at(std::int64_t index) const {
    return load<T>(bytes_, begin_ + static_cast<std::size_t>(index) * sizeof(T));
  }
  Place place_of(std::int64_t index) const;

 private:
  void read_header();

  std::string name_;
  std::optional<MappedFile> file_;  // none for bytes in memory
  std::span<const std::byte> bytes_;
  NpyType type_ = NpyType::kU8;
  NpyShape shape_;
  std::size_t begin_ = 0;  // of the elements
};

class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, NpyType type, const NpyShape& shape, Overwrite overwrite);

  template <std::integral T>
  void append(std::span<const T> numbers) {
    append_bytes(std::as_bytes(numbers), sizeof(T));
  }

  // The file appears only now, with as many elements as its shape says.
  void commit();
  // The same for several files, which appear together.
  static void commit_together(std::span<NpyWriter* const> writers);

 private:
  void append_bytes(std::span<const std::byte> bytes, std::size_t element_size);

  AtomicFile file_;
  std::size_t element_size_;
  Bytes whole_;  // with the header
};

// What stands in front of the elements, 128 bytes.
std::string npy_header(NpyType type, const NpyShape& shape);

}  // namespace nadi::inline files
