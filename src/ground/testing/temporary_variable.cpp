#include "nadi/testing/temporary_variable.h"

#include <stdlib.h>

namespace nadi::inline ground {

TemporaryVariable::TemporaryVariable(const std::string& name, const std::string& value) : name_(name) {
  if (const char* before = getenv(name.c_str())) before_ = before;
  setenv(name.c_str(), value.c_str(), 1);
}

TemporaryVariable::~TemporaryVariable() {
  if (before_)
    setenv(name_.c_str(), before_->c_str(), 1);
  else
    unsetenv(name_.c_str());
}

}  // namespace nadi::inline ground
