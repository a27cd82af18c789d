// Writes docs/results/links.md: how good the link model is on data it was not fitted on. Run in the
// repository's root; docs/results/links.sh does. With a file of further sweeps, in the form of
// validation/links/sweeps.json: how a curve is carried to other GPU counts on the machines in it.
#include <fmt/format.h>

#include <exception>

#include "tests/studies/counts.hpp"
#include "tests/studies/studies.hpp"

int main(int argc, char** argv) {
  using namespace ddpx::study;
  try {
    if (argc > 1) {
      fmt::print("{}", count_errors(read_sweeps(argv[1])));
      return 0;
    }
    const std::vector<Sweep> sweeps = read_sweeps("validation/links/sweeps.json");
    const std::string text = sizes_study(sweeps) + counts_study(sweeps) + nodes_study(sweeps) +
                             scaling_study("validation/scaling/series.json") + cases_study();
    fmt::print("{}", text);
  } catch (const std::exception& error) {
    fmt::print(stderr, "links_study: {}\n", error.what());
    return 1;
  }
  return 0;
}
