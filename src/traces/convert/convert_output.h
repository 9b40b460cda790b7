// The files that a conversion writes: a trace for each rank, and the process groups that the traces name.
// They appear together, when all of them are on the disk.
//
//   ConvertFiles files({.name = "out/run", .format = &trace_format("et")});
//   files.write(rank, metadata, nodes, progress);            // out/run.0.et
//   files.publish(groups);                                   // out/run.groups.json
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "nadi/base/atomic_file_set.h"
#include "nadi/base/units.h"
#include "nadi/convert/trace_formats.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

struct ConvertOutput {
  std::filesystem::path name;
  bool is_file = false;  // `name` is the name of the one file; false means the start of the names of many
  const TraceFormat* format = &trace_formats().front();
  Overwrite overwrite = Overwrite::kRefuse;

  std::filesystem::path file_of(std::int64_t rank) const;
  // "out/run.0.et" and "out/run" -> "out/run.groups.json".
  std::filesystem::path groups_file() const;
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
