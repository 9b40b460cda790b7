// How a program's heap takes memory from the system.
//
// Graphs are many small pieces that live to the end. Taking memory in large steps and keeping it saves 5 of
// 80 ms where the largest model is traced; pages of 2 MiB for the first step save a quarter of the time that
// the first plans take, which is spent on being given fresh pages else.
#pragma once

namespace nadi::inline ground {

// For main(), before anything else: a library leaves the heap of its program alone. Systems without large
// pages, or that are short of them, are as before.
void grow_heap_in_large_steps();

}  // namespace nadi::inline ground
