// The files that a conversion writes: a trace for each rank, and the process groups that the traces name.
// They appear together, when all of them are on the disk.
//
//   ConvertFiles files({.name = "out/run", .format = ConvertFormat::kChakra});
//   files.write(rank, metadata, nodes, progress);            // out/run.0.et
//   files.publish(groups);                                   // out/run.groups.json
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "nadi/base/atomic_file_set.h"
#include "nadi/base/units.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

enum class ConvertFormat : std::uint8_t { kChakra, kChakraJson, kChakraJsonLines, kKineto, kNodeLink };

struct ConvertFormatEntry {
  std::string_view name;       // "chakra-json"
  std::string_view summary;    // for people
  std::string_view extension;  // ".json"
  ConvertFormat format;
};
// In the order of ConvertFormat.
std::span<const ConvertFormatEntry> convert_formats();
std::string_view to_string(ConvertFormat format);  // its name

struct ConvertOutput {
  std::filesystem::path name;
  bool is_file = false;  // `name` is the name of the one file; false means the start of the names of many
  ConvertFormat format = ConvertFormat::kChakra;
  Overwrite overwrite = Overwrite::kRefuse;

  std::filesystem::path file_of(std::int64_t rank) const;
  // "out/run.0.et" and "out/run" -> "out/run.groups.json".
  std::filesystem::path groups_file() const;
};

// Yields the nodes of a trace, one after the other.
struct NodeSource {
  std::size_t size = 0;
  std::function<void(std::size_t row, TraceNode& node)> get;
};

class ConvertFiles {
 public:
  // Error (usage) when the groups' file exists and may not be overwritten.
  explicit ConvertFiles(ConvertOutput output);

  // Writes the trace of a rank, under a temporary name, and returns its size. `progress` is called now and
  // then and may throw to stop.
  Bytes write(std::int64_t rank, const GlobalMetadata& metadata, const NodeSource& nodes,
              const std::function<void()>& progress);

  // Gives all files their names; writes the groups (JSON) too unless they are empty.
  void publish(const std::string& groups);

 private:
  ConvertOutput output_;
  AtomicFileSet files_;
};

}  // namespace nadi::inline traces
