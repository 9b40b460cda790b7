// Takes everything from read_json_records() that there is, as trees of the JSON library: the plain way to
// compare what was read with what another parser makes of the same text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/input/chunked_input.h"
#include "nadi/input/json_records.h"

namespace nadi::inline ground {

// Looks at every token, so that simdjson checks all of it. Not for deep texts: it calls itself.
inline Json to_json(JsonItem item) {
  using Type = simdjson::ondemand::json_type;
  const Type type = item.type();
  switch (type) {
    case Type::object: {
      Json object = Json::object();
      for (simdjson::ondemand::field field : item.get_object()) {
        const std::string key(std::string_view(field.unescaped_key()));
        object[key] = to_json(field.value());
      }
      return object;
    }
    case Type::array: {
      Json array = Json::array();
      for (JsonItem element : item.get_array()) array.push_back(to_json(element));
      return array;
    }
    case Type::string:
      return Json(std::string(std::string_view(item.get_string())));
    case Type::number: {
      const simdjson::ondemand::number number = item.get_number();
      if (number.is_double()) return Json(number.get_double());
      if (number.is_uint64()) return Json(number.get_uint64());
      return Json(number.get_int64());
    }
    case Type::boolean:
      return Json(static_cast<bool>(item.get_bool()));
    case Type::null:
      if (!item.is_null()) throw simdjson::simdjson_error(simdjson::N_ATOM_ERROR);
      return Json(nullptr);
  }
  throw simdjson::simdjson_error(simdjson::TAPE_ERROR);
}

class JsonCollector : public JsonRecordTaker {
 public:
  struct Record {
    std::size_t array;
    std::uint64_t byte;
    Json json;
    bool operator==(const Record&) const = default;
  };
  std::vector<std::pair<std::string, std::string>> members;  // name, text
  std::vector<Record> records;
  int restarts = 0;

  void member(std::string_view name, std::string_view json, std::uint64_t /*byte*/) override {
    members.emplace_back(name, json);
  }

  void record(std::size_t array, JsonObject& record, std::uint64_t byte) override {
    Json json = Json::object();
    for (simdjson::ondemand::field field : record) {
      const std::string key(std::string_view(field.unescaped_key()));
      json[key] = to_json(field.value());
    }
    records.push_back({array, byte, std::move(json)});
  }

  void restart() override {
    members.clear();
    records.clear();
    ++restarts;
  }
};

struct JsonCollection {
  JsonCollector taken;
  JsonRecordCounts counts;

  // Member "n" of each record.
  std::vector<std::int64_t> numbers() const {
    std::vector<std::int64_t> found;
    for (const JsonCollector::Record& record : taken.records) found.push_back(record.json.value("n", -1));
    return found;
  }
};

// Reads the arrays "traceEvents", "nodes" and the document itself, from memory called "events.json".
inline JsonCollection collect_json(std::string_view text, JsonDamage damage, std::size_t chunk = kJsonChunk) {
  static constexpr std::string_view kArrays[] = {"traceEvents", "nodes", ""};
  JsonCollection reading;
  ChunkedInput input(text, "events.json");
  reading.counts =
      read_json_records(input, {.arrays = kArrays, .damage = damage, .chunk = chunk}, reading.taken);
  return reading;
}

}  // namespace nadi::inline ground
