// A file of weights, in one of the formats that Hugging Face folders have: tensors by name, in a mapped file.
//
//   const WeightFile file("pytorch_model.bin", WeightFormat::kPytorch);
//   if (const WeightTensor* tensor = file.find("wte.weight")) tensor->read(DType::kBF16, out);
//
// Tensors are valid as long as the file is open, also when it is moved. Reading changes nothing: several
// threads may do it at once. Whatever is wrong with the file is Error (input) that names it: so is, with the
// tensor's name, data that does not have its checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/graph/dtype.h"
#include "nadi/graph/file_dtype.h"
#include "nadi/graph/shape.h"

namespace nadi::inline ground {
class CheckedMemory;
}  // namespace nadi::inline ground

namespace nadi::inline files {

class ChecksumManifest;
class SafetensorsReader;
struct SafetensorsTensor;
struct TorchTensor;

enum class WeightFormat {
  kSafetensors,
  kPytorch,  // torch.save
};

struct WeightFormatEntry {
  WeightFormat format;
  std::string_view name;   // as users write it: "safetensors", "pytorch"
  std::string_view file;   // in a folder: "model.safetensors"
  std::string_view index;  // of several files: "model.safetensors.index.json"
  std::string_view summary;
};

// All formats, in the order in which a folder is looked through: transformers, too, prefers safetensors.
std::span<const WeightFormatEntry> weight_formats();
const WeightFormatEntry& entry_of(WeightFormat format);

// What the tensors of a file are checked against when they are read.
struct WeightChecks {
  CheckedMemory* memory = nullptr;  // nullptr means nothing is checked; must outlive the file
  const ChecksumManifest* manifest =
      nullptr;  // of the folder, for safetensors; files of torch.save have their own
};

class WeightTensor {
 public:
  const std::string& name() const { return name_; }  // as the file has it
  const std::string& file() const { return *file_; }
  FileDType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }

  // All elements, row by row, as `wanted`; `out` has exactly their size. f64, f32, bf16 and f16 are converted
  // to f32, bf16 and f16 (element_conversion.h); any other difference of types is an Error.
  void read(DType wanted, std::span<std::byte> out) const;
  // Elements [first, first + count) of them.
  void read(std::int64_t first, std::int64_t count, DType wanted, std::span<std::byte> out) const;

  // The bytes of all elements, row by row, where they lie in the mapped file, unchecked. Error (input) for a
  // tensor of a torch.save file whose elements lie in another order: a transposed view, for instance.
  std::span<const std::byte> mapped() const;

 private:
  friend class WeightFile;
  friend WeightTensor weight_tensor(const SafetensorsReader& reader, const SafetensorsTensor& tensor,
                                    const CheckedMemory* memory);
  std::string name_;
  const std::string* file_ = nullptr;
  FileDType dtype_ = FileDType::kF32;
  Shape shape_ = {};
  std::span<const std::byte> bytes_ = {};
  const TorchTensor* strided_ = nullptr;  // where bytes_ cannot be
  const CheckedMemory* memory_ = nullptr;
};

// A tensor of a safetensors file, of which `memory` may watch the bytes. Both must outlive it.
WeightTensor weight_tensor(const SafetensorsReader& reader, const SafetensorsTensor& tensor,
                           const CheckedMemory* memory = nullptr);

class WeightFile {
 public:
  WeightFile(const std::filesystem::path& path, WeightFormat format, const WeightChecks& checks = {});
  WeightFile(WeightFile&&) noexcept;
  WeightFile& operator=(WeightFile&&) noexcept;
  ~WeightFile();

  const std::string& file() const;
  std::span<const WeightTensor> tensors() const;          // in the order of the file
  const WeightTensor* find(std::string_view name) const;  // nullptr when there is none
  // Names of entries of a torch.save file that are no tensors: counters, settings.
  std::span<const std::string> other_entries() const;
  // Whether it is an archive that was saved without checksums.
  bool lacks_checksums() const;

 private:
  struct Opened;
  void open_safetensors(const std::filesystem::path& path);
  void open_pytorch(const std::filesystem::path& path);
  std::unique_ptr<Opened> opened_;
};

}  // namespace nadi::inline files
