// The rules that traces are checked by: the only list of them.
#pragma once

#include <span>

#include "nadi/check/finding.h"

namespace nadi::inline traces {

namespace rule {

// One file.
inline constexpr Rule kUnreadable{"unreadable", Severity::kError, "the file is damaged, or no Chakra trace"};
inline constexpr Rule kDamaged{"damaged", Severity::kWarning, "damaged records were skipped"};
inline constexpr Rule kUnknownFields{"unknown-fields", Severity::kNote,
                                     "fields that the schema does not have"};
inline constexpr Rule kDuplicateId{"duplicate-id", Severity::kError, "two nodes have the same id"};
inline constexpr Rule kMissingDependency{"missing-dependency", Severity::kError,
                                         "a node depends on one that is not in the file"};
inline constexpr Rule kDroppedDependency{
    "dropped-dependency", Severity::kWarning,
    "a node depends on one that is not in the file: readers drop the dependency"};
inline constexpr Rule kSelfDependency{"self-dependency", Severity::kError, "a node depends on itself"};
inline constexpr Rule kCycle{"cycle", Severity::kError, "nodes wait for each other in a circle"};
inline constexpr Rule kInvalidType{"invalid-type", Severity::kWarning, "nodes of type INVALID"};
inline constexpr Rule kNegativeTime{"negative-time", Severity::kError, "a start or a duration below zero"};
inline constexpr Rule kTimeOverflow{"time-overflow", Severity::kError,
                                    "an end that does not fit 63 bits of nanoseconds"};
inline constexpr Rule kStartsTooEarly{"starts-too-early", Severity::kWarning,
                                      "nodes start before what they depend on has ended"};
inline constexpr Rule kOrphan{"orphan", Severity::kNote,
                              "nodes that wait for nothing, and for which nothing waits"};
inline constexpr Rule kNoTimes{"no-times", Severity::kNote, "nodes without start and duration"};
inline constexpr Rule kNoWork{"no-work", Severity::kNote,
                              "computation without a duration and without num_ops"};
inline constexpr Rule kNoTensors{"no-tensors", Severity::kNote,
                                 "no node says which tensors it reads and writes"};
inline constexpr Rule kIncompleteCommunication{
    "incomplete-communication", Severity::kWarning,
    "communication that does not say what, how much, or with whom"};

// Ranks of one run.
inline constexpr Rule kWrongRank{"wrong-rank", Severity::kWarning,
                                 "the metadata and the file's name disagree on the rank"};
inline constexpr Rule kDuplicateRank{"duplicate-rank", Severity::kError, "two files are of the same rank"};
inline constexpr Rule kMissingRank{"missing-rank", Severity::kError, "a rank that others name has no file"};
inline constexpr Rule kGroupsFile{"groups-file", Severity::kError, "the file of process groups is damaged"};
inline constexpr Rule kNoGroupsFile{"no-groups-file", Severity::kNote,
                                    "process groups are named, and no file says who is in them"};
inline constexpr Rule kUnknownGroup{"unknown-group", Severity::kError,
                                    "a process group that the groups' file does not have"};
inline constexpr Rule kNotInGroup{"not-in-group", Severity::kError,
                                  "a rank takes part in a group that it is not in"};
inline constexpr Rule kCollectiveCount{"collective-count", Severity::kError,
                                       "a collective that other ranks of its group do not take part in"};
inline constexpr Rule kCollectiveOrder{"collective-order", Severity::kError,
                                       "ranks of a group call their collectives in another order"};
inline constexpr Rule kCollectiveType{"collective-type", Severity::kError,
                                      "ranks of a group call different collectives"};
inline constexpr Rule kCollectiveSize{"collective-size", Severity::kError,
                                      "ranks of a group call a collective with different sizes"};
inline constexpr Rule kUnevenAllToAll{"uneven-all-to-all", Severity::kNote,
                                      "ranks put different amounts into an all-to-all, which may be meant"};
inline constexpr Rule kWrongSender{"wrong-sender", Severity::kError,
                                   "a rank sends as another, or receives for another"};
inline constexpr Rule kSendWithoutReceive{"send-without-receive", Severity::kError,
                                          "a message that nobody receives"};
inline constexpr Rule kReceiveWithoutSend{"receive-without-send", Severity::kError,
                                          "a message that nobody sends"};
inline constexpr Rule kMessageSize{"message-size", Severity::kError,
                                   "a message is received with another size than sent"};
inline constexpr Rule kDeadlock{"deadlock", Severity::kError, "ranks wait for each other in a circle"};

// Simulators.
inline constexpr Rule kRefused{"refused", Severity::kError,
                               "a simulator that was asked for would not take the trace"};

}  // namespace rule

// All of them, in the order above.
std::span<const Rule* const> rules();

}  // namespace nadi::inline traces
