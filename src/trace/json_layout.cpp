#include "nadi/trace/json_layout.h"

#include <algorithm>
#include <array>
#include <vector>

namespace nadi {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The end of the string that starts at `at` (at its quote): one past its last quote, or the end of the text.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

// Keys of the first object, as far as the text goes.
std::vector<std::string_view> keys_of_first_object(std::string_view text) {
  std::vector<std::string_view> keys;
  int depth = 0;
  for (std::size_t at = text.find('{'); at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = end_of_string(text, at);
      const std::size_t next = text.find_first_not_of(kWhiteSpace, end);
      if (depth == 1 && next < text.size() && text[next] == ':')
        keys.push_back(text.substr(at + 1, end - at - 2));
      at = end;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) break;
    ++at;
  }
  return keys;
}

}  // namespace

JsonLayout json_layout(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
  if (text.starts_with('[')) return JsonLayout::kArray;
  if (!text.starts_with('{')) return JsonLayout::kNotJson;
  // A record of 123 bytes of an .et file starts with an opening brace, too.
  const std::size_t next = text.find_first_not_of(kWhiteSpace, 1);
  if (next < text.size() && text[next] != '"' && text[next] != '}') return JsonLayout::kNotJson;
  const std::vector<std::string_view> keys = keys_of_first_object(text);
  const auto has = [&](std::string_view key) { return std::ranges::find(keys, key) != keys.end(); };
  const auto has_any = [&](const auto& names) { return std::ranges::any_of(names, has); };
  constexpr std::array<std::string_view, 6> kOfDocument{"nodes",    "node",           "workload_graph",
                                                        "metadata", "globalMetadata", "global_metadata"};
  if (has("traceEvents") || has("deviceProperties")) return JsonLayout::kKineto;
  if (has("schema") && !has_any(std::array<std::string_view, 2>{"metadata", "globalMetadata"}))
    return JsonLayout::kPyTorch;
  if (has("links") || has("multigraph")) return JsonLayout::kNodeLink;
  return has_any(kOfDocument) ? JsonLayout::kDocument : JsonLayout::kDocuments;
}

}  // namespace nadi
