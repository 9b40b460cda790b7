// For a test: rank 1 fails while the others wait for it. All must end, with its exit code.
#include <iostream>

#include "nadi/base/error.h"
#include "nadi/comm/mpi_session.h"

int main() {
  try {
    nadi::MpiSession session;
    if (session.world().rank() == nadi::Rank{1})
      throw nadi::input_error({.file = "data.bin"}, "ends too early");
    session.world().barrier(nadi::kWorld);
  } catch (const nadi::Error& error) {
    std::cerr << "error: " << error.what() << std::endl;
    nadi::end_all(nadi::exit_code(error.kind()));
    return 1;
  }
}
