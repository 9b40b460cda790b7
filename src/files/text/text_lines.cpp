#include "nadi/text/text_lines.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {
namespace {

constexpr std::size_t kMaximumSize = std::size_t{64} << 20;

std::string read_whole(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::vector<char> piece(std::size_t{1} << 16);
  // A folder opens and then fails to be read.
  while (file && text.size() <= kMaximumSize) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (errno == EISDIR) throw WrongFileKind(path.string(), FileKind::kFolder, "a vocabulary");
  if (!file.is_open() || (file.fail() && !file.eof())) throw read_error(path.string(), errno);
  if (text.size() > kMaximumSize)
    throw input_error({.file = path.string()}, "the file is larger than 64 MiB, too large for a vocabulary");
  return text;
}

}  // namespace

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  const std::string text = read_whole(path);
  expect_text(std::string_view(text).substr(0, kFileKindBytes), path.string(), "a vocabulary");
  if (const std::size_t at = find_invalid_utf8(text); at != std::string::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    throw input_error({.file = path.string(), .line = line}, "the line is not UTF-8");
  }
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace nadi::inline files
