// The random numbers of NumPy's RandomState, to the bit: the orders that Megatron's index maps hold are drawn
// with them.
//
//   NumpyRandom random(1234);          // numpy.random.RandomState(seed=1234)
//   random.shuffle(documents);         // random.shuffle(documents)
//
// The generator is MT19937 (Matsumoto and Nishimura, "Mersenne twister", 1998) seeded by its authors'
// init_genrand(), which is what std::mt19937 does.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace nadi::inline files {

class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed) : generator_(seed) {}

  // From 0 to `most`, each as likely: draws are cut to as many bits as `most` has, and those that are larger
  // are thrown away. Up to 32 bits take one word of the generator per draw, more take two, high word first.
  std::uint64_t interval(std::uint64_t most) {
    if (most == 0) return 0;
    const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(most);
    std::uint64_t value = 0;
    do {
      value = generator_();
      if (most >> 32 != 0) value = value << 32 | generator_();
      value &= mask;
    } while (value > most);
    return value;
  }

  // Fisher and Yates, from the last place down.
  template <typename T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[interval(i)]);
  }

 private:
  std::mt19937 generator_;
};

}  // namespace nadi::inline files
