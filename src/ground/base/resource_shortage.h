// What a program runs out of besides the disk: threads, processes, memory, descriptors. Each shortage is
// Error (environment) that says what was wanted and which limits are in effect.
//
//   if (fork() < 0) throw resource_shortage(errno, "start a process").value_or(other_error());
//   start_thread(threads, [&] { work(); });       // std::thread, with such an error
//   expect_threads(64);                           // before a library takes them, which would end the program
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/units.h"

namespace nadi::inline ground {

// "cannot start a thread: Resource temporarily unavailable; limits in effect: 64 processes and threads of
// this user (ulimit -u), 2.0 GiB of address space (ulimit -v)". Nothing for an errno that is no shortage:
// EAGAIN, ENOMEM, EMFILE and ENFILE are.
std::optional<Error> resource_shortage(int error_number, std::string_view wanted, Place place = {});

// What std::bad_alloc means.
Error memory_shortage();

// Adds a thread. Error (environment) where the system gives none: then the threads before it have to be ended
// as always, so use it where the list's owner joins them.
void start_thread(std::vector<std::thread>& threads, std::function<void()> work);

// Whether so much memory can be had besides what the program has: asks for it, and gives it back untouched. For
// libraries that end the program where they get none. Error (environment).
void expect_memory(Bytes size);

// Whether so many threads can be started besides those that there are: starts them, and ends them at once.
// For libraries with threads of their own, OpenMP for one, which end the program where they get none. Some 20
// us for each.
void expect_threads(int count);

}  // namespace nadi::inline ground
