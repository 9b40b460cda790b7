// --html of commands whose answer is also a page of pictures.
//
//   add_html_flag(flags, "output", "the same as a page of pictures: memory, layers");
//   const auto page = html_path(flags);              // refuses, before anything is computed, what cannot be written
//   if (page) write_answer_page(step_page(...), *page, html_overwrite(flags));
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/base/atomic_file.h"

namespace nadi::inline show {

class Flags;

void add_html_flag(Flags& flags, std::string_view group, std::string help);

// Error (usage): a name that does not end in .html, or a file that exists, without --force.
std::optional<std::filesystem::path> html_path(const Flags& flags);
Overwrite html_overwrite(const Flags& flags);

}  // namespace nadi::inline show
