// read_json() and parse_json(). The library's parser reports events (values, keys, brackets); the builder
// below makes a tree of them and refuses what the library would let pass: duplicate keys and bottomless
// nesting. Both the parser and the release of a tree are free of recursion, so a hostile file can exhaust
// neither the stack nor, thanks to the limit on its size, the memory.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <unordered_set>

#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/json_file.h"
#include "nadi/base/json_position.h"
#include "nadi/base/json_source.h"
#include "nadi/base/read_error.h"
#include "nadi/base/text_error.h"
#include "nadi/base/units.h"

namespace nadi::inline ground {
namespace {

constexpr Bytes kMaximumSize = 64_MiB;
constexpr std::size_t kMaximumDepth = 200;
constexpr std::size_t kFewKeys = 16;  // up to here comparing with all keys is faster than hashing

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing object key -
// invalid literal; last read: '{a'; expected string literal" -> "invalid literal; expected string literal"
std::string cleaned(std::string message, const std::string& last_token) {
  if (const std::size_t bracket = message.find("] "); bracket != std::string::npos)
    message.erase(0, bracket + 2);
  const std::string last_read = format("; last read: '{}'", last_token);
  if (const std::size_t at = message.find(last_read); at != std::string::npos)
    message.erase(at, last_read.size());
  if (message.starts_with("parse error at ")) {
    if (const std::size_t dash = message.find(" - "); dash != std::string::npos) message.erase(0, dash + 3);
  }
  return message;
}

// Numbers, true, false and null are made of these.
bool is_word(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || letter == 'E' ||
         letter == '.' || letter == '+' || letter == '-';
}

class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(JsonSource& source) : source_(source) {}

  // Set when parsing stopped early.
  const std::optional<Error>& error() const { return error_; }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string& /*written*/) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // does not occur in text

  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    Frame& frame = open_.back();
    auto& members = frame.container->get_ref<Json::object_t&>();
    if (contains(frame, members, key)) {
      const JsonPosition at = position_of(members.size());
      error_ = error_in_text({source_.file, source_.text, at.key_begin, at.key_end},
                             format("key {} appears twice in the same object", Json(key).dump()));
      return false;
    }
    // Past the map's own insertion, which compares with every key there is.
    static_cast<Json::object_t::Container&>(members).emplace_back(std::move(key), nullptr);
    return true;
  }

  // `position` counts the bytes read, including the one that was not expected.
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& exception) override {
    const std::string_view text = source_.text;
    const std::string message = cleaned(exception.what(), last_token);
    TextRange range{source_.file, text, position > 0 ? position - 1 : 0, position};
    if (position > text.size()) {
      range.begin = range.end = text.find_last_not_of(" \t\r\n") + 1;  // the end, less empty lines
    } else if (message.starts_with("unexpected string") && position >= last_token.size()) {
      range.begin = position - last_token.size();
    } else if (message.starts_with("unexpected ")) {
      while (range.begin > 0 && is_word(text[range.begin]) && is_word(text[range.begin - 1])) --range.begin;
    }
    error_ = error_in_text(range, "not valid JSON: " + message, hint_for(text.substr(0, position)));
    return false;
  }

 private:
  struct Frame {
    Json* container;
    std::unordered_set<std::string> keys;  // filled once there are more than kFewKeys
  };

  template <typename Value>
  bool add(Value&& value) {
    place(Json(std::forward<Value>(value)));
    return true;
  }

  // Stores a value where the parser is, and tells where that is.
  Json* place(Json&& value) {
    if (open_.empty()) {
      source_.root = std::move(value);
      return &source_.root;
    }
    Json& container = *open_.back().container;
    if (container.is_array()) {
      container.push_back(std::move(value));
      return &container.back();
    }
    Json& member = container.get_ref<Json::object_t&>().back().second;
    member = std::move(value);
    return &member;
  }

  // Only the innermost open container grows, so the pointers to the outer ones stay valid.
  bool open(Json&& empty) {
    if (open_.size() == kMaximumDepth) {
      const Json& parent = *open_.back().container;
      const JsonPosition at = position_of(parent.is_array() ? parent.size() : parent.size() - 1);
      error_ = error_in_text({source_.file, source_.text, at.begin, at.end},
                             format("nested deeper than {} levels", kMaximumDepth));
      return false;
    }
    open_.push_back({place(std::move(empty)), {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  static bool contains(Frame& frame, const Json::object_t& members, const std::string& key) {
    if (members.size() <= kFewKeys) {
      for (const auto& [name, value] : members) {
        if (name == key) return true;
      }
      return false;
    }
    if (frame.keys.empty()) {
      for (const auto& [name, value] : members) frame.keys.insert(name);
    }
    return !frame.keys.insert(key).second;
  }

  // Position of member or element `last` of the innermost open container.
  JsonPosition position_of(std::size_t last) const {
    std::vector<std::size_t> path;
    for (const Frame& frame : open_) path.push_back(frame.container->size() - 1);
    path.back() = last;
    return find_json_position(source_.text, path);
  }

  // What JSON's relatives allow and people therefore write. `read` ends with the offending byte.
  static std::string hint_for(std::string_view read) {
    if (read.empty()) return "";
    const char last = read.back();
    const std::size_t before = read.find_last_not_of(" \t\r\n", read.size() - 2);
    if (last == 'N' || last == 'I') return "JSON has no NaN and no Infinity";
    if (last == '\'') return "strings take double quotes";
    if (last == '/' || last == '#') return "JSON has no comments";
    if ((last == '}' || last == ']') && read.size() > 1 && before != std::string_view::npos &&
        read[before] == ',')
      return "no comma after the last entry";
    return "";
  }

  JsonSource& source_;
  std::vector<Frame> open_;
  std::optional<Error> error_;
};

Error too_large(std::string file) {
  return input_error(
      {.file = std::move(file)},
      format("the file is larger than {}, too large for a configuration", to_string(kMaximumSize)));
}

Error cannot_read(const std::filesystem::path& path, int error_number) {
  return read_error(path.string(), error_number);
}

// Reads to the end, not to the size the file system claims: that one is 0 for pipes.
std::string read_text(const std::filesystem::path& path, std::string_view wanted) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw cannot_read(path, errno);
  const auto limit = static_cast<std::size_t>(kMaximumSize.count());
  std::string text;
  std::vector<char> piece(std::size_t{1} << 16);
  int failed = 0;
  while (text.size() <= limit) {
    const ssize_t count = read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) failed = errno;
    if (count <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  ::close(descriptor);
  if (failed == EISDIR) throw WrongFileKind(path.string(), FileKind::kFolder, wanted);
  if (failed != 0) throw cannot_read(path, failed);
  return text;
}

}  // namespace

JsonDocument read_json(const std::filesystem::path& path) {
  constexpr std::string_view kWanted = "JSON";
  std::string text = read_text(path, kWanted);
  const FileKind kind = kind_of_bytes(std::string_view(text).substr(0, kFileKindBytes));
  const bool is_taken = is_json(kind) || kind == FileKind::kText || kind == FileKind::kUnknown;
  if (!is_taken) throw WrongFileKind(path.string(), kind, kWanted);
  return parse_json(std::move(text), path.string());
}

JsonDocument read_json_of(const std::filesystem::path& path, std::string_view wanted,
                          std::initializer_list<FileKind> taken) {
  std::string text = read_text(path, wanted);
  const FileKind kind = kind_of_bytes(std::string_view(text).substr(0, kFileKindBytes));
  // Text that is called JSON, or begins like it, is JSON with a mistake, and the parser says where.
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool like_json =
      path.extension() == ".json" ||
      (first != std::string::npos && std::string_view("{[/\"").find(text[first]) != std::string_view::npos);
  const bool is_taken = kind == FileKind::kJson || (kind == FileKind::kText && like_json) ||
                        kind == FileKind::kUnknown || std::ranges::find(taken, kind) != taken.end();
  if (!is_taken) throw WrongFileKind(path.string(), kind, wanted);
  return parse_json(std::move(text), path.string());
}

JsonDocument parse_json(std::string text, std::string file_name) {
  if (text.size() > static_cast<std::size_t>(kMaximumSize.count())) throw too_large(std::move(file_name));
  auto source = std::make_unique<JsonSource>();
  source->file = std::move(file_name);
  source->text = std::move(text);
  Builder builder(*source);
  const bool whole = Json::sax_parse(source->text, &builder);
  if (builder.error()) throw *builder.error();
  check(whole, "the JSON parser stopped without an error");
  return JsonDocument(std::move(source));
}

}  // namespace nadi::inline ground
