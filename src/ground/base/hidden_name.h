// Names of files and folders that are not there for readers: what is being written, and what is being
// removed.
//
//   hidden_sibling("runs/a/best_model", kUnfinishedSuffix)   // runs/a/.nadi.best_model.4711@node3.tmp
//   parse_hidden_name(".nadi.best_model.4711@node3.tmp")     // {"best_model", 4711, false}
//
// No reader takes such a name for a checkpoint, a trace or any other output. It tells which process of which
// machine it belongs to, so that the next program finds out whether it was left behind (remove_leftovers() in
// atomic_folder.h).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace nadi::inline ground {

inline constexpr std::string_view kUnfinishedSuffix = ".tmp";  // unfinished, or half removed: worth nothing
inline constexpr std::string_view kAsideSuffix =
    ".old";  // whole, and put aside while another takes its place

std::string hidden_name(std::string_view purpose, std::string_view suffix);
std::filesystem::path hidden_sibling(const std::filesystem::path& target, std::string_view suffix);

struct HiddenName {
  std::string purpose;  // the name of what it stands for
  pid_t owner = 0;
  bool is_aside = false;
};

// Nothing for any other name, and for those of other machines.
std::optional<HiddenName> parse_hidden_name(std::string_view name);

}  // namespace nadi::inline ground
