// Real vocabularies and datasets of other programs, where they are.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "nadi/base/temporary_folder.h"
#include "nadi/testing/source_folder.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

// The files of a real vocabulary under the names that load_tokenizer() looks for; nullptr without them.
inline std::unique_ptr<Tokenizer> load_renamed_for_tests(
    std::initializer_list<std::pair<const char*, const char*>> files) {
  namespace fs = std::filesystem;
  const fs::path real = shared_data() / "vocab";
  const TemporaryFolder folder;
  for (const auto& [name, wanted] : files) {
    if (!fs::exists(real / name)) return nullptr;
    fs::create_symlink(fs::absolute(real / name), folder / wanted);
  }
  return load_tokenizer(folder.path());
}

inline std::unique_ptr<Tokenizer> real_gpt2_for_tests() {
  return load_renamed_for_tests({{"gpt2-vocab.json", "vocab.json"}, {"gpt2-merges.txt", "merges.txt"}});
}

inline std::unique_ptr<Tokenizer> real_bert_for_tests() {
  return load_renamed_for_tests({{"bert-base-uncased-vocab.txt", "vocab.txt"}});
}

// The prefix of a dataset that Megatron wrote; "" without it.
inline std::string real_dataset_for_tests(const std::string& name) {
  const std::string prefix = shared_data().string() + "/megatron/" + name;
  return std::filesystem::exists(prefix + ".idx") ? prefix : "";
}

}  // namespace nadi::inline files
