#include "nadi/trace/file_patterns.h"

#include <glob.h>

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/natural_order.h"

namespace nadi::inline traces {
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

bool exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The traces of ranks whose names start so; nothing where there are none.
std::vector<std::string> traces_that_start_with(const std::string& prefix) {
  std::string literal;
  for (const char c : prefix) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') literal += '\\';
    literal += c;
  }
  std::vector<std::string> files = files_that_fit(literal + ".*.et");
  std::erase_if(files, [&](const std::string& file) {
    const std::string_view number =
        std::string_view(file).substr(prefix.size() + 1, file.size() - prefix.size() - 1 - 3);
    return number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos;
  });
  if (files.empty() && exists(prefix + ".et")) files.push_back(prefix + ".et");
  return files;
}

}  // namespace

bool is_trace_prefix(const std::string& word) {
  return !traces_that_start_with(word).empty();
}

std::vector<fs::path> expand_traces(std::span<const std::string> words) {
  std::vector<fs::path> files;
  for (const std::string& word : words) {
    const std::vector<std::string> ranks =
        exists(word) ? std::vector<std::string>{} : traces_that_start_with(word);
    if (ranks.empty()) {
      const std::vector<fs::path> found = expand_files(std::span(&word, 1));
      files.insert(files.end(), found.begin(), found.end());
    } else {
      files.insert(files.end(), ranks.begin(), ranks.end());
    }
  }
  return files;
}

std::vector<fs::path> expand_files(std::span<const std::string> words) {
  std::vector<fs::path> files;
  for (const std::string& word : words) {
    std::error_code ignored;
    if (word.find_first_of("*?[") == std::string::npos || fs::exists(word, ignored)) {
      files.emplace_back(word);
      continue;
    }
    const std::vector<std::string> found = files_that_fit(word);
    if (found.empty()) throw usage_error(format("no file matches '{}'", word));
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace nadi::inline traces
