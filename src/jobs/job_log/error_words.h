// The words by which a line of a log is known as an error: one table, for the logs of jobs and for the trials
// of a tuner. All in lower case; a line is looked at in lower case, too.
//
//   for (const ErrorWords& words : kErrorWords) if (lower.find(words.text) != npos) return words.sort;
//
// They are what programs print that are run here: the kernel and shells, glibc, Python, PyTorch and its
// launcher, CUDA and its libraries, NCCL, Open MPI and MPICH, Slurm, Go. What is an error by its form
// ("RuntimeError: ...", "srun: error: ...") needs no entry; warnings are sorted out before (error_group.cpp).
#pragma once

#include <array>
#include <string_view>

#include "nadi/job_log/error_group.h"

namespace nadi::inline jobs {

struct ErrorWords {
  std::string_view text;
  ErrorSort sort;
};

inline constexpr std::array kErrorWords{
    // Memory of the host.
    ErrorWords{"out of memory", ErrorSort::kMemory},  // also of the GPU, by CUDA, HIP and XLA; and srun's
    ErrorWords{"oom-kill", ErrorSort::kMemory},
    ErrorWords{"oom_kill", ErrorSort::kMemory},
    ErrorWords{"oom killed", ErrorSort::kMemory},
    ErrorWords{"std::bad_alloc", ErrorSort::kMemory},
    ErrorWords{"cannot allocate memory", ErrorSort::kMemory},
    ErrorWords{"can't allocate memory", ErrorSort::kMemory},  // PyTorch's allocator of the host
    ErrorWords{"not enough memory", ErrorSort::kMemory},
    ErrorWords{"memoryerror", ErrorSort::kMemory},
    // Memory of the GPU.
    ErrorWords{"outofmemory", ErrorSort::kMemory},  // torch.OutOfMemoryError, torch.cuda.OutOfMemoryError
    ErrorWords{"cublas_status_alloc_failed", ErrorSort::kMemory},
    ErrorWords{"cudnn_status_alloc_failed", ErrorSort::kMemory},
    ErrorWords{"cudaerrormemoryallocation", ErrorSort::kMemory},
    ErrorWords{"failed to cuda calloc", ErrorSort::kMemory},  // NCCL
    // Signals, as shells, launchers and handlers tell them.
    ErrorWords{"segmentation fault", ErrorSort::kCrash},
    ErrorWords{"core dumped", ErrorSort::kCrash},
    ErrorWords{"bus error", ErrorSort::kCrash},
    ErrorWords{"floating point exception", ErrorSort::kCrash},
    ErrorWords{"illegal instruction", ErrorSort::kCrash},
    ErrorWords{"bad system call", ErrorSort::kCrash},
    ErrorWords{"(sigsegv)", ErrorSort::kCrash},
    ErrorWords{"(sigkill)", ErrorSort::kCrash},
    ErrorWords{"(sigabrt)", ErrorSort::kCrash},
    ErrorWords{"(sigbus)", ErrorSort::kCrash},
    ErrorWords{"(sigill)", ErrorSort::kCrash},
    ErrorWords{"(sigfpe)", ErrorSort::kCrash},
    ErrorWords{"process received signal", ErrorSort::kCrash},  // Open MPI
    ErrorWords{"exited on signal", ErrorSort::kCrash},
    ErrorWords{"noticed that process rank", ErrorSort::kCrash},
    ErrorWords{"bad termination of one of your application processes", ErrorSort::kCrash},  // MPICH
    ErrorWords{"terminated with the exit string", ErrorSort::kCrash},
    ErrorWords{"terminate called", ErrorSort::kCrash},
    ErrorWords{"fatal python error", ErrorSort::kCrash},
    ErrorWords{"panic:", ErrorSort::kCrash},       // Go
    ErrorWords{"panicked at", ErrorSort::kCrash},  // Rust
    ErrorWords{"breakpoint trap", ErrorSort::kCrash},
    // glibc, when it finds the heap or the stack overwritten.
    ErrorWords{"corrupted double-linked list", ErrorSort::kCrash},
    ErrorWords{"corrupted size vs. prev_size", ErrorSort::kCrash},
    ErrorWords{"corrupted unsorted chunks", ErrorSort::kCrash},
    ErrorWords{"double free or corruption", ErrorSort::kCrash},
    ErrorWords{"free(): invalid", ErrorSort::kCrash},
    ErrorWords{"free(): double free", ErrorSort::kCrash},
    ErrorWords{"malloc(): ", ErrorSort::kCrash},
    ErrorWords{"realloc(): invalid", ErrorSort::kCrash},
    ErrorWords{"malloc_consolidate(): ", ErrorSort::kCrash},
    ErrorWords{"fatal glibc error", ErrorSort::kCrash},
    ErrorWords{"munmap_chunk(): invalid", ErrorSort::kCrash},
    ErrorWords{"stack smashing detected", ErrorSort::kCrash},
    ErrorWords{"buffer overflow detected", ErrorSort::kCrash},
    // Files, programs, connections.
    ErrorWords{"no such file or directory", ErrorSort::kError},
    ErrorWords{"permission denied", ErrorSort::kError},
    ErrorWords{"command not found", ErrorSort::kError},
    ErrorWords{"cannot open shared object", ErrorSort::kError},
    ErrorWords{"no space left on device", ErrorSort::kError},
    ErrorWords{"disk quota exceeded", ErrorSort::kError},
    ErrorWords{"read-only file system", ErrorSort::kError},
    ErrorWords{"stale file handle", ErrorSort::kError},
    ErrorWords{"transport endpoint is not connected", ErrorSort::kError},  // a network file system is gone
    ErrorWords{"too many open files", ErrorSort::kError},
    ErrorWords{"resource temporarily unavailable", ErrorSort::kError},  // no more threads or processes
    ErrorWords{"no module named", ErrorSort::kError},
    ErrorWords{"unbound variable", ErrorSort::kError},
    ErrorWords{"syntax error near", ErrorSort::kError},
    ErrorWords{"connection refused", ErrorSort::kError},
    ErrorWords{"connection timed out", ErrorSort::kError},
    ErrorWords{"host key verification failed", ErrorSort::kError},
    ErrorWords{"connection reset by peer", ErrorSort::kError},
    ErrorWords{"connection closed by remote", ErrorSort::kError},
    ErrorWords{"input/output error", ErrorSort::kError},
    ErrorWords{"assertion failed", ErrorSort::kError},
    ErrorWords{"assertion `", ErrorSort::kError},
    // Launchers.
    ErrorWords{"mpi_abort was invoked", ErrorSort::kError},
    ErrorWords{"called mpi_abort", ErrorSort::kError},                         // MPICH
    ErrorWords{"lost communication with a remote daemon", ErrorSort::kError},  // Open MPI
    ErrorWords{"daemon has unexpectedly failed", ErrorSort::kError},
    ErrorWords{"returned a non-zero exit", ErrorSort::kError},
    ErrorWords{"failed (exitcode", ErrorSort::kError},
    // CUDA, its libraries, NCCL and PyTorch's watchdogs.
    ErrorWords{"device-side assert", ErrorSort::kError},
    ErrorWords{"fallen off the bus", ErrorSort::kError},
    ErrorWords{"driver/library version mismatch", ErrorSort::kError},
    ErrorWords{"unhandled cuda error", ErrorSort::kError},
    ErrorWords{"unhandled system error", ErrorSort::kError},
    ErrorWords{"cuda_error_", ErrorSort::kError},
    ErrorWords{"cublas_status_", ErrorSort::kError},
    ErrorWords{"cudnn_status_", ErrorSort::kError},
    ErrorWords{"watchdog caught collective", ErrorSort::kError},
    ErrorWords{"watchdog got stuck", ErrorSort::kError},
    ErrorWords{"heartbeat monitor timed out", ErrorSort::kError},
};

// The sort of a line in lower case by these words, the first that has any; nothing where it has none.
constexpr const ErrorWords* find_error_words(std::string_view lower) {
  for (const ErrorWords& words : kErrorWords)
    if (lower.find(words.text) != std::string_view::npos) return &words;
  return nullptr;
}

}  // namespace nadi::inline jobs
