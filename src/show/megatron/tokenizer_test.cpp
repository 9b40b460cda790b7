#include "nadi/megatron/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/terminal/wrap.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"
#include "nadi/text/bpe_trainer.h"
#include "nadi/text/text_source.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline show {
namespace {

using testing::ElementsAre;

// A folder with GPT-2's files under the names they have in Megatron's scripts, BERT's, and hf/tokenizer.json.
class MegatronTokenizerTest : public testing::Test {
 protected:
  MegatronTokenizerTest() {
    const std::vector<std::string> documents{"aa ab aa ab"};
    const std::unique_ptr<Tokenizer> trained = train_bpe(text_of(documents), {.vocabulary_size = 258});
    for (const auto& [name, text] : trained->files()) {
      if (name == "vocab.json") write_text("gpt2-vocab.json", text);
      if (name == "merges.txt") write_text("gpt2-merges.txt", text);
      write_text("hf/" + name, text);
    }
    write_text("bert-vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nab\nAB\n");
  }

  static MegatronTokenizer load(const std::string& words) {
    Flags flags;
    for (FlagSpec& spec : megatron_tokenizer_flags()) flags.add(std::move(spec));
    flags.parse(words_of(words));
    return load_megatron_tokenizer(flags);
  }
  static std::string refusal(const std::string& words) {
    try {
      load(words);
    } catch (const Error& error) {
      return std::string(error.what()) + (error.hint().empty() ? "" : " | " + error.hint());
    }
    return "no error";
  }

  const WorkingFolder folder_;
};

TEST_F(MegatronTokenizerTest, EachTypeReadsItsFiles) {
  EXPECT_EQ(load("").tokenizer, nullptr);
  const std::string gpt2 = "--vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt";
  for (const std::string type : {"", "--tokenizer-type GPT2BPETokenizer "}) {
    const MegatronTokenizer loaded = load(type + gpt2);
    EXPECT_EQ(loaded.tokenizer->vocabulary_size(), 258);
    EXPECT_EQ(loaded.name, "gpt2-vocab.json");
  }
  for (const std::string type :
       {"", "--tokenizer-type HuggingFaceTokenizer ", "--tokenizer-type Llama3Tokenizer "}) {
    EXPECT_EQ(load(type + "--tokenizer-model hf").tokenizer->vocabulary_size(), 258);
    EXPECT_EQ(load(type + "--tokenizer-model hf/tokenizer.json").tokenizer->vocabulary_size(), 258);
  }
  EXPECT_THAT(load("--vocab-file bert-vocab.txt").tokenizer->encode("AB"), ElementsAre(5));
  EXPECT_THAT(
      load("--tokenizer-type BertWordPieceLowerCase --vocab-file bert-vocab.txt").tokenizer->encode("AB"),
      ElementsAre(5));
  EXPECT_THAT(load("--tokenizer-type BertWordPieceCase --vocab-file bert-vocab.txt").tokenizer->encode("AB"),
              ElementsAre(6));
  const MegatronTokenizer none = load("--tokenizer-type NullTokenizer");
  EXPECT_EQ(none.tokenizer, nullptr);
  EXPECT_TRUE(none.none_wanted);
}

TEST_F(MegatronTokenizerTest, WhatIsMissingOrTooMuchIsSaid) {
  EXPECT_EQ(refusal("--tokenizer-type GPT2BPETokenizer --vocab-file gpt2-vocab.json"),
            "GPT2BPETokenizer needs --merge-file");
  EXPECT_EQ(refusal("--tokenizer-type HuggingFaceTokenizer"), "HuggingFaceTokenizer needs --tokenizer-model");
  EXPECT_EQ(refusal("--tokenizer-model meta-llama/Llama-3.1-8B"),
            "meta-llama/Llama-3.1-8B: no such file or folder | --tokenizer-model takes a folder with "
            "tokenizer.json, "
            "or that file; nothing is downloaded");
  EXPECT_EQ(
      refusal("--tokenizer-type Llama4Tokenizer --tokenizer-model hf"),
      "--tokenizer-type does not take 'Llama4Tokenizer' | did you mean 'Llama3Tokenizer'? known: "
      "GPT2BPETokenizer, HuggingFaceTokenizer, Llama3Tokenizer, BertWordPieceLowerCase, BertWordPieceCase, "
      "Llama2Tokenizer, SentencePieceTokenizer, GPTSentencePieceTokenizer, NullTokenizer");
  EXPECT_THAT(load("--tokenizer-type HuggingFaceTokenizer --tokenizer-model hf --vocab-file x").notes,
              ElementsAre("--vocab-file has no effect: HuggingFaceTokenizer does not read it"));
}

}  // namespace
}  // namespace nadi::inline show
