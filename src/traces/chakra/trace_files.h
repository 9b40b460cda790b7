// Reads a trace from whatever file it is in: Chakra's .et of any schema, Chakra's JSON, or a graph in
// node-link form (node_link_trace.h); plain, gzip or zstd. The content of the file decides.
//
//   TraceFileReport report;
//   Trace trace = read_any_trace(path, {}, &report);
//
// A file of another kind, a trace of PyTorch for instance, is WrongFileKind (base/file_kind.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "nadi/chakra/chakra_reading.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

enum class TraceFileKind : std::uint8_t { kChakra, kChakraJson, kNodeLink };
std::string_view to_string(TraceFileKind kind);  // "Chakra", "Chakra JSON", "node-link"

struct TraceFileReport {
  TraceFileKind kind = TraceFileKind::kChakra;
  ChakraReadStats stats = {};
};

// A graph of several ranks is Error (input): `nadi draw --format chakra` writes a trace of each.
Trace read_any_trace(const std::filesystem::path& path, const ChakraReadOptions& options = {},
                     TraceFileReport* report = nullptr);

}  // namespace nadi::inline traces
