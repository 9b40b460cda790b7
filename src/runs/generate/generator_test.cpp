// Tiny models on the CPU engine: against running the whole sequence anew for each token on the reference
// engine, alone against in batches, and what ends a text.

#include "nadi/generate/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/cpu/cpu_engine.h"
#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution.h"
#include "nadi/reference/run_reference.h"
#include "nadi/run/weights.h"

namespace nadi::inline runs {
namespace {

using Tokens = std::vector<TokenId>;

const std::vector<Tokens> kPrompts{{5, 17, 3}, {60}, {9, 1, 2, 33, 40}, {7, 7}, {12, 0, 58, 21}};

bool keep_going(std::size_t /*prompt*/, TokenId /*token*/) {
  return true;
}

GeneratorOptions options_for(GeneratorOptions changed) {
  changed.input_tokens = 5;
  changed.output_tokens = 8;
  changed.threads = 1;
  return changed;
}

std::vector<Tokens> tokens_of(const GenerationResult& result) {
  std::vector<Tokens> tokens;
  for (const Generation& generation : result.generations) tokens.push_back(generation.tokens);
  return tokens;
}

std::vector<Tokens> generated(const ModelConfig& config, const GeneratorOptions& options) {
  Generator generator(config, options);
  return tokens_of(generator.generate(kPrompts, keep_going));
}

// What comes after the tokens, without a cache.
TokenId next_by_reference(const ModelConfig& config, const Tokens& tokens, const GeneratorOptions& options,
                          const Doubles& random) {
  const bool sampling = options.temperature > 0;
  const auto length = static_cast<std::int64_t>(tokens.size());
  const Program program = build_step(
      config, {.kind = StepKind::kPrefill, .batch_size = 1, .input_tokens = length, .sampling = sampling});
  ReferenceStore store;
  initialize(program.graphs[0], store, options.seed);
  store.set("input_ids", Doubles(tokens.begin(), tokens.end()));
  store.set("lengths", {static_cast<double>(length)});
  store.set("sampling", {options.temperature, static_cast<double>(options.top_k), options.top_p});
  store.set("random", random);
  run_reference(program.graphs[0], store);
  return static_cast<TokenId>(store.get("next_token").front());
}

class Generate : public testing::TestWithParam<Architecture> {};
INSTANTIATE_TEST_SUITE_P(All, Generate,
                         testing::Values(architecture_named("gpt2"), architecture_named("llama"),
                                         architecture_named("mistral"), architecture_named("qwen2"),
                                         architecture_named("qwen3"), architecture_named("mixtral"),
                                         architecture_named("qwen2_moe"), architecture_named("qwen3_moe")),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

const std::vector<GeneratorOptions> kWays{
    {.temperature = 0}, {.temperature = 1.5}, {.temperature = 0.9, .top_k = 12, .top_p = 0.8}};

TEST_P(Generate, EqualsRunningTheWholeSequenceAnew) {
  const ModelConfig config = generating_model(GetParam());
  for (GeneratorOptions options : kWays) {
    options = options_for(options);
    options.batch_size = 5;
    const std::vector<Tokens> outputs = generated(config, options);
    for (std::size_t prompt = 0; prompt < kPrompts.size(); ++prompt) {
      ASSERT_EQ(outputs[prompt].size(), 8u);
      Tokens sequence = kPrompts[prompt];
      for (std::size_t i = 0; i < 8; ++i) {
        const Doubles random{static_cast<double>(options.seed), static_cast<double>(i),
                             static_cast<double>(prompt)};
        ASSERT_EQ(outputs[prompt][i], next_by_reference(config, sequence, options, random))
            << "prompt " << prompt << ", token " << i << ", temperature " << options.temperature;
        sequence.push_back(outputs[prompt][i]);
      }
    }
  }
}

TEST_P(Generate, DoesNotDependOnTheBatch) {
  const ModelConfig config = generating_model(GetParam());
  for (GeneratorOptions options : kWays) {
    options = options_for(options);
    const std::vector<Tokens> alone = generated(config, options);
    for (const std::int64_t batch_size : {2, 3, 5, 6}) {
      options.batch_size = batch_size;
      EXPECT_EQ(generated(config, options), alone) << "batch of " << batch_size;
    }
    // Nor on the room for longer prompts.
    options.input_tokens = 9;
    EXPECT_EQ(generated(config, options), alone);
  }
}

TEST_P(Generate, RunsInLowPrecision) {
  for (const DType dtype : {DType::kBF16, DType::kF16})
    for (const Tokens& tokens : generated(generating_model(GetParam()), options_for({.dtype = dtype}))) {
      EXPECT_EQ(tokens.size(), 8u);
      EXPECT_THAT(tokens, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(61))));
    }
}

// A folder with a model, as training leaves it.
class SavedModel {
 public:
  explicit SavedModel(const ModelConfig& config) {
    const Program program = build_step(config, {.kind = StepKind::kEvaluate});
    CpuEngine engine({.threads = 1});
    engine.load(program);
    engine.bind();
    engine.initialize(7);
    AtomicFolder folder(path_, {.overwrite = Overwrite::kAllow});
    write_model(folder, engine, config, ByteTokenizer::gpt2());
    folder.commit();
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "model";
};

TEST(Generator, LoadsWeights) {
  const ModelConfig config = generating_model(architecture_named("gpt2"));
  const SavedModel saved(config);
  GeneratorOptions options = options_for({.temperature = 0, .seed = 7});
  const std::vector<Tokens> expected = generated(config, options);  // random weights of that seed
  options.seed = 1;
  EXPECT_NE(generated(config, options), expected);
  options.weights = saved.path();
  EXPECT_EQ(generated(config, options), expected);

  std::filesystem::remove(saved.path() / "model.safetensors");
  try {
    Generator generator(config, options);
    FAIL() << "no weights";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), testing::HasSubstr("holds none of model.safetensors, "));
  }
}

TEST(Generator, DrawsBySeed) {
  const ModelConfig config = generating_model(architecture_named("gpt2"));
  const SavedModel saved(config);
  GeneratorOptions options = options_for({.temperature = 1, .seed = 1, .weights = saved.path()});
  const std::vector<Tokens> first = generated(config, options);
  EXPECT_EQ(generated(config, options), first);
  options.seed = 2;
  EXPECT_NE(generated(config, options), first);
  // With one token there is nothing to draw.
  options.temperature = 0;
  const std::vector<Tokens> likeliest = generated(config, options);
  options.temperature = 1;
  options.top_k = 1;
  EXPECT_EQ(generated(config, options), likeliest);
}

// Two equal prompts in a list are two prompts.
TEST(Generator, DrawsByNumberOfThePrompt) {
  const std::vector<Tokens> twice{kPrompts[0], kPrompts[0]};
  Generator generator(generating_model(architecture_named("gpt2")), options_for({}));
  const std::vector<Tokens> outputs = tokens_of(generator.generate(twice, keep_going));
  EXPECT_NE(outputs[0], outputs[1]);
  EXPECT_EQ(tokens_of(generator.generate(twice, keep_going)), outputs) << "numbers start anew";
}

TEST(Generator, EndsWithTheEndToken) {
  const ModelConfig config = generating_model(architecture_named("gpt2"));
  GeneratorOptions options = options_for({.batch_size = 5, .temperature = 1});
  const std::vector<Tokens> whole = generated(config, options);
  const TokenId end = whole[2][3];
  options.end_token = end;
  Generator generator(config, options);
  std::size_t calls = 0;
  const GenerationResult result = generator.generate(kPrompts, [&](std::size_t, TokenId token) {
    EXPECT_NE(token, end);
    ++calls;
    return true;
  });
  std::size_t expected_calls = 0, ended = 0;
  for (std::size_t i = 0; i < kPrompts.size(); ++i) {
    Tokens expected = whole[i];
    const auto at = std::ranges::find(expected, end);
    const bool ends = at != expected.end();
    expected.erase(at, expected.end());
    EXPECT_EQ(result.generations[i].tokens, expected);
    EXPECT_EQ(result.generations[i].end, ends ? GenerationEnd::kEndToken : GenerationEnd::kLength);
    expected_calls += expected.size();
    ended += ends;
  }
  EXPECT_GE(ended, 1u);
  EXPECT_EQ(calls, expected_calls);
  EXPECT_EQ(result.prefill_tokens, 3 + 1 + 5 + 2 + 4);
  // All tokens but the first of each prompt, and those at which they end.
  EXPECT_EQ(result.decode_tokens, static_cast<std::int64_t>(calls + ended - kPrompts.size()));
}

TEST(Generator, EndsWhenTheCallerSays) {
  const ModelConfig config = generating_model(architecture_named("gpt2"));
  const GeneratorOptions options = options_for({.batch_size = 2});
  const std::vector<Tokens> whole = generated(config, options);
  Generator generator(config, options);
  // Prompt i wants i + 1 tokens.
  std::vector<std::size_t> counts(kPrompts.size());
  const GenerationResult result =
      generator.generate(kPrompts, [&](std::size_t prompt, TokenId) { return ++counts[prompt] <= prompt; });
  for (std::size_t i = 0; i < kPrompts.size(); ++i) {
    EXPECT_EQ(counts[i], i + 1);
    EXPECT_EQ(result.generations[i].tokens, Tokens(whole[i].begin(), whole[i].begin() + counts[i]));
    EXPECT_EQ(result.generations[i].end, GenerationEnd::kCaller);
  }
  EXPECT_EQ(to_string(GenerationEnd::kCaller), "stop");
}

TEST(Generator, MakesOneTokenWithoutDecoding) {
  GeneratorOptions options = options_for({});
  options.output_tokens = 1;
  Generator generator(generating_model(architecture_named("llama")), options);
  const GenerationResult result = generator.generate(kPrompts, keep_going);
  for (const Generation& generation : result.generations) EXPECT_EQ(generation.tokens.size(), 1u);
  EXPECT_EQ(result.decode_tokens, 0);
  EXPECT_EQ(result.decode_seconds, 0);
}

// However the texts end, a recorded run is the whole program.
TEST(Generator, RecordsWhatTheDryTraceSays) {
  const ModelConfig config = generating_model(architecture_named("llama"));
  for (const double temperature : {0.0, 1.0}) {
    GeneratorOptions options = options_for({.batch_size = 3, .temperature = temperature, .record = true});
    Generator generator(config, options);
    generator.generate(kPrompts, [](std::size_t, TokenId) { return false; });
    const Trace dry = trace_step(build_step(config, {.kind = StepKind::kGenerate,
                                                     .batch_size = 3,
                                                     .input_tokens = 5,
                                                     .output_tokens = 8,
                                                     .sampling = temperature > 0}));
    EXPECT_EQ(generator.program().instructions.size(), 8u);  // a prefill and 7 decode steps make 8 tokens
    ASSERT_EQ(generator.recorded().size(), 2u);              // batches of 3 and 2 prompts
    for (const ExecutedStep& step : generator.recorded()) {
      const ExecutionTrace executed = trace_execution(generator.program(), {&step, 1});
      EXPECT_EQ(compare_with_dry_trace(executed.trace, dry), std::nullopt);
    }
    EXPECT_EQ(generator.recorded()[1].step, 1);
  }
}

TEST(Generator, RefusesWhatTheModelCannot) {
  const auto message = [](const ModelConfig& config, const GeneratorOptions& options) -> std::string {
    try {
      Generator generator(config, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.message();
    }
    return "no error";
  };
  EXPECT_THAT(message(generating_model(architecture_named("bert")), options_for({})),
              testing::HasSubstr("not a model that generates"));
  EXPECT_EQ(message(generating_model(architecture_named("gpt2")), {.input_tokens = 20, .output_tokens = 5}),
            "a sequence of 25 tokens does not fit tiny, which has 24 positions");
}

}  // namespace
}  // namespace nadi::inline runs
