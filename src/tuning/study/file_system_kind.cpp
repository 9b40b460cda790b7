#include "nadi/study/file_system_kind.h"

#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace nadi::inline tuning {
namespace {

// Numbers of statfs(2), of which <linux/magic.h> has only some.
constexpr std::array<std::uint64_t, 10> kLocalFileSystems{
    0xEF53,      // ext2, ext3, ext4
    0x58465342,  // XFS
    0x9123683E,  // Btrfs
    0x01021994,  // tmpfs
    0x794C7630,  // overlay, in containers
    0xF2F52010,  // F2FS
    0x2FC12FC1,  // ZFS
    0xCA451A4E,  // bcachefs
    0x3153464A,  // JFS
    0x858458F6,  // ramfs
};

}  // namespace

bool is_on_local_disk(const std::filesystem::path& path) {
  struct statfs information {};
  if (statfs(path.c_str(), &information) != 0) {
    const std::filesystem::path folder = path.parent_path();
    if (statfs(folder.empty() ? "." : folder.c_str(), &information) != 0) return false;
  }
  const auto kind = static_cast<std::uint64_t>(information.f_type) & 0xFFFFFFFF;
  return std::ranges::find(kLocalFileSystems, kind) != kLocalFileSystems.end();
}

}  // namespace nadi::inline tuning
