// Draws the traces of a run: reads them, makes them small enough to look at, and writes the drawing.
//
//   const DrawSummary summary = draw_files({"out/gpt3.0.et"}, {.file = "graph.svg", .format =
//   DrawFormat::kSvg});
//
// Read are Chakra traces and profiles (analysis/run_reading.h), and graphs in node-link form.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/memory_limit.h"
#include "nadi/base/number_ranges.h"
#include "nadi/input/read_progress.h"

namespace nadi::inline show {

enum class DrawFormat : std::uint8_t { kSvg, kPng, kPdf, kDot, kGraphml, kJson, kHtml, kChakra };

struct DrawFormatEntry {
  std::string_view name;       // "graphml"
  std::string_view extension;  // ".graphml"
  std::string_view summary;    // for people
  DrawFormat format;
};
// In the order of DrawFormat.
std::span<const DrawFormatEntry> draw_formats();

enum class DrawCollapse : std::uint8_t {
  kAuto,  // of pictures that are too large to read, an outline: the first layer in full; of files nothing
  kNone,
  kBlock,
  kLayer,
};

struct DrawOutput {
  std::filesystem::path file;
  DrawFormat format = DrawFormat::kSvg;
  Overwrite overwrite = Overwrite::kRefuse;
  std::string edges_key = "edges";  // of node-link JSON
};

struct DrawOptions {
  DrawCollapse collapse = DrawCollapse::kAuto;
  NumberRanges layers = {};    // only these
  bool communication = false;  // communication, and a box for what is between two
  bool tensors = true;
  std::optional<bool> all_passes =
      {};                   // every micro-batch and decode step; nothing means all but in pictures
  MemoryLimit memory = {};  // for each file
  bool lenient = false;     // skip damaged records
  bool strict = false;      // refuse dependencies on nodes that are not there, which are dropped otherwise
  std::chrono::seconds limit{60};  // for the program that lays pictures out
  ReportBytes progress = {};
  std::function<void()> wait = {};  // called while that program runs and files are written; may throw to stop
  std::function<void(const std::string& text)> note = {};
};

struct DrawSummary {
  std::vector<std::filesystem::path> files = {};  // that were written
  std::size_t ranks = 0;
  // Counts of the traces, and of the drawing.
  std::uint64_t ops = 0, communications = 0, tensors = 0, edges = 0;
  std::uint64_t drawn_nodes = 0, drawn_edges = 0;
  bool outlined = false;              // collapsed because it was too large
  std::uint64_t passes_left_out = 0;  // micro-batches and decode steps like the first
  std::uint64_t without_tensors = 0;  // ops of which the traces list no tensors
  std::string remarks = {};           // of the program that lays pictures out
};

// More than this is not laid out; and what people can still read.
inline constexpr std::size_t kMostDrawnNodes = 1500;
inline constexpr std::size_t kMostDrawnEdges = 4000;
inline constexpr std::size_t kReadableNodes = 160;

// A drawing with more nodes or edges than can be laid out.
bool is_too_large(const class Error& error);

// Throws Error: usage for layers that the graph does not have and for an existing file; input for a file that
// cannot be read; infeasible for a picture that is too large; environment as run_dot().
DrawSummary draw_files(const std::vector<std::filesystem::path>& files, const DrawOutput& output,
                       const DrawOptions& options = {});

}  // namespace nadi::inline show
