#include "nadi/megatron_log/argument_list.h"

#include <algorithm>

#include "nadi/base/format.h"

namespace nadi::inline files {

std::string to_text(ArgumentList list) {
  std::ranges::sort(list.arguments, {}, &ArgumentList::Argument::name);
  std::string text = "------------------------ arguments ------------------------\n";
  for (const ArgumentList::Argument& argument : list.arguments)
    text += format("  {:.<49} {}\n", argument.name + " ", argument.value);
  return text + "-------------------- end of arguments ---------------------";
}

}  // namespace nadi::inline files
