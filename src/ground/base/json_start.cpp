// Method. One pass over brackets and strings collects names by where they stand: those of the first document,
// and those of the first object in each list. No grammar is checked.
#include "nadi/base/json_start.h"

#include <algorithm>
#include <string>

namespace nadi::inline ground {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool has_any(const std::vector<std::string_view>& names, std::initializer_list<std::string_view> any) {
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
bool is_clear(const JsonStart& start) {
  return start.has_top("traceEvents") || (start.is_list && start.has_element({"ph"})) ||
         (start.has_top("schema") && start.has_element({"attrs", "rf_id"}));
}

// The text from its first bracket on; "" where it is no JSON. A record of 123 bytes of an .et file begins
// with an opening brace and a line feed, too, but does not go on with white space, a quote or a closing
// brace.
std::string_view from_first_bracket(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
  if (text.empty() || (text[0] != '{' && text[0] != '[')) return {};
  const std::size_t next = text.find_first_not_of(kWhiteSpace, 1);
  if (text[0] == '{' && next < text.size() && text[next] != '"' && text[next] != '}') return {};
  if (text[0] == '[' && next < text.size()) {
    constexpr std::string_view kValueOrEnd = "{[\"]-0123456789tfn";
    if (kValueOrEnd.find(text[next]) == std::string_view::npos) return {};
  }
  return text;
}

}  // namespace

bool JsonStart::has_top(std::string_view name) const {
  return has_any(top, {name});
}
bool JsonStart::has_top(std::initializer_list<std::string_view> any) const {
  return has_any(top, any);
}
bool JsonStart::has_element(std::initializer_list<std::string_view> any) const {
  return has_any(element, any);
}

JsonStart look_at_json(std::string_view text) {
  constexpr std::size_t kEnough = 64;  // names of elements: those of the first few
  constexpr std::size_t kMost = 256;   // members of a document that is told by them
  JsonStart start;
  text = from_first_bracket(text);
  if (text.empty()) return start;
  start.is_json = true;
  start.is_list = text[0] == '[';
  std::string open;  // brackets around this place
  for (std::size_t at = 0; at < text.size() && start.top.size() < kMost;) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = skip_string(text, at);
      const std::size_t next = text.find_first_not_of(kWhiteSpace, end);
      const bool is_name = next != std::string_view::npos && text[next] == ':' && end - at >= 2;
      const std::string_view name = text.substr(at + 1, end - at - 2);
      const bool of_nodes = !start.top.empty() && start.top.back().starts_with("node");
      if (is_name && open == "{") start.top.push_back(name);
      if (is_name && (open == "[{" || (open == "{[{" && of_nodes)) && start.element.size() < kEnough)
        start.element.push_back(name);
      if (is_name && open.size() <= 3 && is_clear(start)) break;
      at = end;
      continue;
    }
    if (c == '{' || c == '[') open.push_back(c);
    if ((c == '}' || c == ']') && !open.empty()) {
      open.pop_back();
      if (open.empty()) {
        const std::size_t next = text.find_first_not_of(kWhiteSpace, at + 1);
        start.has_more_documents = next < text.size() && text[next] == '{' &&
                                   text.substr(at, next - at).find('\n') != std::string_view::npos;
        break;
      }
    }
    ++at;
  }
  return start;
}

FileKind json_kind(std::string_view text) {
  const JsonStart start = look_at_json(text);
  if (!start.is_json) return FileKind::kUnknown;
  if (start.has_top({"traceEvents", "deviceProperties"}) || (start.is_list && start.has_element({"ph"})))
    return FileKind::kKineto;
  if (start.has_top("nadi_plan")) return FileKind::kPlan;
  if (start.has_top("rocprofiler-sdk-tool")) return FileKind::kRocprof;
  const bool has_nodes = start.has_top("nodes");
  const bool has_metadata = start.has_top({"metadata", "globalMetadata", "global_metadata"});
  if ((has_nodes && start.has_top({"links", "edges", "directed", "multigraph"})) ||
      (start.has_top("links") && start.has_top({"directed", "multigraph"})))
    return FileKind::kNodeLink;
  if ((has_nodes && start.has_element({"attrs", "rf_id"})) ||
      (start.has_top("schema") && !has_metadata && start.has_top({"nodes", "pid", "start_ts", "finish_ts"})))
    return FileKind::kPytorchHost;
  if (has_nodes && start.has_element({"device", "inside"})) return FileKind::kCluster;
  if (start.has_top("weight_map")) return FileKind::kWeightIndex;
  // The model of a tokenizer stands behind its added tokens, which may be many.
  const bool has_pipeline = start.has_top({"pre_tokenizer", "normalizer", "post_processor", "truncation"});
  if ((start.has_top("model") || start.has_top("added_tokens")) && has_pipeline) return FileKind::kTokenizer;
  if (start.has_top({"model_type", "architectures"})) return FileKind::kModelConfig;
  if (start.has_top("version") && start.has_top("data")) return FileKind::kSquad;
  const bool of_chakra = start.has_element({"ctrlDeps", "ctrl_deps", "dataDeps", "data_deps", "attr"}) ||
                         (start.has_element({"name"}) && start.has_element({"type"}));
  if (start.has_top({"nodes", "node"}) && (has_metadata || of_chakra)) return FileKind::kChakraJson;
  if ((has_metadata && of_chakra) || start.has_top("workload_graph")) return FileKind::kChakraJson;
  // One message after the other: metadata first, or a node at once.
  if (start.has_top("version") && start.top.size() <= 2) return FileKind::kChakraJson;
  if (start.has_top("id") && start.has_top({"ctrlDeps", "ctrl_deps", "dataDeps", "data_deps", "attr"}))
    return FileKind::kChakraJson;
  if (start.has_top("id") && start.has_top("name") && start.has_top("type")) return FileKind::kChakraJson;
  return start.has_more_documents ? FileKind::kJsonLines : FileKind::kJson;
}

}  // namespace nadi::inline ground
