// Every command says of a file of the wrong kind what it is, in the same words, and what would take it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

struct Sample {
  const char* name;  // of the file, without its ending
  std::string bytes;
  const char* message;
  const char* hint = "";
};

// As they begin; no reader goes further.
const std::vector<Sample>& samples() {
  static const std::vector<Sample> all{
      {"image", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "this is a PNG image, not "},
      {"photo", "\xff\xd8\xff\xe0\0\x10JFIF"s, "this is a JPEG image, not "},
      {"paper", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "this is a PDF document, not "},
      {"program",
       "\x7f"
       "ELF\2\1\1\0"s,
       "this is a program or library (ELF), not "},
      {"archive", "run.et" + std::string(251, '\0') + "ustar\0"s + "00"s, "this is a tar archive, not ",
       "hint: unpack it first: tar -xf FILE\n"},
      {"folder", "PK\3\4" + std::string(22, '\0') + "\5\0\0\0a.txt"s, "this is a zip archive, not ",
       "hint: unpack it first: unzip FILE\n"},
      {"weights", "PK\3\4" + std::string(22, '\0') + "\x10\0\0\0archive/data.pkl"s,
       "this is a file of torch.save, not ", "hint: load and save the model with transformers"},
      {"packed",
       "\xfd"
       "7zXZ\0\0"s,
       "this is an xz file, not ", "hint: unpack it first: unxz FILE\n"},
      {"study", "SQLite format 3\0\0"s, "this is an SQLite database, not "},
      {"tensors", "\x89HDF\r\n\x1a\n\0"s, "this is an HDF5 file, not "},
      {"llama", "GGUF\3\0\0\0"s, "this is a GGUF file, not "},
      {"pointer", "version https://git-lfs.github.com/spec/v1\n", "this is a pointer of Git LFS, not ",
       "hint: get the file itself with 'git lfs pull'\n"},
  };
  return all;
}

struct Reader {
  std::string command;  // {} stands for the file
  std::string ending;
  bool says_on_stdout = false;
};

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all{
      {"show {}", ".json"},
      {"show {}", ".et"},
      {"show {}", ""},
      {"check {}", ".et", true},
      {"analyze {}", ".et"},
      {"convert {} -o out.0.et", ".json"},
      {"convert --device {} -o out.0.et", ".json"},
      {"trace {} -o out", ".json"},
      {"train {} --skip-eval", ".json"},
      {"train tiny.json --data {}", ".json"},
      {"train tiny.json --tokenizer {}", ".json"},
      {"train tiny.json --tokenizer tok --max-seq-length 8 --init-from {}", ""},
      {"train tiny.json --tokenizer tok --data-path {}", ""},
      {"generate {}", ".json"},
      {"generate tiny.json --tokenizer {} --prompt a", ".json"},
      {"data tokenizer --input {} -o out", ".txt"},
      {"data tokenizer --input {} -o out", ".jsonl"},
      {"data preprocess --input {} --tokenizer tok --output-prefix out", ".jsonl"},
      {"data inspect {}", ""},
      {"data inspect {}", ".idx"},
  };
  return all;
}

class WrongFile : public testing::Test {
 protected:
  WrongFile() {
    // With room for the tokenizer, so that nothing else is wrong.
    std::string config(kTinyConfig);
    config.replace(config.find("11"), 2, "512");
    write_text("tiny.json", config);
    write_text("lines.txt", "to be or not to be\nthat is the question\n");
    EXPECT_EQ(run("data tokenizer --input lines.txt -o tok --vocab-size 300").code, 0);
  }

  static void expect(const Reader& reader, const Sample& sample) {
    const std::string file = sample.name + reader.ending;
    write_text(file, sample.bytes);
    if (reader.ending == ".idx") write_text(sample.name + ".bin"s, "");
    std::string command = reader.command;
    command.replace(command.find("{}"), 2, file);
    SCOPED_TRACE(command);
    const CliRun done = run(command);
    EXPECT_EQ(done.code, 3);
    const std::string& said = reader.says_on_stdout ? done.out : done.err;
    EXPECT_THAT(said, HasSubstr(file));
    EXPECT_THAT(said, HasSubstr(sample.message));
    EXPECT_THAT(said,
                HasSubstr(reader.says_on_stdout ? std::string(sample.hint).substr(6 * (sample.hint[0] != 0))
                                                : sample.hint));
  }

  const WorkingFolder folder_;
};

TEST_F(WrongFile, IsNamedByEveryReader) {
  for (const Reader& reader : readers())
    for (const Sample& sample : samples()) expect(reader, sample);
}

// Files that another command takes.
TEST_F(WrongFile, OfOursIsPassedOnToTheCommandThatTakesIt) {
  write_text("kineto.json", R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "a"}]})");
  write_text("host.json", R"({"schema": "1.1.1-chakra.0.0.4", "pid": 3, "nodes": []})");
  write_text("lines.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n");
  write_text("d.idx", "MMIDIDX\0\0\1\0\0\0"s);
  ASSERT_EQ(run("trace tiny.json --step evaluate -o run").code, 0);
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"show kineto.json", "error: kineto.json: this is a Kineto trace, not a model configuration\n",
       "hint: use 'nadi analyze FILE', or make a Chakra trace of it with 'nadi convert FILE -o OUT.et'\n"},
      {"train tiny.json --data kineto.json",
       "error: kineto.json: this is a Kineto trace, not a SQuAD dataset\n", "hint: use 'nadi analyze FILE'"},
      {"show host.json", "this is an execution trace of PyTorch's host, not a model configuration\n",
       "'nadi convert --host FILE --device PROFILE -o OUT.et'"},
      {"analyze tiny.json", "this is a model configuration (config.json), not a Chakra trace\n",
       "hint: use 'nadi show FILE'\n"},
      {"train run.0.et", "this is a Chakra trace, not ",
       "hint: use 'nadi show FILE', or use 'nadi analyze FILE'\n"},
      {"train tiny.json --data lines.jsonl", "this is a file of JSON lines, not a SQuAD dataset\n",
       "'nadi data preprocess --input FILE'"},
      {"train tiny.json --data d.idx", "this is the index of a Megatron dataset, not a SQuAD dataset\n",
       "hint: --data-path takes it, without its ending\n"},
      {"train tiny.json --tokenizer tiny.json",
       "this is a model configuration (config.json), not a tokenizer\n", "hint: use 'nadi show FILE'\n"},
      {"show tok/tokenizer.json", "this is a tokenizer (tokenizer.json), not a model configuration\n",
       "hint: --tokenizer takes it\n"},
  };
  for (const auto& [command, message, hint] : cases) {
    SCOPED_TRACE(command);
    const CliRun done = run(command);
    EXPECT_EQ(done.code, 3);
    EXPECT_THAT(done.err, HasSubstr(message));
    EXPECT_THAT(done.err, HasSubstr(hint));
  }
}

}  // namespace
}  // namespace nadi::inline show
