#include "nadi/draw/trace_pictures.h"

#include "nadi/draw/draw_files.h"
#include "nadi/draw/run_dot.h"

namespace nadi::inline show {

TracePictures trace_pictures_in(const std::filesystem::path& folder) {
  return {.graph = folder / "tensor_trace_graph.png",
          .node_link = folder / "tensor_trace_graph.json",
          .communication = folder / "tensor_comm_graph.png",
          .chakra = folder / "tensor_trace_chakra.json"};
}

void require_pictures(const TracePictures& pictures, Overwrite overwrite) {
  require_dot();
  if (overwrite == Overwrite::kAllow) return;
  for (const std::filesystem::path& file : pictures.all()) refuse_existing(file);
}

void write_trace_pictures(const std::vector<std::filesystem::path>& traces, const TracePictures& pictures,
                          Overwrite overwrite, const std::function<void()>& wait) {
  const std::vector<std::filesystem::path> first{traces.front()};
  const auto output = [&](const std::filesystem::path& file, DrawFormat format) {
    return DrawOutput{.file = file, .format = format, .overwrite = overwrite};
  };
  draw_files(first, output(pictures.chakra, DrawFormat::kChakra));
  draw_files(first, output(pictures.node_link, DrawFormat::kJson));
  draw_files(first, output(pictures.graph, DrawFormat::kPng), {.wait = wait});
  draw_files(traces, output(pictures.communication, DrawFormat::kPng), {.communication = true, .wait = wait});
}

}  // namespace nadi::inline show
