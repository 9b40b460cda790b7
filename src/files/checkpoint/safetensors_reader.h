// Reads a safetensors file (safetensors_header.h), tensor by tensor.
//
//   const SafetensorsReader reader("model.safetensors");
//   for (const SafetensorsTensor& tensor : reader.tensors()) print(tensor.name, tensor.shape.to_string());
//   std::vector<std::byte> weights(50257 * 768 * 2);
//   reader.read("wte.weight", DType::kBF16, weights);        // converted, if the file has another type
//
// Opening reads and checks the header; data is read when asked for, straight into its destination or, where
// it is converted, in blocks of 1 MiB. Reading does not change the reader, and several threads may do it at
// once. Whatever is wrong with the file is Error (input) that names it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/checkpoint/safetensors_header.h"
#include "nadi/graph/dtype.h"

namespace nadi::inline files {

class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::filesystem::path& path);
  // A file that is in memory, and stays there as long as the reader; `name` is for messages.
  SafetensorsReader(std::span<const std::byte> bytes, std::string name);
  SafetensorsReader(SafetensorsReader&& other) noexcept;
  SafetensorsReader& operator=(SafetensorsReader&&) = delete;
  ~SafetensorsReader();

  std::span<const SafetensorsTensor> tensors() const { return header_.tensors; }  // in the order of the data
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const std::string& file() const { return file_; }

  // nullptr when there is none of that name. at() throws, with the nearest name as a hint.
  const SafetensorsTensor* find(std::string_view name) const;
  const SafetensorsTensor& at(std::string_view name) const;

  // All elements of a tensor as `wanted`; `out` has exactly their size. f64, f32, bf16 and f16 are converted
  // to f32, bf16 and f16 (element_conversion.h); any other difference of types is an Error.
  void read(std::string_view name, DType wanted, std::span<std::byte> out) const;
  void read(const SafetensorsTensor& tensor, DType wanted, std::span<std::byte> out) const;

  // The bytes of a tensor in the mapped file, which is mapped when this is first asked for. Valid as long as
  // the reader; the start may be unaligned.
  std::span<const std::byte> mapped(const SafetensorsTensor& tensor) const;

  // All before the data: the length of the header and the header.
  std::span<const std::byte> mapped_header() const;
  Bytes file_size() const { return Bytes{file_size_}; }

  // The bytes of a tensor, of whatever type.
  void read_bytes(const SafetensorsTensor& tensor, std::span<std::byte> out) const;

 private:
  std::span<const std::byte> mapped_file() const;
  void open_file(const std::filesystem::path& path);
  void expect_safetensors() const;
  void read_header();
  void read_at(std::int64_t offset, std::span<std::byte> out) const;

  struct Mapping;
  std::string file_;
  std::unique_ptr<Mapping> mapping_;
  int descriptor_ = -1;                     // of a file; -1 for one in memory
  std::span<const std::byte> memory_ = {};  // of one in memory
  std::int64_t file_size_ = 0;
  std::int64_t data_begin_ = 0;
  SafetensorsHeader header_;
  std::map<std::string_view, std::size_t> by_name_;  // views of the names in header_
};

}  // namespace nadi::inline files
