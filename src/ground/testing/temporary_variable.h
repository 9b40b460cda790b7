// A variable of the environment that is as before when the test ends.
#pragma once

#include <optional>
#include <string>

namespace nadi::inline ground {

class TemporaryVariable {
 public:
  TemporaryVariable(const std::string& name, const std::string& value);
  ~TemporaryVariable();
  TemporaryVariable(const TemporaryVariable&) = delete;
  TemporaryVariable& operator=(const TemporaryVariable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace nadi::inline ground
