#include "nadi/data/index_map.h"

#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/data/indexed_dataset.h"

namespace nadi::inline files {

std::filesystem::path index_map_path(const IndexedDataset& dataset, const std::filesystem::path& folder,
                                     const std::string& name) {
  const std::filesystem::path prefix = dataset.prefix();
  return (folder.empty() ? prefix.parent_path() : folder) / (prefix.filename().string() + "_" + name);
}

void check_index_map_seed(std::uint64_t seed) {
  if (seed <= std::numeric_limits<std::uint32_t>::max()) return;
  throw usage_error(format("seed {} has more than the 32 bits that Megatron's index maps take", seed));
}

void with_cache_hint(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kEnvironment) throw;
    throw Error(error.kind(), error.place(), error.message(), "choose another folder for the index maps");
  }
}

}  // namespace nadi::inline files
