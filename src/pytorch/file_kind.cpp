// Method. One pass over brackets and strings collects names by where they stand: those of the first document,
// and those of the first object in each list. No grammar is checked.

#include "nadi/pytorch/file_kind.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <system_error>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/input/chunked_input.h"

namespace nadi {

namespace {

constexpr std::size_t kLook = std::size_t{1} << 20;

struct Names {
  std::vector<std::string_view> top;      // of the first document
  std::vector<std::string_view> element;  // of the first objects in a list: the document, or its nodes
  bool is_list = false;                   // the document is a list
};

bool has(const std::vector<std::string_view>& names, std::initializer_list<std::string_view> any) {
  return std::ranges::any_of(
      any, [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); });
}

// Past the closing quote of a string that starts at `at`.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

// Whether nothing that follows can change the answer.
bool is_clear(const Names& names) {
  return has(names.top, {"traceEvents"}) || (names.is_list && has(names.element, {"ph"})) ||
         (has(names.top, {"schema"}) && has(names.element, {"attrs", "rf_id"}));
}

Names names_of(std::string_view text) {
  constexpr std::size_t kEnough = 64;  // names of elements: those of the first few
  constexpr std::size_t kMost = 256;   // members of a document that is a trace
  Names names;
  std::string open;  // brackets around this place
  for (std::size_t at = 0; at < text.size() && names.top.size() < kMost;) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = skip_string(text, at);
      const std::size_t next = text.find_first_not_of(" \t\r\n", end);
      const bool is_name = next != std::string_view::npos && text[next] == ':' && end - at >= 2;
      const std::string_view name = text.substr(at + 1, end - at - 2);
      const bool of_nodes = !names.top.empty() && names.top.back().starts_with("node");
      if (is_name && open == "{") names.top.push_back(name);
      if (is_name && (open == "[{" || (open == "{[{" && of_nodes)) && names.element.size() < kEnough)
        names.element.push_back(name);
      if (is_name && open.size() <= 3 && is_clear(names)) break;
      at = end;
      continue;
    }
    if (c == '{' || c == '[') {
      if (open.empty()) names.is_list = c == '[';
      open.push_back(c);
    }
    if ((c == '}' || c == ']') && !open.empty()) {
      open.pop_back();
      if (open.empty()) break;
    }
    ++at;
  }
  return names;
}

JsonFileKind kind_of(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '['))
    return JsonFileKind::kOther;
  const Names names = names_of(text.substr(first));
  if (has(names.top, {"traceEvents"}) || (names.is_list && has(names.element, {"ph"})))
    return JsonFileKind::kKineto;
  if (has(names.top, {"nodes"}) && has(names.top, {"links", "edges", "directed", "multigraph"}))
    return JsonFileKind::kNodeLink;
  if (has(names.top, {"nodes"}) && (has(names.top, {"schema"}) || has(names.element, {"attrs", "rf_id"})))
    return JsonFileKind::kPytorchHost;
  const bool of_chakra =
      has(names.element, {"ctrlDeps", "ctrl_deps", "dataDeps", "data_deps", "attr", "id", "name"});
  if (has(names.top, {"nodes", "node", "metadata", "globalMetadata", "global_metadata"}) && of_chakra)
    return JsonFileKind::kChakra;
  if (has(names.top, {"metadata", "globalMetadata", "global_metadata"}) && has(names.top, {"nodes", "node"}))
    return JsonFileKind::kChakra;
  // One message after the other: metadata first, or a node at once.
  if (has(names.top, {"version"}) && names.top.size() <= 2) return JsonFileKind::kChakra;
  if (has(names.top, {"id"}) &&
      has(names.top, {"type", "attr", "ctrlDeps", "ctrl_deps", "dataDeps", "data_deps"}))
    return JsonFileKind::kChakra;
  return JsonFileKind::kOther;
}

// A compressed file that is damaged further on is told by what comes before that.
JsonFileKind kind_of(ChunkedInput& input) {
  try {
    return kind_of(input.ahead(kLook));
  } catch (const Error&) {
    const std::string_view before = input.ahead(0);
    if (before.empty()) throw;
    return kind_of(before);
  }
}

}  // namespace

JsonFileKind json_file_kind(const std::filesystem::path& path) {
  ChunkedInput input(path);
  return kind_of(input);
}

JsonFileKind json_text_kind(std::string_view bytes) {
  ChunkedInput input(bytes, "memory");
  return kind_of(input);
}

std::uint64_t likely_unpacked_size(const std::filesystem::path& path) {
  constexpr std::uint64_t kShrinking = 20;  // profiles and host traces shrink to a fifteenth to a thirtieth
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : kShrinking * size;
}

}  // namespace nadi
