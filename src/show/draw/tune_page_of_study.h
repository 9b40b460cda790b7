// A study as the page of tune_page.h shows it.
#pragma once

#include "nadi/draw/tune_page.h"
#include "nadi/tune/study_view.h"

namespace nadi::inline show {

TunePage page_of_study(const StudyView& view);

}  // namespace nadi::inline show
