#include "nadi/launch/node_introduction.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/sha256.h"
#include "nadi/launch/host_list.h"

namespace nadi::inline jobs {
namespace {

constexpr std::size_t kLongestCommand = 16'384;  // bytes: a line of a LineStream has four times as many
constexpr std::string_view kWhose = "another launch";

Json words_json(const std::vector<std::string>& words) {
  Json list = Json::array();
  for (const std::string& word : words) list.push_back(word);
  return list;
}

std::string on_one_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> words_of(const JsonValue& list) {
  std::vector<std::string> words;
  for (const JsonValue& word : list.elements()) words.push_back(word.as_string());
  return words;
}

// What is compared: the command itself, or of a very long one its beginning and its hash.
std::vector<std::string> comparable(const std::vector<std::string>& words) {
  const std::string text = on_one_line(words_json(words));
  if (text.size() <= kLongestCommand) return words;
  return {words.front(), "...", sha256_hex(std::as_bytes(std::span(text)))};
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

std::string words_to_line(const std::vector<std::string>& words) {
  return on_one_line(words_json(words));
}

std::optional<std::vector<std::string>> parse_words(std::string_view line) {
  try {
    return words_of(parse_json(std::string(line), std::string(kWhose)).root());
  } catch (const Error&) {
    return std::nullopt;  // whoever sent it does not speak as we do
  }
}

std::string to_line(const NodeIntroduction& introduction) {
  Json json;
  json["nodes"] = introduction.nodes;
  json["node"] = introduction.node;
  json["ranks"] = introduction.ranks;
  json["host"] = introduction.host;
  json["folder"] = introduction.folder;
  json["program"] = introduction.program;
  json["version"] = introduction.version;
  json["words"] = words_json(comparable(introduction.words));
  return on_one_line(json);
}

std::optional<NodeIntroduction> parse_introduction(std::string_view text) {
  try {
    const JsonDocument document = parse_json(std::string(text), std::string(kWhose));
    const JsonValue root = document.root();
    const auto count = [&](const char* name) {
      const std::int64_t number = root.at(name).as_int64();
      return static_cast<int>(std::clamp<std::int64_t>(number, -1, kMostRanksOfJob));
    };
    return NodeIntroduction{.nodes = count("nodes"),
                            .node = count("node"),
                            .ranks = count("ranks"),
                            .host = root.at("host").as_string(),
                            .folder = root.at("folder").as_string(),
                            .program = root.at("program").as_string(),
                            .version = root.at("version").as_string(),
                            .words = words_of(root.at("words"))};
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string reason_to_refuse(const NodeIntroduction& own, const NodeIntroduction& guest,
                             const std::vector<bool>& present) {
  if (guest.nodes != own.nodes)
    return format("it says that the job has {} nodes; the launch of node 0 says {}", guest.nodes, own.nodes);
  if (guest.node < 1 || guest.node >= own.nodes)
    return format("its number is {}; the other nodes of the job are 1 to {}", guest.node, own.nodes - 1);
  if (present[static_cast<std::size_t>(guest.node)])
    return format("another launch is node {} already", guest.node);
  if (guest.ranks < 1) return format("it has {} ranks", guest.ranks);
  if (guest.version != own.version)
    return format("it is Nadi {}, and node 0 has Nadi {}", guest.version, own.version);
  if (guest.program != own.program)
    return format("its program is {}, and that of node 0 {}: all nodes need the program at the same path",
                  guest.program, own.program);
  if (guest.folder != own.folder)
    return format("it runs in {}, and node 0 in {}: all nodes need the same working folder", guest.folder,
                  own.folder);
  if (guest.words != comparable(own.words))
    return format("it runs '{}', and node 0 '{}'", command_text(guest.words), command_text(own.words));
  return "";
}

std::optional<std::vector<std::string>> daemon_arguments(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:;/@%^~[](){}<>!?#*&| ";
  std::string text;
  for (const std::string& word : words) text += word + ' ';
  std::vector<std::string> arguments;
  std::string argument;
  bool quoted = false, any = false;
  for (const char letter : text) {
    if (letter == '"') {
      quoted = !quoted;
      any = true;
    } else if (letter == ' ' && !quoted) {
      if (any) arguments.push_back(std::move(argument));
      argument.clear();
      any = false;
    } else if (kPlain.find(letter) != std::string_view::npos) {
      argument += letter;
      any = true;
    } else {
      return std::nullopt;
    }
  }
  if (quoted || arguments.empty() || arguments.front() != "orted") return std::nullopt;
  arguments.erase(arguments.begin());
  return arguments;
}

}  // namespace nadi::inline jobs
