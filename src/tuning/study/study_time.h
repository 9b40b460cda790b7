// Times in Optuna's files. For sources of this room.
//
// A database has times without a zone: local ones of the machine that wrote them if Optuna 4 or older made
// the file, UTC if Optuna 5 did. Which of both is not written anywhere else than in the version of Optuna
// that made the file, and a file made by 4 and continued by 5 has both: each version then reads the other's
// times shifted by the offset of its zone. We keep to the kind of the version that made the file, and make
// files with UTC.
//
// A journal has local times without a zone (Optuna 4) or UTC with +00:00 (5). Version 5 reads both; version 4
// reads the latter into times that it cannot compare with its own. So we write local times, which both read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nadi/study/trial.h"

namespace nadi::inline tuning {

enum class TimeZoneKind { kLocal, kUtc };

// "2026-11-16 19:55:11.878036" or with T in the middle, with or without a fraction, with or without an offset
// (+01:00, Z). Without an offset, the time is of `zone`. std::nullopt for other texts, and for years that are
// not 1 to 9999.
std::optional<StudyTime> parse_study_time(std::string_view text, TimeZoneKind zone);

// With six digits of a fraction; `separator` is ' ' in databases and 'T' in journals.
std::string format_study_time(StudyTime time, TimeZoneKind zone, char separator);

// By this machine's clock.
StudyTime study_time_now();

}  // namespace nadi::inline tuning
