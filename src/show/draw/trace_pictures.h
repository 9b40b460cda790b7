// The four files that `--visualize-trace` leaves beside a run: its graph as a picture and as node-link JSON,
// the communication of all ranks as a picture, and the trace of the first rank as Chakra's JSON.
//
//   const TracePictures pictures = trace_pictures_in("out");
//   require_pictures(pictures, Overwrite::kRefuse);           // before the run
//   ...
//   write_trace_pictures({"out/run.0.et", "out/run.1.et"}, pictures, Overwrite::kRefuse);
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "nadi/base/atomic_file.h"

namespace nadi::inline show {

struct TracePictures {
  std::filesystem::path graph;          // tensor_trace_graph.png
  std::filesystem::path node_link;      // tensor_trace_graph.json
  std::filesystem::path communication;  // tensor_comm_graph.png
  std::filesystem::path chakra;         // tensor_trace_chakra.json

  std::vector<std::filesystem::path> all() const { return {graph, node_link, communication, chakra}; }
};

TracePictures trace_pictures_in(const std::filesystem::path& folder);

// Error: environment where Graphviz is missing, usage where a file exists and may not be overwritten.
void require_pictures(const TracePictures& pictures, Overwrite overwrite);

// `traces` are those of the ranks, the first one first. Errors: those of draw_files(). `wait` is called now
// and then and may throw to stop.
void write_trace_pictures(const std::vector<std::filesystem::path>& traces, const TracePictures& pictures,
                          Overwrite overwrite, const std::function<void()>& wait = {});

}  // namespace nadi::inline show
