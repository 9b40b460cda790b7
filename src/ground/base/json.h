// JSON, in and out. For our own sources: this header needs the JSON library's, so no header that is
// installed includes it.
//
// Output: build a Json (keys keep their order) and dump it.
//
// Input, of configurations and other small files:
//
//   const JsonDocument document = read_json(path);
//   const JsonValue root = document.root();
//   const std::int64_t layers = root.at("n_layer").as_int64();
//   if (const auto dropout = root.find("dropout")) rate = dropout->as_double();
//   if (layers < 1) throw error_at(root.at("n_layer"), "n_layer must be positive");
//
// Whatever is wrong, syntax, a missing key, a value of another type, is Error (input) with file, line, column
// and the line itself. Places are searched for only when there is an Error to report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/error.h"

namespace nadi::inline ground {

using Json = nlohmann::ordered_json;

// Indented by two, with a newline at the end. Text beyond ASCII stays readable; bytes that are not UTF-8
// become U+FFFD. NaN and infinities, which JSON does not have, become null.
std::string dump_json(const Json& value);

struct JsonSource;  // file name, text and parsed tree of a document

// A value inside a JsonDocument, which must outlive it. Two pointers: pass it by value.
//
// A key whose value is null is there: has() is true, and as_int64() and the like refuse it.
class JsonValue {
 public:
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;
  bool is_bool() const;
  bool is_null() const;

  // Members of an object; on anything else they throw. A missing key is an Error for at() only. Each takes
  // time in proportion to the size of the object: go through a large one with items().
  bool has(std::string_view key) const;
  JsonValue at(std::string_view key) const;
  std::optional<JsonValue> find(std::string_view key) const;
  std::vector<std::pair<std::string_view, JsonValue>> items() const;  // in the order of the file

  // Throws at the first key of this object that is not in `known`, with the nearest known one as a hint.
  void refuse_keys_except(std::span<const std::string_view> known) const;

  // Elements of an array; on anything else, or past the end, they throw.
  JsonValue at(std::size_t index) const;
  std::vector<JsonValue> elements() const;

  // Members of an object or elements of an array.
  std::size_t size() const;

  // The value, if it has the type. An integer is written as one: 12, not 12.0 or 1.2e1, and fits 64 bits.
  // as_double() takes integers, too, rounded to the nearest double.
  std::int64_t as_int64() const;
  double as_double() const;
  bool as_bool() const;
  const std::string& as_string() const;

  // "layers[3].size": how the value is reached from the top, for messages; "" for the top itself.
  std::string path() const;

  const std::string& file() const;

 private:
  friend class JsonDocument;
  friend Error error_at(const JsonValue&, std::string, std::string);
  friend Error error_at_key(const JsonValue&, std::string, std::string);
  JsonValue(const JsonSource* source, const Json* node) : source_(source), node_(node) {}
  JsonValue child(const Json& node) const { return {source_, &node}; }
  Error wrong_type(std::string_view wanted) const;
  void expect_object() const;
  void expect_array() const;

  const JsonSource* source_;
  const Json* node_;
};

// A mistake that only the caller can see, with the place of the value, or of the key in front of it.
Error error_at(const JsonValue& value, std::string message, std::string hint = "");
Error error_at_key(const JsonValue& value, std::string message, std::string hint = "");

// A parsed file. Moving it keeps its JsonValues valid.
class JsonDocument {
 public:
  explicit JsonDocument(std::unique_ptr<const JsonSource> source);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  JsonValue root() const;

 private:
  std::unique_ptr<const JsonSource> source_;
};

// Limits: 64 MiB of text, 200 levels of nesting. Refused, too: a key given twice in one object, anything
// after the value, NaN, invalid UTF-8, a number beyond the range of double.
JsonDocument read_json(const std::filesystem::path& path);
JsonDocument parse_json(std::string text, std::string file_name);

}  // namespace nadi::inline ground
