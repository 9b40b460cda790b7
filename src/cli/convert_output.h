// The files that `nadi convert` writes: the traces, and the process groups that they name. They appear
// together, when all are on the disk.
//
//   ConvertOutput output = resolve_convert_output(flags);
//   ConvertFiles files(output);
//   files.write(rank, nodes, metadata, ...);
//   files.publish(groups);
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/units.h"
#include "nadi/trace/trace_node.h"

namespace nadi {

class Flags;

enum class ConvertFormat : std::uint8_t { kChakra, kChakraJson, kKineto, kNodeLink };
std::string_view to_string(ConvertFormat format);  // "et", "chakra-json", "kineto", "node-link"

struct ConvertOutput {
  std::filesystem::path name;  // as given
  bool is_file = false;        // the name of the one file, and not the start of many
  ConvertFormat format = ConvertFormat::kChakra;
  Overwrite overwrite = Overwrite::kRefuse;

  std::filesystem::path file_of(std::int64_t rank) const;
  // "out/run.0.et" and "out/run" -> "out/run.groups.json".
  std::filesystem::path groups_file() const;
};

void add_convert_output_flags(Flags& flags);
ConvertOutput resolve_convert_output(const Flags& flags);  // Error (usage)

// Where nodes come from, one after the other.
struct NodeSource {
  std::size_t size = 0;
  std::function<void(std::size_t row, TraceNode& node)> get;
};

class ConvertFiles {
 public:
  // Error (usage) when the groups' file is there and may not be overwritten.
  explicit ConvertFiles(ConvertOutput output);

  // Writes the trace of a rank, under a name for the time being, and returns its size. `progress` is called
  // now and then with the number of nodes.
  Bytes write(std::int64_t rank, const GlobalMetadata& metadata, const NodeSource& nodes,
              const std::function<void(std::size_t done)>& progress);

  // Gives all files their names, with the groups (JSON) if that is not empty.
  void publish(const std::string& groups);

 private:
  ConvertOutput output_;
  std::vector<AtomicFile> files_;
};

}  // namespace nadi
