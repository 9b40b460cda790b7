// Tells from the first records of a Chakra file in which schema it is written. Not for use outside chakra/.
//
// The files do not say it themselves: a version is in their metadata only since 0.0.4, and older files may
// have no metadata at all. But attributes of nodes have another field number in each schema that differs,
// and hold their values in other fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nadi::inline traces {

enum class ChakraSchema : std::uint8_t {
  kJune2023,    // 0.0.2: node types without METADATA; no unsigned and no bool attributes
  kJuly2023,    // 0.0.3: no unsigned attributes
  kAugust2023,  // 0.0.3 as it was until October 2023
  kCurrent,     // 0.0.4 and 1.0.0: the same bytes
};
std::string_view to_string(ChakraSchema schema);  // "0.0.2", "0.0.3", "0.0.3", "0.0.4"

struct ChakraFormat {
  ChakraSchema schema = ChakraSchema::kCurrent;
  bool has_metadata = true;  // false means the first record is a node
};

// Bytes of a file that recognise_chakra() reads at most.
inline constexpr std::size_t kRecognitionBytes = std::size_t{256} << 10;

// Never fails: an unrecognised file counts as the current schema, whose reader then names the fault.
ChakraFormat recognise_chakra(std::string_view start_of_file);

}  // namespace nadi::inline traces
