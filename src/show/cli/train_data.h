// What a run of `nadi train` reads: the flags for data and tokenizer as a request, and what the search for
// them says.
#pragma once

#include <string>
#include <vector>

#include "nadi/cli/train_options.h"
#include "nadi/train/resolve_data.h"

namespace nadi::inline show {

class Flags;
struct Console;

// Error (usage) for flags that contradict each other.
TrainDataRequest data_request(const Flags& flags, const ResolvedTrain& run, std::vector<std::string>& notes);

class DataMessages : public DataListener {
 public:
  explicit DataMessages(Console& console) : console_(console) {}
  void searched(const std::string& text) override;
  void note(const std::string& text) override;
  void warning(const std::string& text) override;

 private:
  Console& console_;
};

// Runs over Megatron's datasets that nothing else ends are one pass long. Once the data is known.
void limit_to_one_pass(const Flags& flags, const ResolvedTrainData& data, TrainOptions& options);

}  // namespace nadi::inline show
