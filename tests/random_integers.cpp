#include "random_integers.h"

#include "nadi/base/random.h"

namespace nadi {

Doubles random_integers(const std::string& name, std::int64_t count, std::int64_t below) {
  Doubles values(count);
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = static_cast<double>(random_word({.seed = 5, .site = site_of(name)}, i) % below);
  return values;
}

}  // namespace nadi
