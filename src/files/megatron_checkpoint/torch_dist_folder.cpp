#include "nadi/megatron_checkpoint/torch_dist_folder.h"

#include <array>
#include <set>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/mapped_file.h"
#include "nadi/base/nearest.h"
#include "nadi/checkpoint/checksum_manifest.h"

namespace nadi::inline files {
namespace {

constexpr const char* kFormFile = "metadata.json";
constexpr const char* kCommonFile = "common.pt";
constexpr std::int64_t kFormVersion = 1;

// "__0_0.distcp", or "__0_0.distcp and 3 others".
std::string files_of(const TorchDistTensor& tensor) {
  std::set<std::string> files;
  for (const TorchDistChunk& chunk : tensor.chunks) files.insert(chunk.place.file);
  if (files.empty()) return "";
  if (files.size() == 1) return *files.begin();
  return format("{} and {} other{}", *files.begin(), files.size() - 1, files.size() == 2 ? "" : "s");
}

}  // namespace

bool is_torch_dist_folder(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / kFormFile)) return false;
  const JsonDocument document = read_json(folder / kFormFile);
  const JsonValue backend = document.root().at("sharded_backend");
  if (backend.as_string() != "torch_dist")
    throw error_at(backend, format("a checkpoint of the form '{}', which is not read", backend.as_string()),
                   "Megatron-LM writes the form torch_dist with --ckpt-format torch_dist");
  if (const auto version = document.root().find("sharded_backend_version"))
    if (version->as_int64() > kFormVersion)
      throw error_at(*version,
                     format("version {} of torch_dist is newer than what is known", version->as_int64()));
  return true;
}

// Files of the folder by name, mapped when first asked for.
class TorchDistFolder::Mappings {
 public:
  explicit Mappings(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::string path_of(const TorchDistPlace& place) const { return (folder_ / place.file).string(); }

  std::span<const std::byte> bytes_of(const TorchDistPlace& place, const std::string& name) {
    const auto found = files_.find(place.file);
    if (found == files_.end() && !std::filesystem::exists(folder_ / place.file))
      throw input_error({.file = path_of(place)}, format("the file is missing: '{}' has a part in it", name),
                        "a checkpoint is complete only with all of its files");
    const MappedFile& file = found != files_.end()
                                 ? found->second
                                 : files_.try_emplace(place.file, folder_ / place.file).first->second;
    const auto size = static_cast<std::int64_t>(file.bytes().size());
    if (place.offset > size || place.length > size - place.offset)
      throw input_error({.file = path_of(place)},
                        format("the file has {} bytes, and bytes {} to {} of it should be a part of '{}'",
                               size, place.offset, place.offset + place.length - 1, name),
                        "the file is not complete, or not of this checkpoint");
    return file.bytes().subspan(static_cast<std::size_t>(place.offset),
                                static_cast<std::size_t>(place.length));
  }

 private:
  std::filesystem::path folder_;
  std::map<std::string, MappedFile> files_;
};

TorchDistFolder::TorchDistFolder(const std::filesystem::path& folder, Verify verify)
    : path_(folder),
      common_(std::make_unique<TorchFile>(folder / kCommonFile,
                                          TorchFileOptions{.unknown_classes = UnknownClasses::kKeep})),
      mappings_(std::make_unique<Mappings>(folder)) {
  if (verify == Verify::kYes) {
    if (const auto manifest = ChecksumManifest::read(folder)) manifest->check_files();
    memory_ = std::make_shared<CheckedMemory>();
    common_->watch(*memory_);
  }
  TorchDistMetadata metadata = read_torch_dist_metadata(folder);
  const std::string file = (folder / kTorchDistMetadataFile).string();
  entries_.reserve(metadata.tensors.size());
  for (const TorchDistTensor& tensor : metadata.tensors) {
    TorchDistEntry entry{.name = tensor.name,
                         .dtype = tensor.dtype,
                         .data = ChunkedTensor(tensor.shape, size_of(tensor.dtype)),
                         .place = files_of(tensor),
                         .flattened = tensor.is_flattened()};
    for (const TorchDistChunk& chunk : tensor.chunks) open_chunk(tensor, chunk, entry.data);
    entry.data.settle(tensor.name, file);
    entries_.push_back(std::move(entry));
  }
  for (const TorchDistEntry& entry : entries_) by_name_.emplace(entry.name, &entry);
  objects_ = std::move(metadata.objects);
  for (const TorchDistObject& object : objects_) mappings_->bytes_of(object.place, object.name);  // is there
}

TorchDistFolder::~TorchDistFolder() = default;

std::vector<std::string> TorchDistFolder::notes() const {
  std::vector<std::string> notes;
  for (const std::string& file : without_checksums_) notes.push_back(no_checksums_note(file));
  return notes;
}

void TorchDistFolder::open_chunk(const TorchDistTensor& tensor, const TorchDistChunk& chunk,
                                 ChunkedTensor& into) {
  const std::string file = mappings_->path_of(chunk.place);
  // Closed at the end: the elements stay in the mapping.
  const TorchFile archive(mappings_->bytes_of(chunk.place, tensor.name), file,
                          TorchFileOptions{.unknown_classes = UnknownClasses::kRefuse}, chunk.place.offset);
  const PickleValue root = archive.root();
  if (!root.is_tensor())
    throw input_error({.file = file},
                      format("byte {}: '{}' should be a tensor", chunk.place.offset, tensor.name));
  const TorchTensor& stored = root.as_tensor();
  // Megatron saves a flat range as it is, without the leading axes of length 1.
  const bool same_shape = stored.shape == chunk.box.sizes ||
                          (stored.shape.elements() == chunk.box.sizes.elements() && tensor.is_flattened());
  if (stored.dtype != tensor.dtype || !same_shape)
    throw input_error({.file = file},
                      format("byte {}: a chunk of '{}' is {} {}, and .metadata says {} {}",
                             chunk.place.offset, tensor.name, to_string(stored.dtype),
                             stored.shape.to_string(), to_string(tensor.dtype), chunk.box.sizes.to_string()));
  if (memory_ && stored.storage->crc32)
    memory_->add({.bytes = stored.storage->bytes,
                  .name = tensor.name,
                  .file = file,
                  .file_offset = stored.storage->file_offset,
                  .whole = stored.storage->crc32});
  if (memory_ && archive.lacks_checksums()) without_checksums_.insert(file);
  auto bytes = stored.view();
  if (!bytes) {
    if (memory_) memory_->check(stored.storage->bytes);
    std::vector<std::byte>& copy = unpacked_.emplace_back(static_cast<std::size_t>(stored.size()));
    stored.read(copy);
    bytes = copy;
  }
  if (!tensor.is_flattened()) return into.add(chunk.box, *bytes);
  ChunkedTensor::FlatRange range{.offsets = tensor.shape,
                                 .local = tensor.shape,
                                 .first = chunk.box.offsets[-1],
                                 .count = chunk.box.sizes[-1]};
  for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
    range.local.set(axis, tensor.shape[axis] / tensor.flattened[axis]);
    range.offsets.set(axis, chunk.box.offsets[axis] * range.local[axis]);
  }
  into.add_flattened(range, *bytes);
}

const TorchDistEntry* TorchDistFolder::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const TorchDistEntry& TorchDistFolder::at(std::string_view name) const {
  if (const TorchDistEntry* entry = find(name)) return *entry;
  std::vector<std::string_view> names;
  for (const auto& [known, entry] : by_name_) names.push_back(known);
  throw input_error({.file = (path_ / kTorchDistMetadataFile).string()},
                    format("there is no tensor '{}'", name), did_you_mean(name, names));
}

}  // namespace nadi::inline files
