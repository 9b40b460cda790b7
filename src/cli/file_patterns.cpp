#include "nadi/cli/file_patterns.h"

#include <glob.h>

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/natural_order.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_that_fit(const std::string& pattern) {
  glob_t found{};
  const int problem = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + (problem == 0 ? found.gl_pathc : 0));
  globfree(&found);
  std::ranges::sort(files, natural_less);
  return files;
}

}  // namespace

std::vector<fs::path> expand_files(std::span<const std::string> words) {
  std::vector<fs::path> files;
  for (const std::string& word : words) {
    std::error_code ignored;
    if (word.find_first_of("*?[") == std::string::npos || fs::exists(word, ignored)) {
      files.emplace_back(word);
      continue;
    }
    const std::vector<std::string> found = files_that_fit(word);
    if (found.empty()) throw usage_error(format("no file fits '{}'", word));
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace nadi
