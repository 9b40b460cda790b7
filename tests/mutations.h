// Damages a file as disks, networks and people do: flipped bits, cuts, splices, repeated and inserted parts,
// lengths and numbers that lie.
//
//   Mutator mutator(seed);
//   const std::string damaged = mutator.mutate(bytes, number);      // the same for the same seed and number
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace nadi {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : seed_(seed) {}

  // One to four damages of `bytes`, drawn by `number`.
  std::string mutate(std::string bytes, std::uint64_t number);

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random_() % end); }
  void damage(std::string& bytes);
  void flip_bits(std::string& bytes);
  void set_bytes(std::string& bytes);
  void cut(std::string& bytes);
  void remove_part(std::string& bytes);
  void repeat_part(std::string& bytes);
  void insert_bytes(std::string& bytes);
  void splice(std::string& bytes);
  void lie_in_integer(std::string& bytes);
  void lie_in_varint(std::string& bytes);
  void lie_in_digits(std::string& bytes);
  void swap_punctuation(std::string& bytes);

  std::uint64_t seed_;
  std::mt19937_64 random_;
};

}  // namespace nadi
