#include "nadi/report/generate_output.h"

#include <ostream>

#include "nadi/base/format.h"
#include "nadi/generate/generator.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/printable.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The text is UTF-8. Of its control characters, new lines and tabs stay.
std::string for_terminal(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool second_set =
        byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0;  // U+0080 to U+009F
    if (second_set) ++i;
    if (second_set || byte == 0x7F || (byte < ' ' && byte != '\n' && byte != '\t'))
      shown += kReplacement;
    else
      shown += text[i];
  }
  return shown;
}

std::string numbers(std::span<const TokenId> tokens) {
  std::string text;
  for (const TokenId token : tokens) text += format("{}{}", text.empty() ? "" : " ", token);
  return text;
}

}  // namespace

GenerateOutput::GenerateOutput(Console& console, GenerateOutputOptions options)
    : console_(console),
      options_(std::move(options)),
      streaming_(options_.prompts.ids.size() == 1 && !options_.silent) {
  if (options_.tokenizer == nullptr) return;
  for (const std::vector<TokenId>& prompt : options_.prompts.ids)
    streams_.emplace_back(*options_.tokenizer,
                          TextStreamOptions{.stop = options_.stop, .before = prompt.back()});
  texts_.resize(streams_.size());
}

bool GenerateOutput::add(std::size_t prompt, TokenId token) {
  if (options_.tokenizer != nullptr) {
    take(prompt, streams_[prompt].add(token));
    return !streams_[prompt].stopped();
  }
  if (streaming_) console_.out << (first_ ? "" : " ") << token << std::flush;
  first_ = false;
  return true;
}

void GenerateOutput::take(std::size_t prompt, const std::string& part) {
  texts_[prompt] += part;
  if (streaming_ && !part.empty()) console_.out << for_terminal(part) << std::flush;
}

void GenerateOutput::finish(std::span<const Generation> generations) {
  for (std::size_t i = 0; i < streams_.size(); ++i) take(i, streams_[i].finish());
  if (streaming_) {
    console_.out << "\n";
  } else if (!options_.silent) {
    for (std::size_t i = 0; i < generations.size(); ++i)
      console_.out << (i > 0 ? "\n" : "") << console_.heading("==> " + heading(i)) << "\n"
                   << (texts_.empty() ? numbers(generations[i].tokens) : for_terminal(texts_[i])) << "\n";
  }
}

std::string GenerateOutput::heading(std::size_t prompt) const {
  if (!options_.prompts.texts.empty()) return printable(options_.prompts.texts[prompt]);
  return format("prompt {} of {} random tokens", prompt + 1, options_.prompts.ids[prompt].size());
}

}  // namespace nadi::inline show
