// Writes the tokens of each line of a text as JSON, for check_tokenizer.py.
//
//   dump_tokens FOLDER TEXTFILE > tokens.json          [[464, 3290], [], ...]
//   dump_tokens FOLDER TEXTFILE COPY > tokens.json     and the tokenizer's files into the folder COPY

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/text/tokenizer.h"

namespace {

int dump(int count, char** arguments) {
  if (count < 3 || count > 4) throw nadi::usage_error("usage: dump_tokens FOLDER TEXTFILE [COPY]");
  const auto tokenizer = nadi::load_tokenizer(arguments[1]);
  std::ifstream text(arguments[2]);
  if (!text) throw nadi::input_error({.file = arguments[2]}, "cannot read");
  std::string line;
  std::string separator = "[";
  while (std::getline(text, line)) {
    std::cout << separator << "[";
    const std::vector<nadi::TokenId> ids = tokenizer->encode(line);
    for (std::size_t i = 0; i < ids.size(); ++i) std::cout << (i == 0 ? "" : ", ") << ids[i];
    std::cout << "]";
    separator = ",\n";
  }
  std::cout << (separator == "[" ? "[]\n" : "]\n");
  if (count < 4) return 0;
  for (const auto& [name, contents] : tokenizer->files())
    nadi::write_atomically(std::filesystem::path(arguments[3]) / name, contents, nadi::Overwrite::kAllow);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return dump(count, arguments);
  } catch (const nadi::Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return nadi::exit_code(error.kind());
  }
}
