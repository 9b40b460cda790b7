// Walks the schema and the job side by side, from key to key, and makes the objects on the way that the job
// does not have yet.

#include "nadi/job_files/job_overrides.h"
#include "nadi/base/read_number.h"

#include <algorithm>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/message_text.h"
#include "nadi/base/nearest.h"
#include "nadi/job_files/job_file.h"

namespace nadi::inline jobs {
namespace {

// The schema of a value, with references followed.
const Json& followed(const Json& root, const Json& schema) {
  const Json* at = &schema;
  while (at->contains("$ref")) {
    const std::string name = at->at("$ref").get<std::string>();
    at = &root.at("$defs").at(name.substr(name.rfind('/') + 1));
  }
  return *at;
}

Error wrong_value(const std::string& setting, std::string_view wanted) {
  return usage_error(format("--set {}: {} is wanted", quote_for_message(setting), wanted),
                     "see 'nadi job schema'");
}

Json value_of(const Json& schema, const std::string& text, const std::string& setting) {
  if (schema.contains("enum") || schema.value("type", "") == "string") return text;
  if (schema.contains("const"))
    throw usage_error(format("--set {}: this key is fixed", quote_for_message(setting)));
  const std::string type = schema.value("type", "");
  if (type == "boolean") {
    if (text == "true") return true;
    if (text == "false") return false;
    throw wrong_value(setting, "true or false");
  }
  if (type == "integer") {
    std::int64_t number = 0;
    if (!read_number(text, number)) throw wrong_value(setting, "a whole number");
    return number;
  }
  Json value = Json::parse(text, nullptr, false);
  if (type == "array" && !value.is_array()) throw wrong_value(setting, "a list such as [\"a\", \"b\"]");
  if (type == "object" && !value.is_object()) throw wrong_value(setting, "an object in JSON");
  return value;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

// The schema of a member, and a hint where there is none.
const Json& member_schema(const Json& root, const Json& schema, const std::string& key,
                          const std::string& setting) {
  if (schema.contains("properties") && schema["properties"].contains(key))
    return followed(root, schema["properties"][key]);
  if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
    return followed(root, schema["additionalProperties"]);
  if (!schema.contains("properties"))
    throw usage_error(
        format("--set {}: nothing is below this key, and '{}' was named", quote_for_message(setting), key));
  throw usage_error(format("--set {}: unknown key {}", quote_for_message(setting), quote_for_message(key)),
                    did_you_mean(key, keys_of(schema["properties"])));
}

Json& element_at(Json& list, const std::string& key, const std::string& setting) {
  std::size_t index = 0;
  if (!read_number(key, index) || index >= list.size())
    throw usage_error(
        format("--set {}: '{}' is none of the {} elements", quote_for_message(setting), key, list.size()),
        "the first is 0");
  return list[index];
}

// "run.train.max-steps=8": the value of a flag among words, or the flag with its value behind them.
bool set_flag(Json& words, const std::string& key, const std::string& value) {
  if (!words.is_array() || key.empty() || key.find_first_not_of("0123456789") == std::string::npos)
    return false;
  const std::string flag = key.starts_with("--") ? key : "--" + key;
  const auto plain = [](std::string text) {
    std::ranges::replace(text, '_', '-');
    return text;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].is_string()) continue;
    const std::string word = words[i].get<std::string>();
    const std::size_t equals = word.find('=');
    if (plain(word.substr(0, equals)) != plain(flag)) continue;
    if (equals != std::string::npos)
      words[i] = word.substr(0, equals + 1) + value;
    else if (i + 1 < words.size())
      words[i + 1] = value;
    else
      words.push_back(value);
    return true;
  }
  words.push_back(flag);
  words.push_back(value);
  return true;
}

void apply(Json& job, const Json& root, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0)
    throw usage_error(format("--set takes KEY=VALUE, not {}", quote_for_message(setting)), "--set nodes=8");
  const std::string path = setting.substr(0, equals), text = setting.substr(equals + 1);
  Json* at = &job;
  const Json* schema = &root;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    begin = end + 1;
    if (schema->value("type", "") == "array") {
      schema = &followed(root, schema->at("items"));
      if (at->is_null()) *at = Json::array();
      if (!at->is_array()) throw wrong_value(setting, "a list in the job file");
      // Words of 'nadi train' and Megatron-LM are flags with values; those of any command are not known.
      if ((path.starts_with("run.train.") || path.starts_with("run.megatron.")) && begin > path.size() &&
          set_flag(*at, key, text))
        return;
      at = &element_at(*at, key, setting);
    } else {
      schema = &member_schema(root, *schema, key, setting);
      if (at->is_null()) *at = Json::object();
      if (!at->is_object()) throw wrong_value(setting, "an object in the job file");
      at = &(*at)[key];
    }
  }
  *at = value_of(*schema, text, setting);
}

}  // namespace

std::string with_overrides(const std::string& json, std::span<const std::string> settings) {
  const Json schema = Json::parse(job_schema());
  Json job = Json::parse(json);
  for (const std::string& setting : settings) apply(job, schema, setting);
  // In the order of the file, new keys last.
  return dump_json(job);
}

}  // namespace nadi::inline jobs
