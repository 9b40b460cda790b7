// Values of the command line in place of those of a job file: --set requeue.max_restarts=3.
#pragma once

#include <span>
#include <string>

namespace nadi::inline jobs {

// `json` is the text of a job, without comments; the result is one, too. A setting is a path of keys with
// dots between them ("groups.1.nodes": the second group), '=' and a value, which is read as the schema says:
// a number for a number, any text for a text, JSON for lists ('["a", "b"]'). Error (usage) for a key that the
// schema does not have, with the nearest one, and for a value of another type. "run.train.max-steps=8" sets a
// flag among the words of 'train' or 'megatron', which is added where it is not there.
std::string with_overrides(const std::string& json, std::span<const std::string> settings);

}  // namespace nadi::inline jobs
