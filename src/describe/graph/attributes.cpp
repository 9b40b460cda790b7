#include "nadi/graph/attributes.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline describe {
namespace {

template <typename T>
const T& get(const AttributeValue* value, std::string_view name) {
  // Messages are put together only when they are needed: attributes are read often.
  if (value == nullptr) check(false, format("an op has no attribute '{}'", name));
  const T* typed = std::get_if<T>(value);
  if (typed == nullptr) check(false, format("attribute '{}' has another type", name));
  return *typed;
}

std::string_view type_name(const AttributeValue& value) {
  static constexpr std::string_view kNames[] = {"boolean", "integer", "real", "text", "integers"};
  return kNames[value.index()];
}

}  // namespace

std::string to_string(const AttributeValue& value) {
  struct Printer {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t i) const { return format("{}", i); }
    std::string operator()(double d) const { return format("{}", d); }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(const Integers& list) const { return nadi::format("[{}]", fmt::join(list, ", ")); }
  };
  return std::visit(Printer{}, value);
}

bool Attributes::boolean(std::string_view name) const {
  return get<bool>(find(name), name);
}
std::int64_t Attributes::integer(std::string_view name) const {
  return get<std::int64_t>(find(name), name);
}
double Attributes::real(std::string_view name) const {
  return get<double>(find(name), name);
}
const std::string& Attributes::text(std::string_view name) const {
  return get<std::string>(find(name), name);
}
const Integers& Attributes::integers(std::string_view name) const {
  return get<Integers>(find(name), name);
}

void Attributes::set(std::string_view name, AttributeValue value) {
  for (Entry& entry : entries_)
    if (entry.name == name) {
      entry.value = std::move(value);
      return;
    }
  entries_.push_back({name, std::move(value)});
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const Entry& entry : entries_)
    if (entry.name == name) return &entry.value;
  return nullptr;
}

Attributes Attributes::completed(const std::vector<AttributeSpec>& specs, std::string_view op) && {
  for (const Entry& entry : entries_) {
    const auto spec = std::ranges::find(specs, entry.name, &AttributeSpec::name);
    if (spec == specs.end()) throw input_error({}, format("op '{}' has no attribute '{}'", op, entry.name));
    if (spec->fallback.index() != entry.value.index())
      throw input_error({}, format("attribute '{}' of op '{}' is {}, not {}", entry.name, op,
                                   type_name(spec->fallback), type_name(entry.value)));
  }
  // Those of another op of the kind are complete already.
  const auto same = [](const Entry& entry, const AttributeSpec& spec) { return entry.name == spec.name; };
  if (std::ranges::equal(entries_, specs, same)) {
    for (std::size_t i = 0; i < specs.size(); ++i) entries_[i].name = specs[i].name;
    return std::move(*this);
  }
  Attributes full;
  full.entries_.reserve(specs.size());
  for (const AttributeSpec& spec : specs) {
    const auto given = std::ranges::find(entries_, spec.name, &Entry::name);
    full.entries_.push_back({spec.name, given != entries_.end() ? std::move(given->value) : spec.fallback});
  }
  return full;
}

}  // namespace nadi::inline describe
