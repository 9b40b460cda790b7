// Reads a small JSON file of a known kind (file_kind.h): json.h for readers that know what they want.
//
//   const JsonDocument document = read_json_of(path, "a tokenizer", {FileKind::kTokenizer});
//
// A file that is known to be of another kind is WrongFileKind: an image, an archive, and JSON of other kinds,
// too. JSON and text of no known kind pass; the parser, or the reader of the keys, names the place of
// the mistake.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

#include "nadi/base/file_kind.h"
#include "nadi/base/json.h"

namespace nadi::inline ground {

// `wanted` has its article.
JsonDocument read_json_of(const std::filesystem::path& path, std::string_view wanted,
                          std::initializer_list<FileKind> taken);

}  // namespace nadi::inline ground
