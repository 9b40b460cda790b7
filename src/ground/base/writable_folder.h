// Checks that results can be written to a folder, before the work is done.
#pragma once

#include <filesystem>

namespace nadi::inline ground {

// Creates the folder where it is missing, and tries to write to it: permissions alone are not enough (the
// file system may be read-only or full). Error (environment) with the path and the reason. Leaves nothing
// behind but the folder.
void require_writable_folder(const std::filesystem::path& folder);

}  // namespace nadi::inline ground
