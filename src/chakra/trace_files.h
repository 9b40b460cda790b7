// Reads a Chakra trace from whatever file it is in: .et of any schema, or JSON; plain, gzip or zstd. The
// content of the file decides.
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

namespace nadi {

enum class TraceFileKind : std::uint8_t { kChakra, kChakraJson };
std::string_view to_string(TraceFileKind kind);  // "Chakra", "Chakra JSON"

struct TraceFileReport {
  TraceFileKind kind = TraceFileKind::kChakra;
  ChakraReadStats stats = {};
};

Trace read_any_trace(const std::filesystem::path& path, const ChakraReadOptions& options = {},
                     TraceFileReport* report = nullptr);

}  // namespace nadi
