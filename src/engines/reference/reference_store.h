// Values by name: what lives outside of a run of the reference engine. Variables stay here between runs, and
// inputs are put here before one.
//
//   ReferenceStore store;
//   store.set("x", {1, 2, 3});
//   store.get("loss").front()
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline engines {

// The elements of one tensor, contiguous and outermost axis first. The reference engine computes in double
// precision whatever the tensor's element type; integers are exact up to 2^53.
using Doubles = std::vector<double>;

class ReferenceStore {
 public:
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const Doubles* find(std::string_view name) const;  // nullptr when absent
  const Doubles& get(std::string_view name) const;   // Error (input) when absent
  void set(std::string_view name, Doubles values);
  bool erase(std::string_view name);           // whether it was there
  Doubles& operator[](std::string_view name);  // made empty when absent

 private:
  std::map<std::string, Doubles, std::less<>> values_;
};

}  // namespace nadi::inline engines
