#include "nadi/torch_file/old_torch_format.h"

#include <cstring>
#include <map>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"

namespace nadi::inline files {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMagicNumber = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;  // little-endian
constexpr std::int64_t kFormatVersion = 1001;

class OldFormatReader {
 public:
  OldFormatReader(PickleArena& arena, std::span<const std::byte> bytes, const PickleOptions& options)
      : arena_(arena), bytes_(bytes), options_(options) {}

  void read() {
    expect_magic_number();
    const PickleArena version = next_pickle();
    if (version.root().as_int64() != kFormatVersion)
      throw fail(
          format("the version of the format is {}, not {}", version.root().as_int64(), kFormatVersion));
    const PickleArena machine = next_pickle();
    big_endian_ = !machine.root().at("little_endian").as_bool();
    read_next(arena_);
    const PickleArena keys = next_pickle();
    for (std::size_t i = 0; i < arena_.storages(); ++i)
      by_key_.emplace(arena_.storage_at(i).key, &arena_.storage_at(i));
    for (const PickleValue& key : keys.root().elements()) place_storage(key.as_text());
    if (!by_key_.empty())
      throw fail(format("the file has no data of storage {}", quote_for_message(by_key_.begin()->first)));
  }

 private:
  Error fail(std::string message, std::string hint = "") const {
    return input_error({.file = arena_.file(), .byte = options_.first_byte + static_cast<std::int64_t>(at_)},
                       std::move(message), std::move(hint));
  }
  void read_next(PickleArena& arena) {
    at_ += read_pickle_into(arena, bytes_.subspan(at_),
                            {.unknown_classes = options_.unknown_classes,
                             .first_byte = options_.first_byte + static_cast<std::int64_t>(at_),
                             .memory = options_.memory,
                             .file_bytes = options_.file_bytes});
  }
  PickleArena next_pickle() {
    PickleArena arena(arena_.file());
    read_next(arena);
    return arena;
  }
  void expect_magic_number() {
    const PickleArena magic = next_pickle();
    if (!magic.root().is_int() || magic.root().big_int() != kMagicNumber)
      throw input_error({.file = arena_.file()}, "this is a Python pickle, not a file of torch.save");
  }

  void place_storage(std::string_view key) {
    const auto found = by_key_.find(std::string(key));
    if (found == by_key_.end())
      throw fail(format("storage {} is listed twice, or the file does not use it", quote_for_message(key)));
    TorchStorage& storage = *found->second;
    std::int64_t count = 0;
    if (bytes_.size() - at_ < sizeof count) throw ends_early(key);
    std::memcpy(&count, bytes_.data() + at_, sizeof count);
    const std::int64_t width = size_of(storage.dtype);
    if (storage.size % width != 0 || count != storage.size / width)
      throw fail(format("storage {} has {} elements, and the pickle says {}", quote_for_message(key), count,
                        storage.size / width));
    at_ += sizeof count;
    if (bytes_.size() - at_ < static_cast<std::size_t>(storage.size)) throw ends_early(key);
    storage.bytes = bytes_.subspan(at_, static_cast<std::size_t>(storage.size));
    storage.file_offset = options_.first_byte + static_cast<std::int64_t>(at_);
    storage.big_endian = big_endian_;
    at_ += static_cast<std::size_t>(storage.size);
    by_key_.erase(found);
  }
  Error ends_early(std::string_view key) const {
    return fail(format("storage {} runs past the end of the file", quote_for_message(key)),
                "the file may have been cut short: copy or download it again");
  }

  PickleArena& arena_;
  std::span<const std::byte> bytes_;
  PickleOptions options_;
  std::size_t at_ = 0;
  bool big_endian_ = false;
  std::map<std::string, TorchStorage*> by_key_;  // those that were not met yet
};

}  // namespace

void open_old_torch_format(PickleArena& arena, std::span<const std::byte> bytes,
                           const PickleOptions& options) {
  OldFormatReader(arena, bytes, options).read();
}

}  // namespace nadi::inline files
