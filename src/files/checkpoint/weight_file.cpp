#include "nadi/checkpoint/weight_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "nadi/base/checked_memory.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/checkpoint/element_conversion.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/torch_file/torch_file.h"

namespace nadi::inline files {
namespace {

constexpr std::array kWeightFormats{
    WeightFormatEntry{WeightFormat::kSafetensors, "safetensors", "model.safetensors",
                      "model.safetensors.index.json", "read by all tools of Hugging Face, without a pickle"},
    WeightFormatEntry{WeightFormat::kPytorch, "pytorch", "pytorch_model.bin", "pytorch_model.bin.index.json",
                      "a file of torch.save, for tools that want one"},
};

}  // namespace

std::span<const WeightFormatEntry> weight_formats() {
  return kWeightFormats;
}

const WeightFormatEntry& entry_of(WeightFormat wanted) {
  return *std::ranges::find(kWeightFormats, wanted, &WeightFormatEntry::format);
}

struct WeightFile::Opened {
  std::string file;
  std::optional<SafetensorsReader> safetensors = {};
  std::optional<TorchFile> torch = {};
  std::vector<WeightTensor> tensors = {};
  std::map<std::string_view, std::size_t> by_name = {};
  std::vector<std::string> others = {};
  WeightChecks checks = {};
};

void WeightTensor::read(DType wanted, std::span<std::byte> out) const {
  read(0, shape_.elements(), wanted, out);
}

void WeightTensor::read(std::int64_t first, std::int64_t count, DType wanted,
                        std::span<std::byte> out) const {
  check(first >= 0 && count >= 0 && first <= shape_.elements() - count, "elements lie outside their tensor");
  if (!can_convert_elements(dtype_, wanted))
    throw input_error({.file = file()}, format("tensor {} holds {}, which cannot be read as {}",
                                               quoted_name(name_), to_string(dtype_), to_string(wanted)));
  check(out.size() == static_cast<std::size_t>(count * size_of(wanted)),
        "a tensor is read into memory of another size");
  const std::int64_t from_size = size_of(dtype_);
  if (strided_ != nullptr && memory_ != nullptr) memory_->check(strided_->storage->bytes);
  // Blocks stay in the cache between being checked and being converted.
  constexpr std::int64_t kBlockBytes = 1 << 20;
  std::vector<std::byte> block;
  while (count > 0) {
    const std::int64_t now = std::min(count, kBlockBytes / from_size);
    const auto now_bytes = static_cast<std::size_t>(now * from_size);
    if (strided_ != nullptr) {
      block.resize(now_bytes);
      strided_->read_elements(first, now, block);
    } else if (memory_ != nullptr) {
      memory_->check(bytes_.subspan(static_cast<std::size_t>(first * from_size), now_bytes));
    }
    convert_elements(dtype_, strided_ != nullptr ? block.data() : bytes_.data() + first * from_size, wanted,
                     out.data(), static_cast<std::size_t>(now));
    out = out.subspan(static_cast<std::size_t>(now * size_of(wanted)));
    first += now;
    count -= now;
  }
}

std::span<const std::byte> WeightTensor::mapped() const {
  if (strided_ == nullptr) return bytes_;
  throw input_error({.file = file()},
                    format("the elements of tensor {} do not lie row by row", quoted_name(name_)),
                    "load the file with PyTorch, make its tensors contiguous and save them again");
}

WeightTensor weight_tensor(const SafetensorsReader& reader, const SafetensorsTensor& tensor,
                           const CheckedMemory* memory) {
  WeightTensor made;
  made.name_ = tensor.name;
  made.file_ = &reader.file();
  made.dtype_ = tensor.dtype;
  made.shape_ = tensor.shape;
  made.bytes_ = reader.mapped(tensor);
  made.memory_ = memory;
  return made;
}

WeightFile::WeightFile(const std::filesystem::path& path, WeightFormat written_as, const WeightChecks& checks)
    : opened_(std::make_unique<Opened>(Opened{.file = path.string(), .checks = checks})) {
  if (written_as == WeightFormat::kSafetensors) {
    open_safetensors(path);
  } else {
    open_pytorch(path);
  }
  for (std::size_t i = 0; i < opened_->tensors.size(); ++i)
    opened_->by_name.emplace(opened_->tensors[i].name(), i);
}

WeightFile::WeightFile(WeightFile&&) noexcept = default;
WeightFile& WeightFile::operator=(WeightFile&&) noexcept = default;
WeightFile::~WeightFile() = default;

void WeightFile::open_safetensors(const std::filesystem::path& path) {
  opened_->safetensors.emplace(path);
  const WeightChecks& checks = opened_->checks;
  if (checks.memory != nullptr && checks.manifest != nullptr)
    checks.manifest->watch(*opened_->safetensors, *checks.memory);
  for (const SafetensorsTensor& tensor : opened_->safetensors->tensors())
    opened_->tensors.push_back(weight_tensor(*opened_->safetensors, tensor, checks.memory));
}

// A dictionary of tensors by name, as state_dict() gives it.
void WeightFile::open_pytorch(const std::filesystem::path& path) {
  opened_->torch.emplace(path);
  if (opened_->checks.memory != nullptr) opened_->torch->watch(*opened_->checks.memory);
  const PickleValue root = opened_->torch->root();
  if (!root.is_dict())
    throw input_error({.file = opened_->file},
                      format("the file holds {}, not a dictionary of tensors", name_of(root.kind())));
  for (const auto& [key, value] : root.items()) {
    if (!key.is_text()) throw error_at(value, "the name of a tensor must be a text");
    if (!value.is_tensor()) {
      opened_->others.emplace_back(key.as_text());
      continue;
    }
    const TorchTensor& tensor = value.as_tensor();
    WeightTensor& made = opened_->tensors.emplace_back();
    made.name_ = key.as_text();
    made.file_ = &opened_->file;
    made.dtype_ = tensor.dtype;
    made.shape_ = tensor.shape;
    made.memory_ = opened_->checks.memory;
    if (const auto bytes = tensor.view()) {
      made.bytes_ = *bytes;
    } else {
      made.strided_ = &tensor;
    }
  }
  if (opened_->tensors.empty() && !opened_->others.empty())
    throw input_error({.file = opened_->file}, "the file holds no tensors by name",
                      format("it holds {}", quoted_name(opened_->others[0])));
}

bool WeightFile::lacks_checksums() const {
  return opened_->torch && opened_->torch->lacks_checksums();
}

const std::string& WeightFile::file() const {
  return opened_->file;
}

std::span<const WeightTensor> WeightFile::tensors() const {
  return opened_->tensors;
}

const WeightTensor* WeightFile::find(std::string_view name) const {
  const auto found = opened_->by_name.find(name);
  return found == opened_->by_name.end() ? nullptr : &opened_->tensors[found->second];
}

std::span<const std::string> WeightFile::other_entries() const {
  return opened_->others;
}

}  // namespace nadi::inline files
