// What a user sees of texts that are being generated: one prompt's as it comes, those of several when they
// are done, each below a line with its prompt. Without a tokenizer the tokens' numbers are shown.
//
//   GenerateOutput output(console, {.prompts = prompts, .tokenizer = tokenizer});
//   output.add(prompt, token);              // false: the text to stop at was met
//   output.finish(generations);
//
// What could move the cursor or talk to the terminal is shown as U+FFFD; texts() are exact.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "nadi/generate/prompts.h"
#include "nadi/generate/text_stream.h"

namespace nadi::inline runs {
struct Generation;
}  // namespace nadi::inline runs

namespace nadi::inline show {

struct Console;

struct GenerateOutputOptions {
  const Prompts& prompts;
  const Tokenizer* tokenizer = nullptr;
  std::string stop = {};
  bool silent = false;  // nothing is printed: the caller wants texts() only
};

class GenerateOutput {
 public:
  // Prompts and tokenizer must outlive this.
  GenerateOutput(Console& console, GenerateOutputOptions options);

  bool add(std::size_t prompt, TokenId token);

  // After the last token.
  void finish(std::span<const Generation> generations);

  // By prompt; empty without a tokenizer.
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  void take(std::size_t prompt, const std::string& part);
  std::string heading(std::size_t prompt) const;

  Console& console_;
  GenerateOutputOptions options_;
  bool streaming_;
  std::vector<TextStream> streams_;
  std::vector<std::string> texts_;
  bool first_ = true;
};

}  // namespace nadi::inline show
