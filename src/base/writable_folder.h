// Asked before the work is done whose results are to go there.
#pragma once

#include <filesystem>

namespace nadi {

// Creates the folder where it is missing, and tries to write to it: permissions alone do not say whether one
// can (a read-only file system, a full one). Error (environment) with the path and the reason. Leaves nothing
// behind but the folder.
void require_writable_folder(const std::filesystem::path& folder);

}  // namespace nadi
