#include "nadi/torch_file/torch_file.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "nadi/base/checked_memory.h"
#include "nadi/base/crc32.h"
#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/mapped_file.h"
#include "nadi/base/message_text.h"
#include "nadi/base/read_number.h"
#include "nadi/torch_file/old_torch_format.h"
#include "nadi/torch_file/pickle_node.h"
#include "nadi/torch_file/zip_archive.h"

namespace nadi::inline files {
namespace {

constexpr std::string_view kWanted = "a file of torch.save";

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The folder of an archive in which everything lies: that of its first entry.
std::string root_folder(const ZipArchive& archive, const std::string& file) {
  if (archive.entries().empty()) throw input_error({.file = file}, "the archive is empty");
  const std::string_view first = archive.entries()[0].name;
  return std::string(first.substr(0, first.find('/')));
}

const ZipEntry& entry_at(const ZipArchive& archive, const std::string& name, const std::string& file) {
  if (const ZipEntry* entry = archive.find(name)) return *entry;
  throw input_error({.file = file}, format("the archive has no entry {}", quote_for_message(name)),
                    "is it a file of torch.save?");
}

// A text of a few bytes, as `version` and `byteorder` are.
std::string_view short_text(const ZipArchive& archive, const ZipEntry& entry, const std::string& file) {
  constexpr std::int64_t kLongest = 64;
  if (!entry.is_stored || entry.size > kLongest)
    throw input_error({.file = file}, format("entry {} must be a short text", quote_for_message(entry.name)));
  std::string_view text = as_text(archive.bytes_of(entry));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

void check_version(const ZipArchive& archive, const std::string& root, const std::string& file) {
  constexpr int kFirst = 1, kLast = 10;  // as PyTorch has them
  const std::string_view text = short_text(archive, entry_at(archive, root + "/version", file), file);
  int version = 0;
  if (!read_number(text, version) || version < kFirst || version > kLast)
    throw input_error({.file = file}, format("the version of the file is {}; {} to {} are known",
                                             quote_for_message(text), kFirst, kLast));
}

bool is_big_endian(const ZipArchive& archive, const std::string& root, const std::string& file) {
  const ZipEntry* const entry = archive.find(root + "/byteorder");
  if (entry == nullptr) return false;
  const std::string_view order = short_text(archive, *entry, file);
  if (order == "little" || order == "big") return order == "big";
  throw input_error({.file = file}, format("the byte order of the file is {}", quote_for_message(order)),
                    "'little' and 'big' are known");
}

// A way from a root to a value: a node of it, and the place of the next one in the node's container.
struct WalkStep {
  std::size_t parent;           // in the list of steps
  const PickleNode* container;  // nullptr for the start
  std::size_t index;
};

// Limits of a path; real ones have a handful of steps. A long name may be on the way to very many tensors, and each
// has a path of its own.
constexpr std::size_t kMostSteps = 64, kLongestPathText = 4096;

std::string step_text(const WalkStep& step) {
  if (step.container->kind != PickleKind::kDict) return std::to_string(step.index);
  const std::optional<PickleKey> key = key_of(*step.container->items[step.index - 1]);
  if (!key) return format("entry {}", step.index / 2);
  return key->is_text ? std::string(key->text) : std::to_string(key->number);
}

std::string path_of(const std::vector<WalkStep>& steps, std::size_t at) {
  std::string path;
  for (std::size_t count = 0; steps[at].container != nullptr; at = steps[at].parent) {
    if (++count > kMostSteps) return "…/" + path;
    const std::string step = step_text(steps[at]);
    path = path.empty() ? step : step + '/' + path;
    if (path.size() > kLongestPathText) return "…" + path.substr(path.size() - kLongestPathText);
  }
  return path;
}

}  // namespace

struct TorchFile::Opened {
  std::optional<MappedFile> mapping = {};
  std::span<const std::byte> bytes = {};
  std::int64_t first_byte = 0;
  PickleArena arena;
  bool is_archive = false;

  void open(const TorchFileOptions& options);
  void open_archive(const TorchFileOptions& options);
};

void TorchFile::Opened::open(const TorchFileOptions& options) {
  const std::string& file = arena.file();
  if (bytes.empty()) throw WrongFileKind(file, FileKind::kEmpty, kWanted);
  const std::string_view start = as_text(bytes.first(std::min(bytes.size(), kFileKindBytes)));
  if (start.starts_with("PK\x03\x04")) {
    is_archive = true;
    open_archive(options);
  } else {
    expect_kind(start, file, kWanted, {FileKind::kPickle});
    open_old_torch_format(arena, bytes,
                          {.unknown_classes = options.unknown_classes,
                           .first_byte = first_byte,
                           .memory = options.memory,
                           .file_bytes = bytes.size()});
  }
}

void TorchFile::Opened::open_archive(const TorchFileOptions& options) {
  // Limit of a deflated pickle; torch.save stores it.
  constexpr std::int64_t kMaxInflated = std::int64_t{64} << 20;
  const std::string& file = arena.file();
  const ZipArchive archive(bytes, file, first_byte);
  const std::string root = root_folder(archive, file);
  check_version(archive, root, file);
  const bool big_endian = is_big_endian(archive, root, file);
  const ZipEntry& pickle = entry_at(archive, root + "/data.pkl", file);
  std::vector<std::byte> inflated;
  if (!pickle.is_stored) inflated = archive.inflate(pickle, kMaxInflated);
  const auto pickled = pickle.is_stored ? archive.bytes_of(pickle) : std::span<const std::byte>(inflated);
  if (static_cast<std::int64_t>(pickled.size()) > kMaxPickle)
    throw input_error({.file = file},
                      format("a pickle of {} bytes is over the limit of {}", pickled.size(), kMaxPickle));
  archive.check_sum(pickle, pickled);
  read_pickle_into(arena, pickled,
                   {.unknown_classes = options.unknown_classes,
                    .first_byte = first_byte + pickle.offset,
                    .memory = options.memory,
                    .file_bytes = bytes.size()});
  for (std::size_t i = 0; i < arena.storages(); ++i) {
    TorchStorage& storage = arena.storage_at(i);
    const ZipEntry& entry = entry_at(archive, root + "/data/" + storage.key, file);
    if (!entry.is_stored)
      throw input_error({.file = file},
                        format("entry {} is compressed; data must be stored", quote_for_message(entry.name)));
    if (entry.size != storage.size)
      throw input_error({.file = file},
                        format("storage {} has {} bytes in the archive, and the pickle says {}",
                               quote_for_message(storage.key), entry.size, storage.size));
    storage.bytes = archive.bytes_of(entry);
    storage.file_offset = first_byte + entry.offset;
    if (entry.crc32 != 0) storage.crc32 = entry.crc32;
    storage.big_endian = big_endian;
  }
}

TorchFile::TorchFile(const std::filesystem::path& path, const TorchFileOptions& options)
    : opened_(std::make_unique<Opened>(Opened{.mapping = std::optional<MappedFile>(std::in_place, path),
                                              .arena = PickleArena(path.string())})) {
  opened_->bytes = opened_->mapping->bytes();
  opened_->open(options);
}

TorchFile::TorchFile(std::span<const std::byte> bytes, std::string name, const TorchFileOptions& options,
                     std::int64_t first_byte)
    : opened_(std::make_unique<Opened>(
          Opened{.bytes = bytes, .first_byte = first_byte, .arena = PickleArena(std::move(name))})) {
  opened_->open(options);
}

TorchFile::TorchFile(TorchFile&&) noexcept = default;
TorchFile& TorchFile::operator=(TorchFile&&) noexcept = default;
TorchFile::~TorchFile() = default;

PickleValue TorchFile::root() const {
  return opened_->arena.root();
}

const std::string& TorchFile::file() const {
  return opened_->arena.file();
}

std::vector<NamedTorchTensor> TorchFile::tensors() const {
  return tensors_below(root());
}

void TorchFile::watch(CheckedMemory& memory) const {
  std::unordered_map<const TorchStorage*, std::string> names;
  for (NamedTorchTensor& named : tensors()) names.try_emplace(named.tensor->storage, std::move(named.path));
  for (std::size_t i = 0; i < opened_->arena.storages(); ++i) {
    const TorchStorage& storage = opened_->arena.storage_at(i);
    if (!storage.crc32) continue;
    const auto name = names.find(&storage);
    memory.add({.bytes = storage.bytes,
                .name = name != names.end() && !name->second.empty() ? name->second : "data/" + storage.key,
                .file = file(),
                .file_offset = storage.file_offset,
                .whole = storage.crc32});
  }
}

bool TorchFile::lacks_checksums() const {
  if (!opened_->is_archive) return false;
  for (std::size_t i = 0; i < opened_->arena.storages(); ++i) {
    const TorchStorage& storage = opened_->arena.storage_at(i);
    if (!storage.crc32 && !storage.bytes.empty()) return true;
  }
  return false;
}

void TorchFile::verify_checksums() const {
  for (std::size_t i = 0; i < opened_->arena.storages(); ++i) {
    const TorchStorage& storage = opened_->arena.storage_at(i);
    if (storage.crc32 && crc32(storage.bytes) != *storage.crc32)
      throw input_error(
          {.file = file(), .byte = storage.file_offset},
          format("storage {} is damaged: its checksum differs", quote_for_message(storage.key)));
  }
}

std::vector<NamedTorchTensor> tensors_below(PickleValue value) {
  std::vector<NamedTorchTensor> found;
  struct Open {
    PickleNode* node;
    std::size_t step;
  };
  std::vector<WalkStep> steps{{.parent = 0, .container = nullptr, .index = 0}};
  std::vector<Open> open{{PickleAccess::node(value), 0}};
  std::unordered_set<const PickleNode*> met;
  while (!open.empty()) {
    const Open now = open.back();
    open.pop_back();
    if (now.node->kind == PickleKind::kTensor) {
      found.push_back({.path = path_of(steps, now.step),
                       .value = PickleAccess::value_beside(value, now.node),
                       .tensor = &now.node->parts<PickleTensorParts>().tensor});
      continue;
    }
    const bool has_children = !now.node->items.empty() || now.node->kind == PickleKind::kObject;
    if (!has_children || !met.insert(now.node).second) continue;
    const std::size_t before = open.size();
    const bool is_dict = now.node->kind == PickleKind::kDict;
    for (std::size_t i = is_dict ? 1 : 0; i < now.node->items.size(); i += is_dict ? 2 : 1) {
      PickleNode* const child = now.node->items[i];
      const bool may_hold =
          child->kind == PickleKind::kTensor || child->kind == PickleKind::kObject || !child->items.empty();
      if (!may_hold) continue;
      open.push_back({child, steps.size()});
      steps.push_back({.parent = now.step, .container = now.node, .index = i});
    }
    if (now.node->kind == PickleKind::kObject) {
      const auto& parts = now.node->parts<PickleObjectParts>();
      for (PickleNode* part : {parts.arguments, parts.state, parts.entries, parts.elements})
        if (part != nullptr) open.push_back({part, now.step});
    }
    std::reverse(open.begin() + static_cast<std::ptrdiff_t>(before), open.end());
  }
  return found;
}

}  // namespace nadi::inline files
