#include "nadi/reference/reference_store.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline engines {

const Doubles* ReferenceStore::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

const Doubles& ReferenceStore::get(std::string_view name) const {
  const Doubles* values = find(name);
  if (values == nullptr) throw input_error({}, format("there is no tensor named '{}' in the store", name));
  return *values;
}

void ReferenceStore::set(std::string_view name, Doubles values) {
  (*this)[name] = std::move(values);
}

Doubles& ReferenceStore::operator[](std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  return values_.emplace(name, Doubles{}).first->second;
}

bool ReferenceStore::erase(std::string_view name) {
  const auto found = values_.find(name);
  if (found == values_.end()) return false;
  values_.erase(found);
  return true;
}

}  // namespace nadi::inline engines
