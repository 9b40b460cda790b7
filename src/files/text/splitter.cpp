#include "nadi/text/splitter.h"

#include <algorithm>
#include <array>

#include "nadi/text/gpt2_splitter.h"
#include "nadi/text/llama3_splitter.h"

namespace nadi::inline files {
namespace {

constexpr std::array<std::string_view, 2> kGpt2Patterns{
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
};
constexpr std::array<std::string_view, 1> kLlama3Patterns{
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};
constexpr std::array<std::string_view, 1> kQwen2Patterns{
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};

constexpr Splitter kGpt2{"gpt2", kGpt2Patterns, &gpt2_piece_end};
constexpr Splitter kLlama3{"llama3", kLlama3Patterns, &llama3_piece_end};
constexpr Splitter kQwen2{"qwen2", kQwen2Patterns, &qwen2_piece_end};
constexpr std::array<const Splitter*, 3> kSplitters{&kGpt2, &kLlama3, &kQwen2};

}  // namespace

const Splitter& gpt2_splitter() {
  return kGpt2;
}

const Splitter& llama3_splitter() {
  return kLlama3;
}

const Splitter& qwen2_splitter() {
  return kQwen2;
}

const Splitter* find_splitter(std::string_view pattern) {
  for (const Splitter* splitter : kSplitters) {
    if (std::ranges::find(splitter->patterns, pattern) != splitter->patterns.end()) return splitter;
  }
  return nullptr;
}

}  // namespace nadi::inline files
