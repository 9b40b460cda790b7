#include "nadi/cuda/product_choice_file.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr std::string_view kChoicesTitle = "nadi product choices 1";

// Nothing from a file that is not whole: a line of it could be half a line.
std::map<std::string, std::string> read_choices(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != kChoicesTitle) return {};
  std::map<std::string, std::string> choices;
  while (std::getline(file, line)) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) return {};
    choices.insert_or_assign(line.substr(0, tab), line.substr(tab + 1));
  }
  return choices;
}

}  // namespace

std::optional<std::filesystem::path> product_choice_path(std::string_view device,
                                                         std::size_t library_version) {
  std::filesystem::path folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    folder = cache;
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    folder = std::filesystem::path(home) / ".cache";
  else
    return std::nullopt;
  std::string name(device);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; },
      '_');
  return folder / "nadi" / format("products-{}-cublaslt-{}.txt", name, library_version);
}

ProductChoiceFile::ProductChoiceFile(std::optional<std::filesystem::path> path) : path_(std::move(path)) {
  if (path_) choices_ = read_choices(*path_);
}

const std::string* ProductChoiceFile::find(const std::string& product) const {
  const auto found = choices_.find(product);
  return found == choices_.end() ? nullptr : &found->second;
}

void ProductChoiceFile::add(const std::string& product, std::string algorithm) {
  check(product.find_first_of("\t\n") == std::string::npos, "a product's description is not one line");
  choices_.insert_or_assign(product, std::move(algorithm));
  changed_ = true;
}

void ProductChoiceFile::save() {
  if (!path_ || !changed_) return;
  changed_ = false;
  std::map<std::string, std::string> all = read_choices(*path_);
  for (const auto& [product, algorithm] : choices_) all.insert_or_assign(product, algorithm);
  std::string text = format("{}\n", kChoicesTitle);
  for (const auto& [product, algorithm] : all) text += format("{}\t{}\n", product, algorithm);
  try {
    write_atomically(*path_, text, Overwrite::kAllow);
  } catch (const Error&) {
    // A read-only or full home folder: the next process times again.
  }
}

}  // namespace nadi::inline engines::cuda
