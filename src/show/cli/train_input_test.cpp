// What `nadi train` says to files and command lines that are not right, and that it leaves things alone then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/train_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

namespace fs = std::filesystem;

struct Mistake {
  FlagValues flags;
  int code;
  std::string err;  // is in it
  std::string model = "tiny.json";
};

class TrainMistake : public TrainFolder {
 protected:
  static void expect(const std::vector<Mistake>& mistakes) {
    for (const Mistake& mistake : mistakes) {
      const CliRun done = train(mistake.flags, mistake.model);
      SCOPED_TRACE(mistake.err);
      EXPECT_EQ(done.code, mistake.code);
      EXPECT_THAT(done.err, HasSubstr(mistake.err));
      EXPECT_EQ(done.out, "");
    }
  }
};

TEST_F(TrainMistake, InTheCommandLine) {
  expect({
      {{}, 2, "error: MODEL is missing\n", ""},
      {{}, 2, "error: unknown model 'gtp2'", "gtp2"},
      {{{"--tf32", ""}}, 2, "error: --tf32 does not apply to --device cpu\n"},
      {{{"--device", "gpu"}}, 2, "error: --device does not take 'gpu'\n"},
      {{{"--dtype", "fp61"}}, 2, "hint: did you mean 'fp16'? known: fp32, bf16, fp16\n"},
      {{{"--optimizer", "adamv"}}, 2, "hint: did you mean 'adamw'?"},
      {{{"--lr-scheduler", "cosin"}},
       2,
       "hint: did you mean 'cosine'? known: linear, cosine, constant, inverse-square-root, WSD\n"},
      {{{"--max-seq-length", "33"}},
       2,
       "error: a sequence of 33 tokens does not fit tiny.json, which has 32 positions\n"},
      {{{"--batch-size", "0"}}, 2, "error: --batch-size takes "},
      {{{"--learning-rate", "-1"}}, 2, "error: --learning-rate takes a number of at least 0, not '-1'\n"},
      {{{"--dropout", "1"}}, 2, "error: --dropout takes "},
      {{{"--seed", "-1"}}, 2, "error: --seed takes "},
      {{{"--threads", "0"}}, 2, "error: --threads takes "},
      {{{"--save-total-limit", "2"}}, 2, "error: --save-total-limit needs --save-dir\n"},
      {{{"--save-format", "pytorch"}}, 2, "error: --save-format needs --save-dir\n"},
      {{{"--save-format", "torch"}}, 2, "error: --save-format does not take 'torch'\n"},
      {{{"--resume", ""}}, 2, "error: --resume needs --save-dir\n"},
      {{{"--eval-steps", "2"}, {"--skip-eval", ""}},
       2,
       "error: --eval-steps and --skip-eval contradict each other\n"},
      {{{"--eval-data", "squad.json"}, {"--skip-eval", ""}},
       2,
       "error: --eval-data and --skip-eval contradict each other\n"},
      {{{"--trace-active", "2"}}, 2, "error: --trace-active needs --enable-tracing\n"},
      {{{"--trace-name", "x"}}, 2, "error: --trace-name needs --enable-tracing\n"},
  });
}

TEST_F(TrainMistake, InTheData) {
  write_text("cut.json", "{\"data\": [");
  write_text("empty.json", "");
  write_text("none.json", R"({"data": []})");
  write_text("typo.json", R"({"data": [{"paragraphs": [{"contxt": "a", "qas": []}]}]})");
  write_text("latin1.json", "{\"data\": [{\"paragraphs\": [{\"context\": \"caf\xff\", \"qas\": []}]}]}");
  write_text("one.json", squad_for_tests(1));
  expect({
      {{{"--data", "cut.json"}}, 3, "error: cut.json:1:11: not valid JSON"},
      {{{"--data", "empty.json"}}, 3, "error: empty.json: the file is empty, not "},
      {{{"--data", "none.json"}}, 3, "error: none.json:1:10: there is not a single question"},
      {{{"--data", "typo.json"}}, 3, "error: typo.json:1:28: "},
      {{{"--data", "latin1.json"}},
       3,
       "error: latin1.json:1:43: not valid JSON: invalid string: ill-formed UTF-8"},
      {{{"--data", "nope.json"}}, 3, "error: nope.json: no such file or folder\n"},
      {{{"--data", "tok"}}, 3, "error: tok: this is a folder, not "},
      {{{"--eval-data", "cut.json"}}, 3, "error: cut.json:1:11: not valid JSON"},
      // Nothing is left for training when one context is for validation.
      {{{"--data", "one.json"}}, 3, "error: "},
      {{{"--max-seq-length", "1"}}, 2, "error: "},
  });
}

// Taken as they are, and said: only the text is trained on.
TEST_F(TrainMistake, AnswersThatAreElsewhereAreCounted) {
  std::string squad = squad_for_tests(10);
  squad.replace(squad.find("\"answer_start\": 0"), 17, "\"answer_start\": 1");
  write_text("shifted.json", squad);
  const CliRun done = train({{"--data", "shifted.json"}, {"--skip-eval", ""}});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err,
              HasSubstr("warning: shifted.json: 1 answers are not at their answer_start in the context"));
}

TEST_F(TrainMistake, InTheTokenizer) {
  write_text("small.json", R"({"model_type": "gpt2", "vocab_size": 259, "n_positions": 32, "n_embd": 16,
                               "n_layer": 1, "n_head": 2})");
  write_text("cut/tokenizer.json", read_text("tok/tokenizer.json").substr(0, 200));
  expect({
      {{}, 3, "error: the tokenizer has 260 tokens, but the vocabulary of the model has 259\n", "small.json"},
      {{{"--tokenizer", "nope"}}, 3, "error: nope: no such file or folder\n"},
      {{{"--tokenizer", "cut"}}, 3, "error: cut/tokenizer.json:"},
      {{{"--tokenizer", "tiny.json"}},
       3,
       "error: tiny.json: this is a model configuration (config.json), not a tokenizer\n"},
      // BERT hides tokens, and GPT-2's has none to put there.
      {{}, 3, "[MASK]", "bert-tiny"},
  });
}

class DamagedWeights : public TrainMistake {
 protected:
  DamagedWeights() {
    EXPECT_EQ(train({{"--save-dir", "run"}}).code, 0);
    fs::copy("run/checkpoint-4", "start");
    fs::remove("start/nadi_checksums.json");  // it would find every change first
    bytes_ = read_text("start/model.safetensors");
  }

  // What is said to a file of these bytes, in place of the whole one. The run's own checkpoint stays.
  std::string refusal(const std::string& bytes) const {
    write_text("start/model.safetensors", bytes);
    const std::string before = read_text("run/checkpoint-4/model.safetensors");
    const CliRun done = train({{"--init-from", "start"}, {"--save-dir", "run"}, {"--force", ""}});
    EXPECT_EQ(done.code, 3) << done.err;
    EXPECT_EQ(done.out, "");
    EXPECT_EQ(read_text("run/checkpoint-4/model.safetensors"), before);
    EXPECT_EQ(read_text("start/model.safetensors"), bytes);
    const std::size_t error = done.err.find("error: ");
    return error == std::string::npos ? done.err : done.err.substr(error);
  }

  // The file with one part of its header replaced by another of the same length.
  std::string with(const std::string& from, const std::string& to) const {
    EXPECT_EQ(from.size(), to.size());
    std::string changed = bytes_;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  }

  std::string bytes_;
};

TEST_F(DamagedWeights, AreRefusedWithTheirPlace) {
  const std::string file = "error: start/model.safetensors: ";
  EXPECT_THAT(refusal(""), StartsWith(file));
  EXPECT_THAT(refusal(bytes_.substr(0, 7)), StartsWith(file));
  EXPECT_THAT(refusal(bytes_.substr(0, 100)), StartsWith(file + "byte "));
  EXPECT_THAT(refusal(bytes_.substr(0, bytes_.size() - 1)),
              StartsWith(file + "tensor 'transformer.wte.weight': it ends at byte "));
  EXPECT_THAT(refusal(bytes_ + "x"), StartsWith(file));
  // A header that is longer than the file, and one that is longer than anything.
  EXPECT_THAT(refusal(std::string("\xff\xff\xff\x00\x00\x00\x00\x00", 8) + bytes_.substr(8)),
              StartsWith(file));
  EXPECT_THAT(refusal(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + bytes_.substr(8)),
              StartsWith(file + "byte 0: a header of 9223372036854775807 bytes is over the limit"));
  // Lies: another shape than the bytes have, another type, another name. c_attn is 16 x 48.
  EXPECT_THAT(refusal(with("[16,48]", "[16,49]")),
              StartsWith(file + "tensor 'transformer.h.0.attn.c_attn.weight': [16, 49] elements of F32 take "
                                "3136 bytes, not 3072\n"));
  EXPECT_THAT(refusal(with("[16,48]", "[48,16]")),
              StartsWith(file + "tensor 'transformer.h.0.attn.c_attn.weight': the shape is [48, 16] in the "
                                "file and [16, 48] in the model\n"));
  EXPECT_THAT(refusal(with("wpe.weight", "wqe.weight")),
              StartsWith(file + "tensor 'transformer.wpe.weight' is missing\n"));
}

TEST_F(DamagedWeights, FoldersThatAreNoneAreNamed) {
  fs::remove("start/model.safetensors");
  expect({
      {{{"--init-from", "nope"}}, 3, "error: nope/config.json: no such file or folder\n"},
      {{{"--init-from", "tiny.json"}},
       3,
       "error: tiny.json: this is a model configuration (config.json), not a checkpoint folder\n"},
      {{{"--init-from", "start"}},
       3,
       "error: start: the folder holds none of model.safetensors, model.safetensors.index.json, "
       "pytorch_model.bin, "
       "pytorch_model.bin.index.json\n"},
  });
}

// Cut at many places, whatever is cut: a message, never a crash, and the file is named.
TEST_F(DamagedWeights, EveryFileOfACheckpointMayBeCut) {
  const FlagValues resume{{"--save-dir", "run"}, {"--resume", ""}, {"--max-steps", "5"}, {"--tokenizer", ""}};
  for (const char* name : {"config.json", "model.safetensors", "training_state.json",
                           "training_state.safetensors", "tokenizer.json"}) {
    const fs::path path = fs::path("run/checkpoint-4") / name;
    const std::string whole = read_text(path);
    for (const std::size_t sixteenths : {0, 1, 5, 9, 15}) {
      write_text(path, whole.substr(0, whole.size() * sixteenths / 16));
      const CliRun done = train(resume);
      EXPECT_EQ(done.code, 3) << name << " " << sixteenths << "\n" << done.err;
      EXPECT_THAT(done.err, HasSubstr("error: " + path.string()));
      EXPECT_FALSE(fs::exists("run/checkpoint-5"));
    }
    write_text(path, whole);
  }
  EXPECT_EQ(train(resume).code, 0);
}

TEST_F(TrainMistake, InWhereThingsGo) {
  write_text("file", "");
  expect({
      {{{"--save-dir", "file"}}, 4, "error: file: "},
      {{{"--save-dir", "file/run"}}, 4, "error: file/run: cannot read the folder: Not a directory\n"},
      {{{"--tensorboard-dir", "file"}}, 4, "'file'"},
  });
  // The folder of traces is tried before the first step.
  const CliRun done = train({{"--enable-tracing", ""}, {"--trace-output-dir", "file"}});
  EXPECT_EQ(done.code, 4);
  EXPECT_THAT(done.err, HasSubstr("error: file: cannot write to the folder: Not a directory\n"));
}

}  // namespace
}  // namespace nadi::inline show
