// What a process settles before anything else of the program runs, in one place:
//
//   - Interrupts are blocked before the constructors of shared libraries run: OpenBLAS for one starts threads in there, and
//     signals must reach the thread that waits for them alone (terminal/signal_thread.h). This acts by being linked in.
//   - OpenMP's threads wait without burning the cores of others. How long they spin is read when that library is loaded, so
//     commands that compute start the program once more, with the setting in the environment.
//   - The heap grows in steps of megabytes: pages that come one by one cost as much as the arithmetic on them.
//   - Writing into a closed pipe or beyond a file's limit is an error of the write, not the end of the process.
#pragma once

namespace nadi::inline show {

// The first call of main(). May replace the process by itself, and comes back then in the new one.
void start_process(int argc, char** argv);

}  // namespace nadi::inline show
