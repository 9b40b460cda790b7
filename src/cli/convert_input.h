// What `nadi convert` is given, sorted by what the files are.
#pragma once

#include <filesystem>
#include <vector>

namespace nadi {

class Flags;

// Either `chakra`, or `devices` with as many `hosts` or none, or `hosts` alone.
struct ConvertInput {
  std::vector<std::filesystem::path> chakra = {};   // Chakra traces, of any schema, or in JSON
  std::vector<std::filesystem::path> devices = {};  // profiles (Kineto)
  std::vector<std::filesystem::path> hosts = {};    // the hosts' traces, in the same order

  std::size_t traces() const { return chakra.size() + (devices.empty() ? hosts.size() : devices.size()); }
};

// FILE..., --host and --device. Patterns are expanded, and files told apart by their content. Error: usage
// for what does not go together, input for a file that is none of these.
void add_convert_input_flags(Flags& flags);
ConvertInput resolve_convert_input(const Flags& flags);

}  // namespace nadi
