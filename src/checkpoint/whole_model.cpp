#include "nadi/checkpoint/whole_model.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"

namespace nadi {

const WholeTensor* WholeModel::find(std::string_view name) const {
  std::call_once(indexed_, [&] {
    for (const WholeTensor& tensor : tensors()) by_name_.emplace(tensor.name, &tensor);
  });
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const WholeTensor& WholeModel::at(std::string_view name) const {
  if (const WholeTensor* found = find(name)) return *found;
  std::vector<std::string_view> known;
  for (const WholeTensor& tensor : tensors()) known.push_back(tensor.name);
  throw input_error({.file = file()}, format("there is no tensor '{}'", name), did_you_mean(name, known));
}

}  // namespace nadi
