// A small data set in SQuAD's format that the program carries in itself, so that training can be tried on any
// machine without a download: the files share/squad-sample/train.json and dev.json.
//
//   const SquadSet train = parse_squad(std::string(sample_squad_train()),
//   std::string(kSampleSquadTrainName));
#pragma once

#include <string_view>

namespace nadi::inline files {

// What messages call them.
inline constexpr std::string_view kSampleSquadTrainName = "squad-sample/train.json";
inline constexpr std::string_view kSampleSquadDevName = "squad-sample/dev.json";

std::string_view sample_squad_train();
std::string_view sample_squad_dev();

}  // namespace nadi::inline files
