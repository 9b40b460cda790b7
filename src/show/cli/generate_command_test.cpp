#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/atomic_folder.h"
#include "nadi/chakra/chakra_reader.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/cpu/cpu_engine.h"
#include "nadi/model/config_file.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution.h"
#include "nadi/run/weights.h"
#include "nadi/text/bpe_trainer.h"
#include "nadi/text/tokenizer.h"
#include "nadi/text/utf8.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A GPT-2 of 64 positions with random weights and a tokenizer of bytes and a few words, as training saves it.
constexpr std::string_view kModel = "saved";
void save_model() {
  const std::vector<std::string> documents{"the river and the sea and the river and the land"};
  const auto tokenizer = train_bpe(text_of(documents), {.vocabulary_size = 270});
  write_text("gpt.json", R"({"model_type": "gpt2", "vocab_size": 280, "n_positions": 64, "n_embd": 16,
                             "n_layer": 2, "n_head": 4, "initializer_range": 0.4})");
  const ModelConfig config = read_model_config("gpt.json");
  const Program program = build_step(config, {.kind = StepKind::kEvaluate});
  CpuEngine engine({.threads = 1});
  engine.load(program);
  engine.bind();
  engine.initialize(3);
  AtomicFolder folder(kModel);
  write_model(folder, engine, config, *tokenizer);
  folder.commit();
}

// "generate saved" with one prompt and further words.
CliRun generate(std::vector<std::string> further) {
  std::vector<std::string> words{"generate", std::string(kModel), "--threads", "1"};
  words.insert(words.end(), further.begin(), further.end());
  return run_words(words);
}

Json generate_json(std::vector<std::string> further) {
  further.push_back("--json");
  const CliRun done = generate(further);
  EXPECT_EQ(done.code, 0) << done.err;
  return Json::parse(done.out);
}

// The model has room for 280 tokens, the tokenizer has at most 270. A hot softmax draws from all of them
// about alike: of 320 tokens some 11 would be none of the tokenizer's.
TEST(GenerateCommand, DrawsOnlyTokensThatTheTokenizerHas) {
  const WorkingFolder folder;
  save_model();
  const std::int64_t tokens = load_tokenizer(kModel)->vocabulary_size();
  ASSERT_LE(tokens, 270);
  for (int seed = 0; seed < 8; ++seed) {
    const Json json = generate_json({"--prompt", "the", "--num-output-tokens", "40", "--temperature", "100",
                                     "--seed", std::to_string(seed)});
    for (const Json& token : json["generations"][0]["output_tokens"])
      EXPECT_LT(token.get<std::int64_t>(), tokens);
  }
}

TEST(GenerateCommand, TakesAPromptAsTokens) {
  const WorkingFolder folder;
  save_model();
  const Json json = generate_json({"--prompt-tokens", "7,270,0", "--num-output-tokens", "3", "--greedy"});
  EXPECT_EQ(json["generations"][0]["input_tokens"], Json::array({7, 270, 0}));
  EXPECT_EQ(json["generations"][0]["output_tokens"].size(), 3u);
  for (const char* wrong : {"7,280", "-1", "7,,8", "7,", "x", "7 8", "99999999999"}) {
    const CliRun done = generate({"--prompt-tokens", wrong});
    EXPECT_EQ(done.code, 2) << wrong;
    EXPECT_THAT(done.err, HasSubstr("token")) << wrong;
  }
  EXPECT_EQ(generate({"--prompt-tokens", "7", "--prompt", "the"}).code, 2);
}

std::vector<std::string> texts_of(const Json& result) {
  std::vector<std::string> texts;
  for (const Json& generation : result["generations"]) texts.push_back(generation["text"]);
  return texts;
}

TEST(GenerateCommand, ContinuesAPrompt) {
  const WorkingFolder folder;
  save_model();
  const std::vector<std::string> words{"--prompt", "the river", "--num-output-tokens", "12"};
  const CliRun done = generate(words);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, EndsWith("\n"));
  EXPECT_EQ(find_invalid_utf8(done.out), std::string::npos);
  EXPECT_THAT(done.err, testing::Not(HasSubstr("random")));
  EXPECT_THAT(done.err,
              testing::ContainsRegex("prefill: [0-9]+ tokens in [0-9.]+ s, [0-9.]+ tokens/s; decode: "
                                     "11 tokens in [0-9.]+ s, [0-9.]+ tokens/s\n"));
  EXPECT_EQ(generate(words).out, done.out);
  const Json json = generate_json(words);
  EXPECT_EQ(json["generations"][0]["prompt"], "the river");
  EXPECT_EQ(json["generations"][0]["output_tokens"].size(), 12u);
  EXPECT_EQ(json["generations"][0]["ended_by"], "length");
  EXPECT_EQ(json["weights"], "saved");
}

TEST(GenerateCommand, SamplesAsItIsTold) {
  const WorkingFolder folder;
  save_model();
  const auto tokens = [](std::vector<std::string> further) {
    further.insert(further.end(), {"--prompt", "and", "--num-output-tokens", "20"});
    return generate_json(further)["generations"][0]["output_tokens"];
  };
  const Json drawn = tokens({}), greedy = tokens({"--greedy"});
  EXPECT_EQ(tokens({"--seed", "42", "--temperature", "1", "--top-k", "0", "--top-p", "1"}), drawn);
  EXPECT_NE(tokens({"--seed", "43"}), drawn);
  EXPECT_NE(tokens({"--temperature", "3"}), drawn);
  EXPECT_NE(greedy, drawn);
  EXPECT_EQ(tokens({"--temperature", "0"}), greedy);
  EXPECT_EQ(tokens({"--top-k", "1"}), greedy);
  EXPECT_EQ(tokens({"--top-p", "0.000001"}), greedy);
}

TEST(GenerateCommand, ContinuesManyPrompts) {
  const WorkingFolder folder;
  save_model();
  write_text("prompts.txt", "the river\nand\nland of the sea and more\n");
  write_text("prompts.jsonl",
             "{\"prompt\": \"the river\"}\n{\"prompt\": \"and\"}\n"
             "{\"prompt\": \"land of the sea and more\"}\n");
  const CliRun done = generate({"--prompts", "prompts.txt", "--num-output-tokens", "9"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("==> the river\n"));
  EXPECT_THAT(done.out, HasSubstr("\n\n==> and\n"));
  EXPECT_EQ(generate({"--prompts", "prompts.jsonl", "--num-output-tokens", "9"}).out, done.out);
  // The last batch of two is not full.
  for (const char* batch_size : {"1", "2", "100"})
    EXPECT_EQ(
        generate({"--prompts", "prompts.txt", "--num-output-tokens", "9", "--batch-size", batch_size}).out,
        done.out);
  const Json json = generate_json({"--prompts", "prompts.txt", "--num-output-tokens", "9"});
  EXPECT_EQ(json["batch_size"], 3);
  // The first token of each is made on the way through the prompt; one that ends a text is not shown.
  std::size_t decoded = 0;
  for (const Json& generation : json["generations"])
    decoded += generation["output_tokens"].size() - (generation["ended_by"] == "end" ? 0 : 1);
  EXPECT_EQ(json["decode_tokens"], decoded);
}

TEST(GenerateCommand, StopsAtAText) {
  const WorkingFolder folder;
  save_model();
  const std::vector<std::string> words{"--prompt", "the sea", "--num-output-tokens", "40"};
  const Json whole = generate_json(words);
  const std::string text = texts_of(whole)[0];
  const std::size_t letter = text.find_first_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 4);
  ASSERT_NE(letter, std::string::npos) << text;
  const std::string stop = text.substr(letter, 1);
  std::vector<std::string> with_stop = words;
  with_stop.insert(with_stop.end(), {"--stop", stop});
  const Json stopped = generate_json(with_stop);
  EXPECT_EQ(texts_of(stopped)[0], text.substr(0, text.find(stop)));
  EXPECT_EQ(stopped["generations"][0]["ended_by"], "stop");
  EXPECT_LT(stopped["generations"][0]["output_tokens"].size(), 40u);
}

// Weights are random, so a text of 30 tokens ends by itself about once in ten times.
TEST(GenerateCommand, EndsWhereTheModelEndsItsText) {
  const WorkingFolder folder;
  save_model();
  const TokenId end = *load_tokenizer("saved")->special_tokens().end;
  write_text("prompts.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\ns\nt\nu\nv\nw\nx\ny\nz\n");
  int ended = 0;
  for (const char* seed : {"1", "2", "3"}) {
    const Json result =
        generate_json({"--prompts", "prompts.txt", "--num-output-tokens", "30", "--seed", seed});
    for (const Json& generation : result["generations"]) {
      const std::vector<TokenId> tokens = generation["output_tokens"];
      EXPECT_THAT(tokens, testing::Not(testing::Contains(end)));
      EXPECT_THAT(std::string(generation["text"]), testing::Not(HasSubstr("<|endoftext|>")));
      EXPECT_EQ(generation["ended_by"], tokens.size() < 30 ? "end" : "length");
      ended += tokens.size() < 30;
    }
  }
  EXPECT_GT(ended, 0);
}

TEST(GenerateCommand, TakesModelsWithoutWeights) {
  const WorkingFolder folder;
  write_text("tiny.json", kTinyConfig);  // 11 tokens, 16 positions
  const CliRun done = run("generate tiny.json --threads 1 --num-input-tokens 4 --num-output-tokens 5");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, testing::MatchesRegex("[0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+\n"));
  EXPECT_THAT(done.err, StartsWith("note: the weights are random"));
  EXPECT_EQ(
      run("generate --model-config tiny.json --threads 1 --num-input-tokens 4 --num-output-tokens 5").out,
      done.out);

  const CliRun three =
      run("generate tiny.json --threads 1 --num-input-tokens 4 --num-output-tokens 5 --batch-size 3");
  EXPECT_THAT(three.out, StartsWith("==> prompt 1 of 4 random tokens\n" + done.out + "\n==> prompt 2 of"));
  const Json json =
      run_json("generate tiny.json --threads 1 --num-input-tokens 4 --num-output-tokens 5 --dtype bf16");
  EXPECT_EQ(json["dtype"], "bf16");
  EXPECT_TRUE(json["generations"][0]["text"].is_null());
  EXPECT_TRUE(json["generations"][0]["prompt"].is_null());
  EXPECT_EQ(json["generations"][0]["input_tokens"].size(), 4u);
}

TEST(GenerateCommand, TriesTheFolderOfTracesFirst) {
  const WorkingFolder folder;
  write_text("tiny.json", kTinyConfig);
  const CliRun refused =
      run("generate tiny.json --num-input-tokens 2 --num-output-tokens 2 --trace tiny.json/x/g");
  EXPECT_EQ(refused.code, 4);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("error: tiny.json/x: cannot write to the folder: Not a directory\n"));
}

TEST(GenerateCommand, TakesTheSmallestGpt3WhereNoModelIsGiven) {
  const CliRun done = run("generate --num-input-tokens 1 --num-output-tokens 1 --json");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("note: no MODEL: using gpt3-125m\n"));
  EXPECT_THAT(done.out, HasSubstr("\"model\": \"gpt3-125m\""));
  EXPECT_EQ(
      run("generate gpt2-tiny --tensor-model-parallel-size 1 --num-input-tokens 1 --num-output-tokens 1")
          .code,
      0);
}

// As the guide's first line: nothing but the command.
TEST(GenerateCommand, MakesAPromptWhereNoneIsGiven) {
  const WorkingFolder folder;
  const CliRun done = run("generate gpt2-tiny --threads 1 --json");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("note: no prompt: 10 random tokens in, 20 tokens out\n"));
  const Json bare = Json::parse(done.out);
  EXPECT_EQ(bare["num_input_tokens"], 10);
  EXPECT_EQ(bare["num_output_tokens"], 20);
  EXPECT_EQ(bare["generations"][0]["output_tokens"].size(), 20u);
  EXPECT_EQ(run_json("generate gpt2-tiny --threads 1 --num-output-tokens 3")["num_output_tokens"], 3);
  write_text("tiny.json", kTinyConfig);
  // 16 positions: 10 in, and 6 are left.
  EXPECT_THAT(run("generate tiny.json --threads 1").err, HasSubstr("10 random tokens in, 6 tokens out\n"));
}

TEST(GenerateCommand, WarmsUpAndRepeats) {
  const std::string line = "generate gpt2-tiny --threads 1 --num-input-tokens 4 --num-output-tokens 3";
  const Json once = run_json(line);
  EXPECT_EQ(once["warmup"], 1);
  ASSERT_EQ(once["repetitions"].size(), 1u);
  EXPECT_EQ(once["repetitions"][0]["decode_seconds"], once["decode_seconds"]);
  const Json more = run_json(line + " --warmup 0 --repeat 3");
  EXPECT_EQ(more["warmup"], 0);
  EXPECT_EQ(more["repetitions"].size(), 3u);
  EXPECT_EQ(more["generations"], once["generations"]);
  EXPECT_THAT(run(line + " --repeat 3").err, HasSubstr("; medians of 3 runs: prefill "));
  EXPECT_EQ(run(line + " --repeat 3").out, run(line).out);
  EXPECT_THAT(run(line + " --repeat 0").err, StartsWith("error: --repeat takes"));
}

TEST(GenerateCommand, ShowsNoControlCharacters) {
  const WorkingFolder folder;
  save_model();
  const CliRun done = generate({"--num-input-tokens", "3", "--temperature", "1000"});
  EXPECT_EQ(done.code, 0) << done.err;
  // So many random bytes have some of these.
  for (const char byte : done.out) EXPECT_TRUE(byte == '\n' || byte == '\t' || byte < 0 || byte >= ' ');
}

TEST(GenerateCommand, TakesTheDefaultNumberOfTokensThatFits) {
  const WorkingFolder folder;
  write_text("tiny.json", kTinyConfig);
  const CliRun done = run("generate tiny.json --threads 1 --num-input-tokens 4");
  EXPECT_THAT(
      done.err,
      StartsWith("note: 12 output tokens: there is room for no more in tiny.json, which has 16 positions"));
  EXPECT_EQ(run_json("generate tiny.json --threads 1 --num-input-tokens 4")["num_output_tokens"], 12);
  EXPECT_EQ(run_json("generate gpt2-tiny --threads 1 --num-input-tokens 4")["num_output_tokens"], 50);
}

TEST(GenerateCommand, WritesTraces) {
  const WorkingFolder folder;
  write_text("tiny.json", kTinyConfig);
  const std::string line =
      "generate tiny.json --threads 1 --num-input-tokens 4 --num-output-tokens 5 --greedy --trace out/g";
  const CliRun done = run(line);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("trace: out/g.0.et, out/g_kineto.json, out/g_stacks.txt\n"));
  for (const char* file : {"out/g_kineto.json", "out/g_stacks.txt"}) EXPECT_TRUE(fs::exists(file));
  // What 'nadi trace' writes without running, but for times.
  EXPECT_EQ(run("trace tiny.json --step generate --num-input-tokens 4 --num-output-tokens 5 --dtype fp32 "
                "--tensors all -o d")
                .code,
            0);
  EXPECT_EQ(compare_with_dry_trace(read_chakra("out/g.0.et"), read_chakra("d.0.et")), std::nullopt);
  EXPECT_EQ(run("show out/g.0.et").code, 0);

  const CliRun again = run(line);
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("out/g_kineto.json: the file exists"));
  EXPECT_EQ(again.out, "") << "asked before the work";
  EXPECT_EQ(run(line + " --force").out, done.out);
}

TEST(GenerateCommand, RefusesBadCommandLines) {
  const WorkingFolder folder;
  save_model();
  struct Case {
    std::vector<std::string> words;
    std::string message;
  };
  const std::string wanted =
      "error: give one of --prompt, --prompts, --prompt-tokens and --num-input-tokens\n";
  for (const auto& [words, message] : std::vector<Case>{
           {{"--prompt", "a", "--num-input-tokens", "3"}, wanted},
           {{"--prompt", "a", "--temperature", "-1"},
            "error: --temperature takes a number of at least 0, not '-1'\n"},
           {{"--prompt", "a", "--top-p", "0"},
            "error: --top-p takes a number above 0 and at most 1, not '0'\n"},
           {{"--prompt", "a", "--top-p", "1.5"},
            "error: --top-p takes a number above 0 and at most 1, not '1.5'\n"},
           {{"--prompt", "a", "--top-k", "-1"}, "error: --top-k takes"},
           {{"--prompt", "a", "--greedy", "--top-k", "5"},
            "error: --top-k and --greedy contradict each other\n"},
           {{"--prompt", "a", "--num-output-tokens", "0"}, "error: --num-output-tokens takes"},
           {{"--prompt", "a", "--force"}, "error: --force needs --trace\n"},
           {{"--prompt", "a", "--trace", "out/"},
            "error: --trace takes the start of file names, not 'out/'\n"},
           {{"--num-input-tokens", "65"},
            "error: 65 input tokens do not fit saved/config.json, which has 64 positions\n"},
       }) {
    const CliRun done = generate(words);
    EXPECT_EQ(done.code, 2) << message;
    EXPECT_THAT(done.err, StartsWith(message));
    EXPECT_EQ(done.out, "");
  }
  EXPECT_THAT(run("generate bert-tiny --num-input-tokens 4").err,
              StartsWith("error: bert-tiny is not a model that generates text\n"));
  EXPECT_THAT(run("generate gpt2-tiny --prompt a").err,
              StartsWith("error: a text prompt needs a tokenizer, and gpt2-tiny has none"));
  EXPECT_THAT(run("generate gpt2-tiny --num-input-tokens 2 --stop a").err,
              StartsWith("error: a text to stop at needs a tokenizer\n"));
}

TEST(GenerateCommand, RefusesBadInput) {
  const WorkingFolder folder;
  save_model();
  const auto error = [](const std::vector<std::string>& words) {
    const CliRun done = generate(words);
    EXPECT_EQ(done.code, 3);
    EXPECT_EQ(done.out, "");
    return done.err;
  };
  write_text("bad.txt", "good\nb\xFF\n");
  write_text("empty.txt", "good\n\n");
  EXPECT_THAT(error({"--prompts", "bad.txt"}), StartsWith("error: bad.txt: byte 6: line 2 is not UTF-8"));
  EXPECT_THAT(error({"--prompts", "empty.txt"}), StartsWith("error: empty.txt:2: the prompt is empty\n"));
  EXPECT_THAT(error({"--prompts", "nowhere.txt"}), StartsWith("error: nowhere.txt: no such file or folder"));
  EXPECT_THAT(error({"--prompt", "b\xFF"}), HasSubstr("not UTF-8"));
  EXPECT_THAT(
      error({"--prompt", "!!!!!!!!!!", "--num-output-tokens", "60"}),
      StartsWith("error: prompt 1 of 10 tokens and an output of 60 do not fit saved/config.json, which "
                 "has 64 positions\n"));
  EXPECT_THAT(error({"--prompt", "a", "--tokenizer", "nowhere"}), HasSubstr("nowhere"));
  fs::remove("saved/model.safetensors");
  EXPECT_THAT(error({"--prompt", "a"}),
              StartsWith("error: saved: the folder holds none of model.safetensors"));
  fs::remove_all("saved");
  EXPECT_EQ(generate({"--prompt", "a"}).code, 2);
}

// A tokenizer that is not the model's.
TEST(GenerateCommand, TakesAnotherTokenizer) {
  const WorkingFolder folder;
  save_model();
  fs::create_directory("tokenizer");
  for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt"})
    if (fs::exists(fs::path(kModel) / name))
      fs::rename(fs::path(kModel) / name, fs::path("tokenizer") / name);
  EXPECT_EQ(generate({"--prompt", "a"}).code, 2);
  const CliRun done = generate({"--prompt", "a", "--tokenizer", "tokenizer", "--num-output-tokens", "3"});
  EXPECT_EQ(done.code, 0) << done.err;
  write_text("small.json", kTinyConfig);
  const CliRun small = run("generate small.json --tokenizer tokenizer --prompt a");
  EXPECT_EQ(small.code, 3);
  EXPECT_THAT(small.err, HasSubstr("but the vocabulary of the model has 11"));
}

}  // namespace
}  // namespace nadi::inline show
