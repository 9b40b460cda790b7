#include "nadi/text/byte_alphabet.h"

#include "nadi/text/utf8.h"

namespace nadi::inline files {
namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr char32_t kCharacters = 0x144;  // 256 and the 68 bytes that have a stand-in

constexpr bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::uint8_t, 256> order = {};
  std::array<char32_t, 256> character_of = {};
  std::array<std::int16_t, kCharacters> byte_of = {};  // -1 means none
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (std::int16_t& byte : alphabet.byte_of) byte = -1;
  std::size_t count = 0;
  char32_t stand_in = kFirstStandIn;
  for (const bool itself : {true, false}) {
    for (int byte = 0; byte < 256; ++byte) {
      if (stands_for_itself(byte) != itself) continue;
      const char32_t character = itself ? static_cast<char32_t>(byte) : stand_in++;
      alphabet.order[count++] = static_cast<std::uint8_t>(byte);
      alphabet.character_of[static_cast<std::size_t>(byte)] = character;
      alphabet.byte_of[character] = static_cast<std::int16_t>(byte);
    }
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

const std::array<std::uint8_t, 256>& byte_alphabet_order() {
  return kAlphabet.order;
}

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_utf8(kAlphabet.character_of[static_cast<unsigned char>(byte)], text);
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string bytes;
  const char* at = text.data();
  while (at != text.data() + text.size()) {
    const char32_t character = next_character(at);
    if (character >= kCharacters || kAlphabet.byte_of[character] < 0) return std::nullopt;
    bytes += static_cast<char>(static_cast<unsigned char>(kAlphabet.byte_of[character]));
  }
  return bytes;
}

}  // namespace nadi::inline files
