#include "nadi/cli/file_patterns.h"

#include <glob.h>

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

// Numbers within names count as numbers: run.2.et comes before run.10.et.
bool natural_less(const std::string& a, const std::string& b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto number = [&](const std::string& text, std::size_t& at) {
        while (at < text.size() && text[at] == '0') ++at;
        const std::size_t begin = at;
        while (at < text.size() && is_digit(text[at])) ++at;
        return std::pair(at - begin, text.substr(begin, at - begin));
      };
      const auto here = number(a, i), there = number(b, j);
      if (here != there) return here < there;
      continue;
    }
    if (a[i] != b[j]) return a[i] < b[j];
    ++i, ++j;
  }
  return std::pair(a.size() - i, a) < std::pair(b.size() - j, b);
}

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
