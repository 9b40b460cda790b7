// For tests: runs of training that take milliseconds, and all that they told.
//
//   const SmallRun run(architecture_named("gpt2"), {.samples = 7});
//   const Told told = run.train(options, /*stop_after=*/3);
//
// A byte is a token, so lengths can be counted by hand. The models have two layers of width 16.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/random.h"
#include "nadi/comm/single_process.h"
#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/data/sample_batches.h"
#include "nadi/data/squad.h"
#include "nadi/devices/device_for_tests.h"
#include "nadi/devices/make_engine.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/train/trainer.h"

namespace nadi::inline runs {

// Keeps what a run tells.
struct Told : TrainListener {
  std::vector<std::string> notes = {};
  std::int64_t first_step = -1, total_steps = -1;
  std::vector<StepReport> steps = {};
  std::vector<EvaluationReport> evaluations = {};
  std::vector<EpochReport> epochs = {};
  std::vector<std::filesystem::path> saves = {};
  std::vector<RunTraceFiles> traces = {};
  TrainResult result = {};

  void note(const std::string& text) override { notes.push_back(text); }
  void started(std::int64_t first, std::int64_t total) override { first_step = first, total_steps = total; }
  void step(const StepReport& report) override { steps.push_back(report); }
  void evaluating(std::int64_t, std::int64_t) override {}
  void evaluated(const EvaluationReport& report) override { evaluations.push_back(report); }
  void epoch(const EpochReport& report) override { epochs.push_back(report); }
  void saved(const std::filesystem::path& path) override { saves.push_back(path); }
  void traced(const RunTraceFiles& files) override { traces.push_back(files); }

  std::vector<double> losses() const {
    std::vector<double> values;
    for (const StepReport& report : steps) values.push_back(report.loss);
    return values;
  }
};

// A question of one letter, its own for the first 64, about a context of 3 to 16 random letters: GPT-2 reads
// a sample of 6 to 19 tokens (letter, space, context, end), BERT one of 8 to 21.
inline SquadSet letters_for_tests(std::int64_t questions, std::uint64_t seed) {
  constexpr std::uint32_t kShortest = 3, kLengths = 14, kLetters = 8;
  SquadSet set;
  for (std::int64_t i = 0; i < questions; ++i) {
    const RandomKey key{.seed = seed, .step = static_cast<std::uint64_t>(i), .site = site_of("letters")};
    std::string context(kShortest + random_word(key, 0) % kLengths, ' ');
    for (std::size_t at = 0; at < context.size(); ++at)
      context[at] = static_cast<char>('a' + random_word(key, at + 1) % kLetters);
    set.questions.push_back({.id = std::to_string(i),
                             .text = std::string(1, static_cast<char>('0' + i % 64)),
                             .paragraph = set.paragraphs.size()});
    set.paragraphs.push_back({.title = "", .context = context});
  }
  return set;
}

struct SmallRunOptions {
  std::int64_t samples = 7;
  std::int64_t validation_samples = 3;
  std::int64_t seq_length = 24;
};

class SmallRun {
 public:
  explicit SmallRun(Architecture architecture = architecture_named("gpt2"),
                    const SmallRunOptions& options = {})
      : SmallRun(architecture, letters_for_tests(options.samples, 1),
                 letters_for_tests(options.validation_samples, 2), options.seq_length) {}

  SmallRun(Architecture architecture, const SquadSet& train, const SquadSet& validation,
           std::int64_t seq_length)
      : architecture_(architecture),
        tokenizer_(architecture == architecture_named("bert") ? ByteTokenizer::bert()
                                                              : ByteTokenizer::gpt2()),
        seq_length_(seq_length),
        train_(samples(train)),
        validation_(samples(validation)) {}

  const SampleSet& train_samples() const { return train_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

  // Two epochs in batches of 2, on one thread; nothing is saved.
  TrainOptions options() const {
    TrainOptions options{.config = byte_model(architecture_),
                         .batch_size = 2,
                         .seq_length = seq_length_,
                         .epochs = 2,
                         .seed = 5,
                         .threads = 1};
    options.device = device_for_tests();
    options.optimizer.learning_rate.peak = 3e-3;
    return options;
  }

  // `stop_after`: after how many steps of this part of the run somebody asks to stop; 0 means never.
  Told train(const TrainOptions& options, std::int64_t stop_after = 0) const {
    Told told;
    SampleBatches train(train_, tokenizer_,
                        {.batch_size = options.batch_size * options.accumulation, .seed = options.seed});
    SampleBatches validation(validation_, tokenizer_,
                             {.batch_size = options.batch_size, .seed = options.seed, .shuffle = false});
    SingleProcess world;
    // Asked after every step, which may be told of later: a GPU is still at it.
    std::int64_t asked = 0;
    told.result = nadi::train(options, {train, &validation, &tokenizer_}, world, told, [&] {
      ++asked;
      return stop_after > 0 && asked >= stop_after;
    });
    return told;
  }

 private:
  SampleSet samples(const SquadSet& set) const {
    const bool bert = architecture_ == architecture_named("bert");
    return make_samples(
        set, tokenizer_,
        {.objective = bert ? Objective::kMaskedToken : Objective::kNextToken, .seq_length = seq_length_});
  }

  Architecture architecture_;
  ByteTokenizer tokenizer_;
  std::int64_t seq_length_;
  SampleSet train_, validation_;
};

}  // namespace nadi::inline runs
