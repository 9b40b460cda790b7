// Writes a file of torch.save with values of every kind, for read_torch_file.py, which knows what is in it.
//   write_torch_file FILE

#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/torch_file/pickle_arena.h"
#include "nadi/torch_file/torch_globals.h"
#include "nadi/torch_file/torch_writer.h"

namespace nadi {
namespace {

// Every element type; the elements are bytes 0, 1, 2, ...: read_torch_file.py sees them as bytes.
constexpr std::array kTypes{FileDType::kF32,    FileDType::kF64,    FileDType::kF16, FileDType::kBF16,
                            FileDType::kI8,     FileDType::kI16,    FileDType::kI32, FileDType::kI64,
                            FileDType::kU8,     FileDType::kBool,   FileDType::kC64, FileDType::kC128,
                            FileDType::kF8E4M3, FileDType::kF8E5M2, FileDType::kU16, FileDType::kU32,
                            FileDType::kU64};
constexpr std::int64_t kElements = 6;

void write(const std::string& path) {
  PickleArena values;
  const PickleValue root = values.ordered_dict();
  for (const FileDType dtype : kTypes) {
    TorchStorage& storage = values.storage(dtype, kElements);
    values.set(root, torch_dtype_name(dtype),
               values.tensor({.storage = &storage, .dtype = dtype, .shape = {2, 3}}));
  }
  TorchStorage& shared = values.storage(FileDType::kU8, 12);
  const PickleValue tied = values.tensor({.storage = &shared, .dtype = FileDType::kU8, .shape = {3, 4}});
  values.set(root, "tied", tied);
  values.set(root, "tied too", tied);
  values.set(
      root, "transposed",
      values.tensor({.storage = &shared, .dtype = FileDType::kU8, .shape = {4, 3}, .strides = {1, 4}}));
  values.set(root, "row",
             values.tensor({.storage = &shared, .dtype = FileDType::kU8, .shape = {4}, .offset = 4}));
  TorchStorage& scalar = values.storage(FileDType::kF32, 1);
  values.set(root, "parameter",
             values.tensor({.storage = &scalar, .shape = {}, .requires_grad = true, .is_parameter = true}));
  TorchStorage& nothing = values.storage(FileDType::kF32, 0);
  values.set(root, "empty", values.tensor({.storage = &nothing, .shape = {0, 3}}));
  values.set(
      root, "numbers",
      values.list(std::vector{values.integer(-1), values.integer(255), values.integer(65535),
                              values.integer(65536), values.integer(std::int64_t{-1} << 40),
                              values.big_integer(std::string("\0\0\0\0\0\0\0\0\x40", 9)), values.real(1.5)}));
  values.set(root, "others",
             values.tuple({values.none(), values.boolean(true), values.text("grüß"),
                           values.bytes(std::string_view("\0\xff", 2)),
                           values.set_of(std::vector{values.integer(3)}), values.dtype(FileDType::kBF16),
                           values.device("cpu"), values.size(std::vector<std::int64_t>{2, 3})}));
  const PickleValue metadata = values.dict();
  values.set(metadata, "_metadata", values.dict());
  values.set_state(root, metadata);

  AtomicFile file(path, Overwrite::kAllow);
  write_torch_file(file, root, [](const TorchStorage& storage, const StorageSink& sink) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(storage.size));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(storage.dtype == FileDType::kBool ? i % 2 : i);
    sink(bytes);
  });
  file.commit();
}

}  // namespace
}  // namespace nadi

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_torch_file FILE\n");
    return 2;
  }
  nadi::write(argv[1]);
}
