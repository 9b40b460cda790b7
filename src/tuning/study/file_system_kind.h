// Whether a path is on a disk of this machine or on one that several machines share. For sources of this
// room.
#pragma once

#include <filesystem>

namespace nadi::inline tuning {

// True for the file systems that are known to be local (ext4, XFS, Btrfs, tmpfs ...); false for all others,
// network file systems among them, and where it cannot be found out. `path` may not exist yet: then its
// folder counts.
bool is_on_local_disk(const std::filesystem::path& path);

}  // namespace nadi::inline tuning
