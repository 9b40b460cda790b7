// Says what a file is, by its first bytes: the one place that knows how files begin.
//
//   const FileKind kind = kind_of_bytes(start);           // FileKind::kPng
//   std::string text = format("this is {}", name_of(kind));  // "this is a PNG image"
//
// A reader calls one of these before it reads, so that every reader says the same about a file of the wrong
// kind ("x.et: this is a PNG image, not a Chakra trace", and what to do about it):
//
//   expect_kind(start, name, "a Chakra trace", {FileKind::kChakra});
//   expect_text(start, name, "a vocabulary");
//
// A file of unknown kind (kUnknown) passes, and so does an empty file: the reader names the damage and its
// place. The error is WrongFileKind, which keeps the kind, so that a program can add what it would do with
// such a file.
//
// Kinds of JSON are recognised by the names of members (json_start.h): as certain as these names. A
// compressed file is kGzip or kZstd here; input/content_kind.h looks inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

#include "nadi/base/error.h"

namespace nadi::inline ground {

enum class FileKind : std::uint8_t {
  kUnknown,
  kFolder,
  kEmpty,
  // Text, and what is written as text. kText is valid UTF-8 without control characters.
  kText,
  kUtf16,
  kScript,
  kTrainingLog,
  kHtml,
  kXml,
  kLfsPointer,
  // JSON. kJson is any that has no kind of its own.
  kJson,
  kJsonLines,
  kKineto,
  kPytorchHost,
  kChakraJson,
  kNodeLink,
  kModelConfig,
  kTokenizer,
  kSquad,
  kWeightIndex,
  kCluster,
  kPlan,
  kRocprof,
  // Traces, weights, arrays, datasets.
  kChakra,
  kXplane,
  kSafetensors,
  kTorchSave,
  kPickle,
  kGguf,
  kHdf5,
  kNpy,
  kNpz,
  kMegatronIndex,
  kParquet,
  kArrow,
  kSqlite,
  // Compressed files and archives.
  kGzip,
  kZstd,
  kXz,
  kBzip2,
  kLz4,
  kTar,
  kZip,
  kSevenZip,
  // What is no data at all.
  kPng,
  kJpeg,
  kGif,
  kPdf,
  kElf,
};

// With its article: "a PNG image".
std::string_view name_of(FileKind kind);
// Advice for a file of this kind, whatever the reader expected: "unpack it first: tar -xf FILE". "" when
// there is none.
std::string_view advice_for(FileKind kind);

// Whether the file consists of lines: text, JSON of any kind, scripts, HTML and XML; an empty file, too.
bool is_text(FileKind kind);
bool is_json(FileKind kind);

// Bytes that kind_of_bytes() reads at most. Fewer suffice for all kinds except JSON with a long head.
inline constexpr std::size_t kFileKindBytes = std::size_t{256} << 10;

// `start` are the first bytes of a file, or all of them. Never fails.
FileKind kind_of_bytes(std::string_view start);
// kUnknown where the file cannot be opened, and for pipes and devices, from which nothing is taken.
FileKind kind_of_file(const std::filesystem::path& path);

class WrongFileKind : public Error {
 public:
  // "this is <name of found>, not <wanted>"; of kEmpty: "the file is empty, not <wanted>".
  WrongFileKind(const std::string& file, FileKind found, std::string_view wanted);
  FileKind found() const { return found_; }

 private:
  FileKind found_;
};

// Throw WrongFileKind for a file of another kind than those taken. `wanted` has its article: "a tokenizer".
void expect_kind(std::string_view start, const std::string& file, std::string_view wanted,
                 std::initializer_list<FileKind> taken);
void expect_file_kind(const std::filesystem::path& path, std::string_view wanted,
                      std::initializer_list<FileKind> taken);
// Takes all that is_text() except large JSON that holds no lines: Kineto and PyTorch's host traces.
void expect_text(std::string_view start, const std::string& file, std::string_view wanted);

}  // namespace nadi::inline ground
