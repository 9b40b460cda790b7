#include "mutations.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace nadi {
namespace {

// The longest part that is removed, repeated or moved at once.
constexpr std::size_t kLongestPart = 4096;
// A file does not grow beyond this by being damaged.
constexpr std::size_t kLargest = std::size_t{4} << 20;

constexpr std::array<std::uint64_t, 12> kLies{0,
                                              1,
                                              0x7f,
                                              0xff,
                                              0x7fff,
                                              0xffff,
                                              0x7fffffff,
                                              0x80000000,
                                              0xffffffff,
                                              0x7fffffffffffffff,
                                              0x8000000000000000,
                                              0xffffffffffffffff};
constexpr std::array<std::string_view, 14> kNumbers{"0",
                                                    "-1",
                                                    "1",
                                                    "255",
                                                    "65536",
                                                    "2147483648",
                                                    "4294967296",
                                                    "9223372036854775807",
                                                    "9223372036854775808",
                                                    "99999999999999999999",
                                                    "1e9",
                                                    "1e308",
                                                    "0.5",
                                                    "NaN"};
constexpr std::string_view kPunctuation = "{}[]\",:.=#'\\/ \n\t-+";

}  // namespace

std::string Mutator::mutate(std::string bytes, std::uint64_t number) {
  random_.seed(seed_ * 0x9e3779b97f4a7c15u + number);
  const std::size_t damages = below(2) == 0 ? 1 : 1 + below(4);
  for (std::size_t i = 0; i < damages; ++i) damage(bytes);
  return bytes;
}

void Mutator::damage(std::string& bytes) {
  constexpr std::array kWays{
      &Mutator::flip_bits,      &Mutator::flip_bits,       &Mutator::set_bytes,     &Mutator::cut,
      &Mutator::remove_part,    &Mutator::repeat_part,     &Mutator::insert_bytes,  &Mutator::splice,
      &Mutator::lie_in_integer, &Mutator::lie_in_integer,  &Mutator::lie_in_varint, &Mutator::lie_in_digits,
      &Mutator::lie_in_digits,  &Mutator::swap_punctuation};
  (this->*kWays[below(kWays.size())])(bytes);
}

void Mutator::flip_bits(std::string& bytes) {
  if (bytes.empty()) return;
  const std::size_t bits = 1 + below(8);
  for (std::size_t i = 0; i < bits; ++i) {
    char& byte = bytes[below(bytes.size())];
    byte = static_cast<char>(byte ^ (1 << below(8)));
  }
}

void Mutator::set_bytes(std::string& bytes) {
  if (bytes.empty()) return;
  const std::size_t at = below(bytes.size());
  const std::size_t count = std::min(bytes.size() - at, 1 + below(8));
  constexpr std::array<char, 5> kValues{'\0', '\x7f', '\x80', '\xff', ' '};
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, kValues[below(kValues.size())]);
}

void Mutator::cut(std::string& bytes) {
  bytes.resize(below(bytes.size() + 1));
}

void Mutator::remove_part(std::string& bytes) {
  const std::size_t at = below(bytes.size());
  bytes.erase(at, 1 + below(std::min(kLongestPart, bytes.size() - at)));
}

void Mutator::repeat_part(std::string& bytes) {
  const std::size_t at = below(bytes.size());
  const std::string part = bytes.substr(at, 1 + below(kLongestPart));
  const std::size_t times = 1 + below(below(8) == 0 ? 200 : 3);
  for (std::size_t i = 0; i < times && bytes.size() + part.size() <= kLargest; ++i) bytes.insert(at, part);
}

void Mutator::insert_bytes(std::string& bytes) {
  std::string inserted(1 + below(64), '\0');
  for (char& byte : inserted) byte = static_cast<char>(below(256));
  bytes.insert(below(bytes.size() + 1), inserted);
}

void Mutator::splice(std::string& bytes) {
  if (bytes.empty()) return;
  const std::size_t from = below(bytes.size()), to = below(bytes.size());
  const std::string part = bytes.substr(from, 1 + below(kLongestPart));
  bytes.replace(to, std::min(part.size(), bytes.size() - to), part);
}

void Mutator::lie_in_integer(std::string& bytes) {
  constexpr std::array<std::size_t, 4> kWidths{1, 2, 4, 8};
  const std::size_t width = kWidths[below(kWidths.size())];
  if (bytes.size() < width) return;
  // Headers, where lengths are, are hit as often as all the rest.
  const std::size_t reach = below(2) == 0 ? std::min<std::size_t>(bytes.size(), 256) : bytes.size();
  if (reach < width) return;
  const std::size_t at = below(reach - width + 1);
  std::uint64_t lie = kLies[below(kLies.size())];
  if (below(3) == 0) lie = bytes.size() + below(5) - 2;
  std::memcpy(bytes.data() + at, &lie, width);
}

void Mutator::lie_in_varint(std::string& bytes) {
  constexpr std::array<std::string_view, 4> kVarints{
      "\xff\xff\xff\xff\x0f", "\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "\x80\x80\x80\x80\x01", "\xff\xff\x7f"};
  const std::string_view lie = kVarints[below(kVarints.size())];
  const std::size_t at = below(bytes.size());
  bytes.replace(at, std::min(bytes.size() - at, below(2) == 0 ? 1 : lie.size()), lie);
}

void Mutator::lie_in_digits(std::string& bytes) {
  const std::size_t from = below(bytes.size());
  const std::size_t at = bytes.find_first_of("0123456789", from);
  if (at == std::string::npos) return;
  const std::size_t end = std::min(bytes.find_first_not_of("0123456789.", at), bytes.size());
  bytes.replace(at, end - at, kNumbers[below(kNumbers.size())]);
}

void Mutator::swap_punctuation(std::string& bytes) {
  const std::size_t at = bytes.find_first_of(kPunctuation, below(bytes.size()));
  if (at == std::string::npos) return;
  bytes[at] = kPunctuation[below(kPunctuation.size())];
}

}  // namespace nadi
