#include "nadi/checkpoint_inspection/weight_files.h"

#include <cstring>
#include <map>
#include <set>

#include "nadi/base/checked_memory.h"
#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/mapped_file.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/torch_file/torch_file.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

// Where a tensor's elements are: in a mapping one after the other, or as a torch tensor says.
struct StoredElements {
  std::span<const std::byte> bytes = {};
  const TorchTensor* torch = nullptr;
};

class WeightFiles : public StoredTensors {
 public:
  WeightFiles(const std::vector<fs::path>& files, std::vector<std::string> notes,
              const TensorReading& reading)
      : notes_(std::move(notes)), count_(files.size()), reading_(reading) {
    for (const fs::path& file : files) open(file);
    if (tensors_.empty()) throw input_error({.file = files.front().string()}, "there are no tensors in it");
  }

  std::string kind() const override {
    std::string kinds;
    for (const std::string& kind : kinds_) kinds += (kinds.empty() ? "" : " and ") + kind;
    return count_ == 1 ? kinds + " file" : format("{} {} files", count_, kinds);
  }
  std::vector<std::string> notes() const override { return notes_; }
  std::span<const WholeTensor> tensors() const override { return tensors_; }

  void read(const WholeTensor& tensor, const TensorBlock& block, std::span<std::byte> out) const override {
    const StoredElements& elements = elements_of(tensor);
    memory_.check(bytes_to_check(tensor, block));
    if (elements.torch != nullptr) {
      elements.torch->read_block({.first_row = block.row,
                                  .rows = block.rows,
                                  .first_column = block.column,
                                  .columns = block.columns},
                                 out);
      return;
    }
    const auto size = static_cast<std::size_t>(size_of(tensor.dtype));
    const auto row = static_cast<std::size_t>(block.columns) * size;
    for (std::int64_t r = 0; r < block.rows; ++r) {
      const std::int64_t first = (block.row + r) * tensor.columns() + block.column;
      std::memcpy(out.data() + static_cast<std::size_t>(r) * row,
                  elements.bytes.data() + static_cast<std::size_t>(first) * size, row);
    }
  }

  std::optional<std::span<const std::byte>> view(const WholeTensor& tensor,
                                                 const TensorBlock& block) const override {
    const StoredElements& elements = elements_of(tensor);
    const bool rows_whole = block.columns == tensor.columns();
    if (elements.bytes.empty() || !(rows_whole || block.rows == 1)) return std::nullopt;
    const std::int64_t first = (block.row * tensor.columns() + block.column) * size_of(tensor.dtype);
    memory_.check(bytes_to_check(tensor, block));
    return elements.bytes.subspan(static_cast<std::size_t>(first), tensor.bytes_of(block));
  }

  void check_rest() const override { memory_.check_rest(); }
  Bytes checked() const override { return memory_.checked(); }

 private:
  // Whole rows, or all of a storage whose elements lie in another order.
  std::span<const std::byte> bytes_to_check(const WholeTensor& tensor, const TensorBlock& block) const {
    const StoredElements& elements = elements_of(tensor);
    if (elements.bytes.empty())
      return elements.torch != nullptr ? elements.torch->storage->bytes : elements.bytes;
    const auto row = static_cast<std::size_t>(tensor.columns() * size_of(tensor.dtype));
    return elements.bytes.subspan(static_cast<std::size_t>(block.row) * row,
                                  static_cast<std::size_t>(block.rows) * row);
  }

  void open(const fs::path& file) {
    switch (const FileKind kind = kind_of_file(file)) {
      case FileKind::kSafetensors:
        return open_safetensors(file);
      case FileKind::kTorchSave:
      case FileKind::kPickle:
        return open_torch(file);
      case FileKind::kUnknown:  // damaged, or not there: the reader says which
        return file.extension() == ".safetensors" ? open_safetensors(file) : open_torch(file);
      default:
        throw WrongFileKind(file.string(), kind, "a safetensors or torch.save file");
    }
  }

  void open_safetensors(const fs::path& file) {
    kinds_.insert("safetensors");
    mappings_.push_back(std::make_unique<MappedFile>(file));
    const MappedFile& mapping = *mappings_.back();
    const SafetensorsReader reader(mapping.bytes(), file.string());
    if (reading_.verify == Verify::kYes) {
      const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
      if (const auto manifest = ChecksumManifest::read(folder)) manifest->watch(reader, memory_);
    }
    std::int64_t size = 0;
    for (const SafetensorsTensor& tensor : reader.tensors()) size += tensor.size().count();
    // The tensors cover the data without a hole, and the data is the end of the file.
    const std::span<const std::byte> data = mapping.bytes().last(static_cast<std::size_t>(size));
    for (const SafetensorsTensor& tensor : reader.tensors())
      add({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .place = file.string()},
          {.bytes = data.subspan(static_cast<std::size_t>(tensor.begin),
                                 static_cast<std::size_t>(tensor.size().count()))});
    for (const auto& [key, value] : reader.metadata())
      if (key != "format")
        notes_.push_back(format("metadata {} is {}", quoted_name(key), quoted_name(value)));
  }

  void open_torch(const fs::path& file) {
    kinds_.insert("torch.save");
    torch_.push_back(std::make_unique<TorchFile>(
        file, TorchFileOptions{.unknown_classes = UnknownClasses::kKeep, .memory = reading_.memory}));
    if (reading_.verify == Verify::kYes) {
      torch_.back()->watch(memory_);
      if (torch_.back()->lacks_checksums()) notes_.push_back(no_checksums_note(file.string()));
    }
    for (const NamedTorchTensor& named : torch_.back()->tensors())
      add({.name = named.path,
           .dtype = named.tensor->dtype,
           .shape = named.tensor->shape,
           .place = file.string()},
          {.bytes = named.tensor->view().value_or(std::span<const std::byte>{}), .torch = named.tensor});
  }

  void add(WholeTensor tensor, StoredElements elements) {
    tensor.stored_rows = tensor.rows();
    const auto [entry, added] = places_.try_emplace(tensor.name, elements_.size());
    if (!added)
      throw input_error({.file = tensor.place}, format("tensor {} is in {}, too", quoted_name(tensor.name),
                                                       tensors_[entry->second].place));
    elements_.push_back(elements);
    tensors_.push_back(std::move(tensor));
  }

  const StoredElements& elements_of(const WholeTensor& tensor) const {
    return elements_[static_cast<std::size_t>(&tensor - tensors_.data())];
  }

  std::vector<std::string> notes_;
  std::size_t count_;
  TensorReading reading_;
  CheckedMemory memory_;
  std::set<std::string> kinds_;
  std::vector<std::unique_ptr<MappedFile>> mappings_;
  std::vector<std::unique_ptr<TorchFile>> torch_;
  std::vector<WholeTensor> tensors_;
  std::vector<StoredElements> elements_;  // of each tensor
  std::map<std::string, std::size_t> places_;
};

}  // namespace

std::unique_ptr<StoredTensors> open_weight_files(const std::vector<fs::path>& files,
                                                 std::vector<std::string> notes,
                                                 const TensorReading& reading) {
  return std::make_unique<WeightFiles>(files, std::move(notes), reading);
}

}  // namespace nadi::inline files
