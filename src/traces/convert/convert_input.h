// The files that a conversion reads, sorted by what they hold.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace nadi::inline traces {

// Either `chakra` alone, or `devices` with as many `hosts` or none, or `hosts` alone, or `workload` alone.
struct ConvertInput {
  std::vector<std::filesystem::path> chakra = {};   // Chakra traces of any schema, as protobuf or JSON
  std::vector<std::filesystem::path> devices = {};  // profiles (Kineto)
  std::vector<std::filesystem::path> hosts =
      {};                               // execution traces of the host, in the order of the profiles
  std::filesystem::path workload = {};  // a workload as text (layer_workload.h), of all ranks

  std::size_t traces() const { return chakra.size() + (devices.empty() ? hosts.size() : devices.size()); }
  bool empty() const { return traces() == 0 && workload.empty(); }
};

// Adds each file to the list of its kind, which its content tells, and checks that the files go together.
// Error: usage for files that do not, input for a missing file and for a kind that cannot be read.
void add_files(ConvertInput& input, std::span<const std::filesystem::path> files);

void refuse_missing(std::span<const std::filesystem::path> files);  // Error (input)

}  // namespace nadi::inline traces
