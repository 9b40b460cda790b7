// Removes a folder so that nobody ever sees half of it.
//
//   if (const std::error_code failed = retire_folder("runs/a/checkpoint-100")) note(failed.message());
//
// The folder first gets a hidden name (hidden_name.h), in one step, and is emptied under that name: whatever
// has its final name is whole. A program that is killed in between leaves the hidden folder, and the next one
// removes it (remove_leftovers() in atomic_folder.h).
//
// Symbolic links are removed and never followed, neither the one given nor those within, also when somebody
// puts one in the way while the folder is emptied. A path that leads through a link to the folder's parent
// works.
#pragma once

#include <filesystem>
#include <system_error>

namespace nadi::inline ground {

// An error leaves the folder as it was, or part of it under its hidden name. Nothing there is no error.
std::error_code retire_folder(const std::filesystem::path& folder);

// Without the hidden name: for what has one. Removes as much as it can; returns the first error.
std::error_code remove_tree(const std::filesystem::path& path) noexcept;

}  // namespace nadi::inline ground
