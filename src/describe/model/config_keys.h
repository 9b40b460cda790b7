// Reads the keys of a config.json one by one and remembers which were asked for, so that the rest can be
// reported. For our own sources.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/graph/ops/matmul.h"

namespace nadi::inline describe {

class ConfigKeys {
 public:
  explicit ConfigKeys(JsonValue object) : object_(object) {}

  // A key that must be there.
  std::int64_t integer(std::string_view key);
  // A key with a default; null counts as absent.
  std::int64_t integer_or(std::string_view key, std::int64_t fallback);
  double real_or(std::string_view key, double fallback);
  bool boolean_or(std::string_view key, bool fallback);
  std::string text_or(std::string_view key, std::string fallback);
  std::vector<std::int64_t> integers_or_none(std::string_view key);  // a list
  std::optional<JsonValue> object(std::string_view key);

  // Refuses a value that would make another model than the one Nadi builds.
  void only(std::string_view key, bool supported);
  void only_text(std::string_view key, std::string_view supported);
  Activation activation(std::string_view key, std::string_view fallback);

  // Keys that say nothing about the computation: tokens, file names, generation settings.
  std::vector<std::string> unused() const;

  JsonValue value() const { return object_; }

 private:
  std::optional<JsonValue> present(std::string_view key);
  JsonValue object_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace nadi::inline describe
