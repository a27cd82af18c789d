#include "io/topology_matrix.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "model/error.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

using test::expect_input_error;

// As printed: tabs, underlined heads, a legend.
const std::string kRented =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
    "GPU0\t X \tPHB\tSYS\tSYS\t0-15\t0\n"
    "GPU1\tPHB\t X \tSYS\tSYS\t0-15\t0\n"
    "GPU2\tSYS\tSYS\t X \tPHB\t16-31\t1\n"
    "GPU3\tSYS\tSYS\tPHB\t X \t16-31\t1\n\nLegend:\n\n  X    = Self\n";

TEST(TopologyMatrix, is_read_with_its_tabs_underlines_and_legend) {
  ASSERT_TRUE(looks_like_topology_matrix(kRented));
  const TopologyMatrix matrix = read_topology_matrix(kRented, "topo.txt");
  ASSERT_EQ(matrix.gpus.size(), 4U);
  EXPECT_EQ(matrix.paths[0][1], "PHB");
  EXPECT_EQ(matrix.paths[3][0], "SYS");
  EXPECT_EQ(matrix.nics, 0U);
}

TEST(TopologyMatrix, is_read_behind_what_a_logger_writes_before_every_line) {
  std::string text;
  std::istringstream lines(kRented);
  for (std::string line; std::getline(lines, line);) text += "2024-05-01T12:00:00Z " + line + "\n";
  ASSERT_TRUE(looks_like_topology_matrix(text));
  EXPECT_EQ(read_topology_matrix(text, "topo.txt").paths,
            read_topology_matrix(kRented, "topo.txt").paths);
}

TEST(TopologyMatrix, counts_nics_of_new_and_old_drivers) {
  for (const char* nic : {"NIC0", "mlx5_0"}) {
    const std::string text = "\tGPU0\tGPU1\t" + std::string(nic) +
                             "\tCPU Affinity\nGPU0\t X \tNV18\tPIX\t0\nGPU1\tNV18\t X \tSYS\t0\n" +
                             nic + "\tPIX\tSYS\t X \n";
    const TopologyMatrix matrix = read_topology_matrix(text, "topo.txt");
    EXPECT_EQ(matrix.nics, 1U);
    EXPECT_EQ(matrix.paths[0][1], "NV18");
  }
}

TEST(TopologyMatrix, that_is_cut_or_contradicts_itself_is_refused) {
  expect_input_error(
      [] {
        static_cast<void>(
            read_topology_matrix(kRented.substr(0, kRented.find("GPU3\tSYS")), "topo.txt"));
      },
      {"topo.txt", "4 GPUs and 3 rows"});
  std::string text = kRented;
  text.replace(text.find("GPU1\tPHB"), 8, "GPU1\tPIX");
  expect_input_error([&] { static_cast<void>(read_topology_matrix(text, "topo.txt")); },
                     {"GPU1 to GPU0 is PIX one way and PHB the other"});
  text.replace(text.find("GPU1\tPIX"), 8, "GPU1\tFOO");
  expect_input_error([&] { static_cast<void>(read_topology_matrix(text, "topo.txt")); },
                     {"topo.txt", "line 3", "GPU1 to GPU0 is no path", "PIX, PXB"});
  expect_input_error([] { static_cast<void>(read_topology_matrix("hello\n", "topo.txt")); },
                     {"topo.txt", "no output of nvidia-smi"});
}

TEST(TopologyMatrix, every_prefix_is_read_or_refused) {
  for (std::size_t n = 0; n < kRented.size(); ++n) {
    try {
      static_cast<void>(read_topology_matrix(kRented.substr(0, n), "p"));
    } catch (const InputError&) {
    }
    static_cast<void>(looks_like_topology_matrix(kRented.substr(0, n)));
  }
}

}  // namespace
}  // namespace ddpx::io
