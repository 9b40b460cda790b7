// Choices among algorithms of products that earlier processes have made, in a file of the user's cache
// folder: one for each device and version of the library, since neither times nor algorithms mean anything
// elsewhere.
//
//   ProductChoiceFile choices(product_choice_path("NVIDIA H200", 130100));
//   if (const std::string* algorithm = choices.find(product)) ...
//   choices.add(product, algorithm);
//   choices.save();
//
// A text file, one product per line. It only saves time: a file that cannot be read, or holds something else,
// counts as empty, and one that cannot be written is not.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace nadi::inline engines::cuda {

// In $XDG_CACHE_HOME/nadi or ~/.cache/nadi; nothing where neither variable is set.
std::optional<std::filesystem::path> product_choice_path(std::string_view device,
                                                         std::size_t library_version);

class ProductChoiceFile {
 public:
  // Without a path nothing is kept.
  explicit ProductChoiceFile(std::optional<std::filesystem::path> path);

  // The choice for a product, described in one line without tabs; nullptr where none is known.
  const std::string* find(const std::string& product) const;
  void add(const std::string& product, std::string algorithm);

  // Writes what was added, with what other processes have written meanwhile. Does nothing when nothing was.
  void save();

 private:
  std::optional<std::filesystem::path> path_;
  std::map<std::string, std::string> choices_;
  bool changed_ = false;
};

}  // namespace nadi::inline engines::cuda
