#include "nadi/base/json.h"

#include <limits>

#include "nadi/base/ascii.h"
#include "nadi/base/format.h"
#include "nadi/base/json_position.h"
#include "nadi/base/json_source.h"
#include "nadi/base/nearest.h"
#include "nadi/base/text_error.h"

namespace nadi::inline ground {
namespace {

// One step from a container to the value looked for.
struct Step {
  std::size_t index;
  const std::string* key;  // nullptr in an array
};

// A JsonValue does not know its parents: it is found by its address. Recursion is bounded by the parser's
// limit on nesting.
bool find_steps(const Json& from, const Json* wanted, std::vector<Step>& steps) {
  if (&from == wanted) return true;
  const auto try_child = [&](std::size_t index, const std::string* key, const Json& child) {
    steps.push_back({index, key});
    if (find_steps(child, wanted, steps)) return true;
    steps.pop_back();
    return false;
  };
  std::size_t index = 0;
  if (from.is_object()) {
    for (const auto& [key, child] : from.get_ref<const Json::object_t&>()) {
      if (try_child(index++, &key, child)) return true;
    }
  } else if (from.is_array()) {
    for (const Json& child : from) {
      if (try_child(index++, nullptr, child)) return true;
    }
  }
  return false;
}

std::vector<Step> steps_to(const JsonSource& source, const Json* node) {
  std::vector<Step> steps;
  check(find_steps(source.root, node, steps), "a JsonValue is not part of its document");
  return steps;
}

JsonPosition position_of(const JsonSource& source, const Json* node) {
  std::vector<std::size_t> path;
  for (const Step& step : steps_to(source, node)) path.push_back(step.index);
  return find_json_position(source.text, path);
}

// A key as JSON writes it, less the quotes: control characters are escaped.
std::string shown(std::string_view key) {
  const std::string quoted = Json(key).dump(-1, ' ', false, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

// As written in the file, cut when long.
std::string found_value(const JsonSource& source, const Json& node) {
  constexpr std::size_t kMost = 40;
  if (node.is_object()) return "an object";
  if (node.is_array()) return "an array";
  const JsonPosition at = position_of(source, &node);
  std::string_view written = std::string_view(source.text).substr(at.begin, at.end - at.begin);
  if (written.size() <= kMost) return std::string(written);
  std::size_t cut = kMost;
  while (is_continuation(written[cut])) --cut;  // not inside a character
  return std::string(written.substr(0, cut)) + "...";
}

const Json* find_member(const Json& object, std::string_view key) {
  for (const auto& [name, value] : object.get_ref<const Json::object_t&>()) {
    if (name == key) return &value;
  }
  return nullptr;
}

}  // namespace

std::string dump_json(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool JsonValue::is_object() const {
  return node_->is_object();
}
bool JsonValue::is_array() const {
  return node_->is_array();
}
bool JsonValue::is_string() const {
  return node_->is_string();
}
bool JsonValue::is_number() const {
  return node_->is_number();
}
bool JsonValue::is_bool() const {
  return node_->is_boolean();
}
bool JsonValue::is_null() const {
  return node_->is_null();
}

bool JsonValue::has(std::string_view key) const {
  return find(key).has_value();
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  expect_object();
  const Json* member = find_member(*node_, key);
  if (member == nullptr) return std::nullopt;
  return child(*member);
}

JsonValue JsonValue::at(std::string_view key) const {
  if (const auto value = find(key)) return *value;
  std::vector<std::string_view> present;
  for (const auto& [name, value] : items()) present.push_back(name);
  std::string hint;
  if (const auto near = nearest(key, present))
    hint = format("there is a key '{}': is it misspelt?", shown(*near));
  const std::string where = path();
  const std::string in = where.empty() ? "" : format(" in '{}'", where);
  throw error_at(*this, format("key '{}' is missing{}", shown(key), in), std::move(hint));
}

std::vector<std::pair<std::string_view, JsonValue>> JsonValue::items() const {
  expect_object();
  std::vector<std::pair<std::string_view, JsonValue>> members;
  members.reserve(node_->size());
  for (const auto& [key, value] : node_->get_ref<const Json::object_t&>())
    members.emplace_back(key, child(value));
  return members;
}

void JsonValue::refuse_keys_except(std::span<const std::string_view> known) const {
  for (const auto& [key, value] : items()) {
    bool is_known = false;
    for (const std::string_view name : known) is_known = is_known || name == key;
    if (!is_known)
      throw error_at_key(value, format("unknown key '{}'", shown(key)), did_you_mean(key, known));
  }
}

JsonValue JsonValue::at(std::size_t index) const {
  expect_array();
  if (index >= node_->size())
    throw error_at(*this, format("element {} of '{}' is missing: it has {}", index, path(), node_->size()));
  return child((*node_)[index]);
}

std::vector<JsonValue> JsonValue::elements() const {
  expect_array();
  std::vector<JsonValue> values;
  values.reserve(node_->size());
  for (const Json& element : *node_) values.push_back(child(element));
  return values;
}

std::size_t JsonValue::size() const {
  if (!is_object() && !is_array()) throw wrong_type("an object or an array");
  return node_->size();
}

std::int64_t JsonValue::as_int64() const {
  if (node_->is_number_float()) {
    // An integer beyond 64 bits arrives here, too: the library made a double of it.
    const bool written_as_integer = found_value(*source_, *node_).find_first_of(".eE") == std::string::npos;
    throw wrong_type(written_as_integer ? "an integer of at most 64 bits"
                                        : "an integer, without point and exponent");
  }
  if (!node_->is_number_integer()) throw wrong_type("an integer");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (node_->is_number_unsigned() && node_->get<std::uint64_t>() > static_cast<std::uint64_t>(kMost))
    throw wrong_type("an integer of at most 64 bits");
  return node_->get<std::int64_t>();
}

double JsonValue::as_double() const {
  if (!node_->is_number()) throw wrong_type("a number");
  return node_->get<double>();
}

bool JsonValue::as_bool() const {
  if (!node_->is_boolean()) throw wrong_type("true or false");
  return node_->get<bool>();
}

const std::string& JsonValue::as_string() const {
  if (!node_->is_string()) throw wrong_type("a string");
  return node_->get_ref<const std::string&>();
}

std::string JsonValue::path() const {
  std::string text;
  for (const Step& step : steps_to(*source_, node_)) {
    if (step.key == nullptr) {
      text += format("[{}]", step.index);
    } else {
      if (!text.empty()) text += '.';
      text += shown(*step.key);
    }
  }
  return text;
}

const std::string& JsonValue::file() const {
  return source_->file;
}

Error JsonValue::wrong_type(std::string_view wanted) const {
  const std::string where = path();
  const std::string what = where.empty() ? "the top level" : format("'{}'", where);
  return error_at(*this, format("{} must be {}, found {}", what, wanted, found_value(*source_, *node_)));
}

void JsonValue::expect_object() const {
  if (!is_object()) throw wrong_type("an object");
}

void JsonValue::expect_array() const {
  if (!is_array()) throw wrong_type("an array");
}

Error error_at(const JsonValue& value, std::string message, std::string hint) {
  const JsonSource& source = *value.source_;
  const JsonPosition at = position_of(source, value.node_);
  return error_in_text({source.file, source.text, at.begin, at.end}, std::move(message), std::move(hint));
}

Error error_at_key(const JsonValue& value, std::string message, std::string hint) {
  const JsonSource& source = *value.source_;
  const JsonPosition at = position_of(source, value.node_);
  if (at.key_begin == at.key_end) return error_at(value, std::move(message), std::move(hint));
  return error_in_text({source.file, source.text, at.key_begin, at.key_end}, std::move(message),
                       std::move(hint));
}

JsonDocument::JsonDocument(std::unique_ptr<const JsonSource> source) : source_(std::move(source)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

JsonValue JsonDocument::root() const {
  return {source_.get(), &source_->root};
}

}  // namespace nadi::inline ground
