// Nadi as a library: quantities that know their unit, and random numbers that do not depend on who asks for
// them.

#include <cstdio>
#include <span>
#include <vector>

#include "nadi/base/random.h"
#include "nadi/base/units.h"

int main() {
  using nadi::operator""_GiB;
  std::printf("8 devices hold %s\n", to_string(80_GiB * 8).c_str());

  // The weights of one layer, whole and as the halves that two ranks would make.
  const nadi::RandomKey key{.seed = 1, .step = 0, .site = nadi::site_of("transformer.h.0.mlp.c_fc.weight")};
  std::vector<float> whole(1000);
  nadi::fill_normal(key, 0, whole);
  std::vector<float> halves(1000);
  nadi::fill_normal(key, 0, std::span(halves).first(500));
  nadi::fill_normal(key, 500, std::span(halves).last(500));
  std::printf("two ranks make %s weights\n", whole == halves ? "the same" : "other");
}
