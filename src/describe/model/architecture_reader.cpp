#include "nadi/model/architecture_reader.h"

#include <algorithm>
#include <array>
#include <set>

#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/model/config_fields.h"
#include "nadi/model/expert_names.h"

namespace nadi::inline describe {
namespace {

using Keys = std::vector<std::string_view>;

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kMostParts = 16;
constexpr std::size_t kMostKeys = 200;

// A name of a layer or parameter: it becomes a part of tensors' names.
std::string checked_name(JsonValue value) {
  const std::string& name = value.as_string();
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '{' || c == '}';
  });
  if (name.empty() || name.size() > kLongestName || !plain || name.front() == '.' || name.back() == '.')
    throw error_at(value, format("'{}' is no name: letters, digits, '_', '-' and points between them", name));
  return name;
}

std::string name_or_none(JsonValue object, std::string_view key) {
  const auto value = object.find(key);
  if (!value) return "";
  std::string name = checked_name(*value);
  if (name.find_first_of("{}") != std::string::npos)
    throw error_at(*value, format("'{}' is no name: {{}} stands in the scope of blocks alone", name));
  return name;
}

std::string required_name(JsonValue object, std::string_view key) {
  object.at(key);
  return name_or_none(object, key);
}

bool flag_of(JsonValue object, std::string_view key, bool otherwise) {
  const auto value = object.find(key);
  return value ? value->as_bool() : otherwise;
}

// One of two words, of which the first is the default.
bool second_of(JsonValue object, std::string_view key, const std::array<std::string_view, 2>& words) {
  const auto value = object.find(key);
  if (!value) return false;
  const std::string& word = value->as_string();
  if (word != words[0] && word != words[1])
    throw error_at(*value, format("unknown {} '{}'", key, word), did_you_mean(word, words));
  return word == words[1];
}

// "experts.{}" as parameters of all experts have it (expert_names.h).
std::string scope_of_experts(JsonValue value) {
  std::string scope = checked_name(value);
  const std::size_t number = scope.find("{}");
  if (number == std::string::npos || scope.find_first_of("{}", number + 2) != std::string::npos)
    throw error_at(value,
                   format("'{}' has no place, or more than one, for the number of an expert: {{}}", scope));
  return scope.replace(number, 2, kEveryExpert);
}

ExpertNames read_experts(JsonValue value) {
  value.refuse_keys_except(
      Keys{"scope", "router", "score", "choice_bias", "group_best", "gate", "up", "output", "shared"});
  ExpertNames experts;
  experts.scope = scope_of_experts(value.at("scope"));
  experts.router = required_name(value, "router");
  experts.choice_bias = name_or_none(value, "choice_bias");
  experts.gate = required_name(value, "gate");
  experts.up = required_name(value, "up");
  experts.output = required_name(value, "output");
  if (const auto score = value.find("score")) {
    static constexpr std::array<std::string_view, 3> kScores{"softmax", "sigmoid", "softmax of chosen"};
    if (std::ranges::find(kScores, score->as_string()) == kScores.end())
      throw error_at(*score, format("unknown score '{}'", score->as_string()),
                     did_you_mean(score->as_string(), kScores));
    experts.score = router_score_named(score->as_string());
  }
  if (const auto best = value.find("group_best")) {
    experts.group_best = best->as_int64();
    if (experts.group_best < 1)
      throw error_at(*best, format("a group's score is the sum of its {} best", experts.group_best));
  }
  if (const auto shared = value.find("shared")) {
    shared->refuse_keys_except(Keys{"scope", "gate", "up", "output", "router"});
    experts.shared = {.scope = required_name(*shared, "scope"),
                      .gate = required_name(*shared, "gate"),
                      .up = required_name(*shared, "up"),
                      .output = required_name(*shared, "output"),
                      .router = name_or_none(*shared, "router")};
  }
  return experts;
}

BlockPart read_part(JsonValue value) {
  BlockPart part;
  value.at("part");
  part.kind = second_of(value, "part", {"attention", "feed_forward"}) ? BlockPart::Kind::kFeedForward
                                                                      : BlockPart::Kind::kAttention;
  Keys known{"part", "beside", "norm_before", "scope", "output_scope", "output", "dropout", "norm_after"};
  const auto own = part.attention()
                       ? Keys{"packed", "query", "key", "value", "query_norm", "key_norm", "positions"}
                       : Keys{"gate", "up", "experts"};
  known.insert(known.end(), own.begin(), own.end());
  value.refuse_keys_except(known);
  part.beside = flag_of(value, "beside", false);
  part.norm_before = name_or_none(value, "norm_before");
  part.scope = name_or_none(value, "scope");
  part.output_scope = value.has("output_scope") ? name_or_none(value, "output_scope") : part.scope;
  if (!part.attention())
    if (const auto experts = value.find("experts")) part.experts = read_experts(*experts);
  // Where every layer has experts, there is no layer without.
  const bool is_dense = !part.experts || value.has("up") || value.has("output");
  if (is_dense) part.output = required_name(value, "output");
  part.dropout = name_or_none(value, "dropout");
  part.norm_after = name_or_none(value, "norm_after");
  if (!part.attention()) {
    part.gate = name_or_none(value, "gate");
    if (is_dense) part.up = required_name(value, "up");
    if (part.experts && part.scope != part.output_scope)
      throw error_at(value, "a part with experts has one scope");
    if (part.experts && is_dense && part.gate.empty())
      throw error_at(value, "experts have gates, and so have the layers without experts beside them");
    return part;
  }
  part.packed = name_or_none(value, "packed");
  for (const auto& [key, name] :
       {std::pair{"query", &part.query}, std::pair{"key", &part.key}, std::pair{"value", &part.value}}) {
    if (part.packed.empty())
      *name = required_name(value, key);
    else if (value.has(key))
      throw error_at_key(value.at(key), "queries, keys and values are packed or have layers of their own");
  }
  part.query_norm = name_or_none(value, "query_norm");
  part.key_norm = name_or_none(value, "key_norm");
  if (part.query_norm.empty() != part.key_norm.empty())
    throw error_at(value, "norms per head are of queries and keys, not of one of them");
  if (const auto positions = value.find("positions")) {
    static constexpr std::array<std::string_view, 1> kKinds{"rotary"};
    if (positions->as_string() != kKinds[0])
      throw error_at(*positions, format("unknown positions '{}'", positions->as_string()),
                     did_you_mean(positions->as_string(), kKinds));
    part.rotary = true;
  }
  if (!part.packed.empty() && (part.rotary || !part.query_norm.empty()))
    throw error_at(value,
                   "rotary positions and norms per head need layers of their own for queries and keys, not a "
                   "packed one");
  return part;
}

// Two parameters of one name would be one parameter.
void refuse_names_twice(const ArchitectureDescription& read, JsonValue place) {
  std::set<std::string> seen;
  const auto add = [&](const std::string& scope, const std::string& name) {
    if (name.empty()) return;
    if (!seen.insert(joined_name(scope, name)).second)
      throw error_at(place, format("two layers of a block have the name '{}'", joined_name(scope, name)));
  };
  for (const BlockPart& part : read.block.parts) {
    for (const std::string* name : {&part.packed, &part.query, &part.key, &part.value, &part.query_norm,
                                    &part.key_norm, &part.gate, &part.up})
      add(part.scope, *name);
    if (part.experts) {
      add(part.scope, part.experts->router);
      for (const std::string* name : {&part.experts->gate, &part.experts->up, &part.experts->output})
        add(joined_name(part.scope, part.experts->scope), *name);
      if (const auto& shared = part.experts->shared; !shared.up.empty()) {
        for (const std::string* name : {&shared.gate, &shared.up, &shared.output})
          add(joined_name(part.scope, shared.scope), *name);
        add(part.scope, shared.router);
      }
    }
    add("", part.norm_before);
    add(part.output_scope, part.output);
    add(part.output_scope, part.norm_after);
  }
  // The cache of keys and values is named after the scope.
  std::set<std::string> scopes;
  for (const BlockPart& part : read.block.parts)
    if (part.attention() && !scopes.insert(part.scope).second)
      throw error_at(place, format("two attention parts have the scope '{}'", part.scope));
}

// The same for what stands before and behind the blocks.
void refuse_names_twice_outside(const ArchitectureDescription& read, JsonValue place) {
  std::set<std::string> seen;
  const std::string before_number = read.block.scope.substr(0, read.block.scope.find('{'));
  const auto add = [&](const std::string& name) {
    if (name.empty()) return;
    if (!seen.insert(name).second) throw error_at(place, format("two layers have the name '{}'", name));
    const std::size_t at = before_number.size();
    if (name.starts_with(before_number) && name.size() > at && name[at] >= '0' && name[at] <= '9')
      throw error_at(place, format("'{}' is the name of something in a block, too", name));
  };
  const auto named = [&](const std::string& scope, const std::string& name) {
    if (!name.empty()) add(joined_name(scope, name));
  };
  const ArchitectureDescription::Embedding& embedding = read.embedding;
  for (const std::string* name :
       {&embedding.words, &embedding.token_types, &embedding.positions, &embedding.norm})
    named(embedding.scope, *name);
  named(read.final.scope, read.final.norm);
  named(read.output.transform_scope, read.output.transform);
  named(read.output.transform_scope, read.output.transform_norm);
  add(read.output.weight);
  add(read.output.bias);
}

ArchitectureDescription::Block read_block(JsonValue value) {
  value.refuse_keys_except(Keys{"scope", "parts"});
  ArchitectureDescription::Block block;
  const JsonValue scope = value.at("scope");
  block.scope = checked_name(scope);
  const std::size_t number = block.scope.find("{}");
  if (number == std::string::npos || block.scope.find_first_of("{}", number + 2) != std::string::npos ||
      block.scope.find_first_of("{}") != number)
    throw error_at(
        scope, format("'{}' has no place, or more than one, for the number of a block: {{}}", block.scope));
  const JsonValue parts = value.at("parts");
  for (const JsonValue& part : parts.elements()) block.parts.push_back(read_part(part));
  if (block.parts.empty() || block.parts.size() > kMostParts)
    throw error_at(parts,
                   format("a block of {} parts: it has between 1 and {}", block.parts.size(), kMostParts));
  if (block.parts.front().beside)
    throw error_at(parts, "the first part of a block has none before it to stand beside");
  return block;
}

std::vector<std::string_view> field_names() {
  std::vector<std::string_view> names;
  for (const ConfigField& field : config_fields()) names.push_back(field.name);
  names.insert(names.end(), {kRotaryTheta, kRotaryScaling});
  return names;
}

ConfigDefault read_default(JsonValue value, const std::set<std::string>& set_before) {
  if (value.is_bool()) return value.as_bool();
  if (value.is_string()) return value.as_string();
  if (value.is_object()) {
    value.refuse_keys_except(Keys{"of", "times"});
    ConfigRatio ratio{.of = value.at("of").as_string()};
    if (const auto times = value.find("times")) ratio.times = times->as_int64();
    if (!set_before.contains(ratio.of))
      throw error_at(value.at("of"), format("no key before this one sets '{}'", ratio.of));
    const ConfigField* const field = find_config_field(ratio.of);
    if (field == nullptr || !std::holds_alternative<std::int64_t ModelConfig::*>(field->member))
      throw error_at(value.at("of"), format("'{}' is no whole number", ratio.of));
    if (ratio.times < 1 || ratio.times > 1000)
      throw error_at(value, format("{} times a number: between 1 and 1000", ratio.times));
    return ratio;
  }
  try {
    return value.as_int64();
  } catch (const Error&) {
    return value.as_double();
  }
}

// Whether a default is of the field's type.
bool suits(const ConfigDefault& value, const ConfigField& field) {
  if (std::holds_alternative<std::monostate>(value)) return true;
  if (std::holds_alternative<std::int64_t ModelConfig::*>(field.member))
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<ConfigRatio>(value);
  if (std::holds_alternative<double ModelConfig::*>(field.member))
    return std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
  if (std::holds_alternative<bool ModelConfig::*>(field.member)) return std::holds_alternative<bool>(value);
  if (std::holds_alternative<std::vector<std::int64_t> ModelConfig::*>(field.member)) return false;
  return std::holds_alternative<std::string>(value);
}

void read_fields(JsonValue value, std::set<std::string>& set_before, ConfigEntry& entry) {
  const std::vector<std::string_view> known = field_names();
  for (const JsonValue& name : value.at("sets").elements()) {
    if (std::ranges::find(known, name.as_string()) == known.end())
      throw error_at(name, format("unknown field '{}'", name.as_string()),
                     did_you_mean(name.as_string(), known));
    entry.sets.push_back(name.as_string());
  }
  if (entry.sets.empty()) throw error_at(value.at("sets"), "a key that sets no field");
  if (const auto otherwise = value.find("default")) entry.otherwise = read_default(*otherwise, set_before);
  if (const auto null = value.find("null")) entry.when_null = read_default(*null, set_before);
  const bool rotary = std::ranges::any_of(
      entry.sets, [](const std::string& name) { return name == kRotaryTheta || name == kRotaryScaling; });
  if (rotary && entry.sets.size() > 1) throw error_at(value.at("sets"), "rotary positions have a key alone");
  for (const std::string& name : entry.sets) {
    if (const ConfigField* const field = find_config_field(name)) {
      if (!suits(entry.otherwise, *field) || !suits(entry.when_null, *field))
        throw error_at(value, format("the default is not of the type of '{}'", name));
      const ConfigField* const first = find_config_field(entry.sets.front());
      if (first->member.index() != field->member.index())
        throw error_at(value.at("sets"), "fields that one key sets have one type");
      const bool whole = std::holds_alternative<std::int64_t ModelConfig::*>(field->member);
      const bool list = std::holds_alternative<std::vector<std::int64_t> ModelConfig::*>(field->member);
      if (!whole && !list && std::holds_alternative<std::monostate>(entry.otherwise))
        throw error_at(value, format("'{}' needs a default", name));
    } else if (name == kRotaryTheta && !std::holds_alternative<double>(entry.otherwise) &&
               !std::holds_alternative<std::int64_t>(entry.otherwise)) {
      throw error_at(value, format("'{}' needs a number as its default", name));
    }
    set_before.insert(name);
  }
}

ConfigEntry read_entry(JsonValue value, std::set<std::string>& set_before) {
  value.refuse_keys_except(
      Keys{"key", "sets", "default", "null", "only", "without_effect", "written", "window", "first"});
  ConfigEntry entry{.key = value.at("key").as_string()};
  entry.written = flag_of(value, "written", true);
  entry.without_effect = flag_of(value, "without_effect", false);
  const int kinds = (value.has("sets") ? 1 : 0) + (value.has("only") ? 1 : 0) +
                    (value.has("window") ? 1 : 0) + (entry.without_effect ? 1 : 0);
  if (kinds != 1)
    throw error_at(value, format("key '{}' has one of sets, only, window and without_effect", entry.key));
  if (value.has("sets")) read_fields(value, set_before, entry);
  if (const auto only = value.find("only")) {
    if (only->is_bool())
      entry.only = only->as_bool();
    else
      entry.only = only->as_string();
  }
  if (value.has("window")) {
    const bool upper = second_of(value, "window", {"all layers", "upper layers"});
    entry.window = upper ? ConfigEntry::Window::kUpperLayers : ConfigEntry::Window::kAllLayers;
    entry.otherwise = value.at("default").as_int64();
    if (upper) entry.first_window_layer = value.at("first").as_int64();
    if (upper && !set_before.contains("layers"))
      throw error_at(value, "no key before this one sets 'layers'");
  }
  return entry;
}

std::vector<ConfigEntry> read_configuration(JsonValue value) {
  std::vector<ConfigEntry> entries;
  std::set<std::string> set_before, keys;
  for (const JsonValue& entry : value.elements()) {
    entries.push_back(read_entry(entry, set_before));
    if (!keys.insert(entries.back().key).second)
      throw error_at(entry, format("key '{}' is described twice", entries.back().key));
  }
  if (entries.size() > kMostKeys)
    throw error_at(value, format("{} keys, limit {}", entries.size(), kMostKeys));
  for (const char* field : {"vocabulary", "positions", "layers", "width", "heads", "ffn_width"})
    if (!set_before.contains(field)) throw error_at(value, format("no key sets '{}'", field));
  return entries;
}

MegatronDescription read_megatron(JsonValue value) {
  value.refuse_keys_except(Keys{"blocks", "family", "tokenizer", "script", "sizes", "pooler", "binary_head"});
  MegatronDescription form;
  form.blocks = second_of(value, "blocks", {"decoder", "encoder"}) ? "encoder" : "decoder";
  form.family = value.at("family").as_string();
  form.tokenizer = value.at("tokenizer").as_string();
  form.script = value.at("script").as_string();
  form.pooler = name_or_none(value, "pooler");
  form.binary_head = name_or_none(value, "binary_head");
  if (const auto sizes = value.find("sizes"))
    for (const JsonValue& size : sizes->elements()) {
      size.refuse_keys_except(Keys{"name", "tokenizer"});
      form.sizes.push_back({size.at("name").as_string(), size.at("tokenizer").as_string()});
    }
  return form;
}

ArchitectureDescription::Output read_output(JsonValue value) {
  value.refuse_keys_except(Keys{"transform", "scope", "weight", "bias", "bias_also"});
  ArchitectureDescription::Output output;
  if (const auto transform = value.find("transform")) {
    transform->refuse_keys_except(Keys{"scope", "dense", "norm"});
    output.transform_scope = required_name(*transform, "scope");
    output.transform = required_name(*transform, "dense");
    output.transform_norm = required_name(*transform, "norm");
  }
  output.scope = required_name(value, "scope");
  output.weight = required_name(value, "weight");
  output.bias = name_or_none(value, "bias");
  output.bias_also = name_or_none(value, "bias_also");
  return output;
}

}  // namespace

ArchitectureDescription read_architecture(JsonValue description) {
  description.refuse_keys_except(Keys{"model_type", "title", "class", "predicts", "norm", "weights",
                                      "fresh_outputs", "embedding", "block", "final", "output", "fixed",
                                      "configuration", "tokenizer", "megatron"});
  ArchitectureDescription read;
  read.model_type = required_name(description, "model_type");
  const auto text_or = [&](std::string_view key, const std::string& otherwise) {
    const auto value = description.find(key);
    return value ? value->as_string() : otherwise;
  };
  read.title = text_or("title", read.model_type);
  read.class_name = text_or("class", read.model_type);
  if (description.has("tokenizer")) read.tokenizer = name_or_none(description, "tokenizer");
  read.predicts = second_of(description, "predicts", {"next token", "masked tokens"})
                      ? Prediction::kMaskedTokens
                      : Prediction::kNextToken;
  read.norm = second_of(description, "norm", {"layer", "rms"}) ? NormKind::kRms : NormKind::kLayer;
  read.weights_in_out = second_of(description, "weights", {"out x in", "in x out"});
  read.outputs_shrink = second_of(description, "fresh_outputs", {"as others", "smaller with depth"});

  const JsonValue embedding = description.at("embedding");
  embedding.refuse_keys_except(Keys{"scope", "words", "token_types", "positions", "norm", "dropout"});
  read.embedding = {.scope = required_name(embedding, "scope"),
                    .words = required_name(embedding, "words"),
                    .token_types = name_or_none(embedding, "token_types"),
                    .positions = name_or_none(embedding, "positions"),
                    .norm = name_or_none(embedding, "norm"),
                    .dropout = name_or_none(embedding, "dropout")};
  read.block = read_block(description.at("block"));
  refuse_names_twice(read, description.at("block"));
  if (const auto last = description.find("final")) {
    last->refuse_keys_except(Keys{"scope", "norm"});
    read.final = {.scope = required_name(*last, "scope"), .norm = required_name(*last, "norm")};
  }
  read.output = read_output(description.at("output"));
  refuse_names_twice_outside(read, description);
  if (const auto fixed = description.find("fixed"))
    for (const auto& [key, value] : fixed->items()) {
      const ConfigField* const field = find_config_field(key);
      if (field == nullptr || !std::holds_alternative<bool ModelConfig::*>(field->member))
        throw error_at_key(value, format("'{}' is no field that is true or false", key));
      read.fixed.emplace_back(key, value.as_bool());
    }
  read.configuration = read_configuration(description.at("configuration"));
  if (const auto megatron = description.find("megatron")) read.megatron = read_megatron(*megatron);
  return read;
}

}  // namespace nadi::inline describe
