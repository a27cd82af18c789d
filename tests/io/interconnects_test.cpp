// The shipped table of interconnects: every figure in order, and its curves near public
// measurements it was made from.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "io/link_json.hpp"
#include "io/nccl_tests.hpp"
#include "tests/io/nccl_tests_support.hpp"

namespace ddpx::io {
namespace {

constexpr const char* kTable = "calibration/links/interconnects.json";
// Three decimals of a relative error are in the file.
constexpr double kRounding = 5e-4;

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Link> table() { return links_from_json(file_text(kTable), kTable); }

Link named(const std::string& name) {
  for (Link& link : table()) {
    if (link.name == name) return std::move(link);
  }
  throw std::runtime_error("no link " + name);
}

TEST(Interconnects, every_kind_that_is_promised_is_there_under_one_name) {
  std::set<std::string> names;
  for (const Link& link : table()) EXPECT_TRUE(names.insert(link.name).second) << link.name;
  for (const std::string name :
       {"nvlink2", "nvlink3", "nvlink4", "nvlink5", "tcp-10gbe", "tcp-25gbe", "tcp-100gbe",
        "roce-100", "roce-400", "infiniband-hdr", "infiniband-ndr", "efa-400", "efa-3200"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  for (const std::string generation : {"pcie3", "pcie4", "pcie5"}) {
    for (const std::string variant : {"", "-p2p", "-x8", "-x8-p2p"}) {
      EXPECT_TRUE(names.contains(generation + variant)) << generation + variant;
    }
  }
}

TEST(Interconnects, figures_are_in_order_and_every_link_has_a_public_source) {
  for (const Link& link : table()) {
    SCOPED_TRACE(link.name);
    EXPECT_FALSE(link.title.empty());
    EXPECT_TRUE(link.source.find("https://") != std::string::npos) << link.source;
    EXPECT_GT(link.latency.value.value(), 1e-6);
    EXPECT_LT(link.latency.value.value(), 1e-3);
    EXPECT_GT(link.large_latency.value, link.latency.value);
    // No exception is needed: what exceeds the wire (trees over two hosts, reduction in the switch)
    // does so beyond two ranks.
    EXPECT_LT(link.bandwidth_low, link.bandwidth.value);
    EXPECT_LT(link.bandwidth.value, link.bandwidth_high);
    EXPECT_LE(link.bandwidth_high, link.peak);
    for (const std::string& origin :
         {link.latency.origin, link.large_latency.origin, link.bandwidth.origin}) {
      EXPECT_FALSE(origin.empty());
    }
  }
}

TEST(Interconnects, a_standard_error_spans_the_achievable_range) {
  for (const Link& link : table()) {
    SCOPED_TRACE(link.name);
    const double half = kNormalQuantile90 * link.bandwidth.relative_error;
    EXPECT_NEAR(link.bandwidth_low / link.bandwidth.value, 1 - half, kRounding);
    EXPECT_NEAR(link.bandwidth_high / link.bandwidth.value, 1 + half, kRounding);
  }
}

TEST(Interconnects, what_was_not_measured_says_so_and_is_wide) {
  for (const Link& link : table()) {
    for (const std::string& origin :
         {link.latency.origin, link.large_latency.origin, link.bandwidth.origin}) {
      const bool guessed = origin.starts_with("derived") || origin.starts_with("unverified");
      const double error = &origin == &link.bandwidth.origin ? link.bandwidth.relative_error
                                                             : link.latency.relative_error;
      if (guessed) {
        EXPECT_GT(error, 0.05) << link.name << ": " << origin;
      }
    }
  }
  EXPECT_EQ(named("tcp-10gbe").bandwidth.origin.substr(0, 10), "unverified");
  EXPECT_EQ(named("pcie4-x8").bandwidth.origin.substr(0, 10), "unverified");
}

TEST(Interconnects, generations_and_widths_are_in_order) {
  const auto bandwidth = [](const std::string& name) { return named(name).bandwidth.value; };
  EXPECT_LT(bandwidth("nvlink2"), bandwidth("nvlink3"));
  EXPECT_LT(bandwidth("nvlink3"), bandwidth("nvlink4"));
  EXPECT_LT(bandwidth("nvlink4"), bandwidth("nvlink5"));
  for (const std::string generation : {"pcie3", "pcie4", "pcie5"}) {
    EXPECT_LT(bandwidth(generation), bandwidth(generation + "-p2p"));
    EXPECT_LT(bandwidth(generation + "-x8"), bandwidth(generation));
  }
  EXPECT_LT(bandwidth("tcp-10gbe"), bandwidth("tcp-25gbe"));
  EXPECT_LT(bandwidth("tcp-25gbe"), bandwidth("tcp-100gbe"));
  EXPECT_LT(bandwidth("infiniband-hdr"), bandwidth("infiniband-ndr"));
}

TEST(Interconnects, the_table_is_written_as_the_program_writes_it) {
  EXPECT_EQ(to_json(table(), {}), file_text(kTable));
}

// A public sweep as (size, seconds) and how many ranks it was run on.
struct Sweep {
  int ranks = 2;
  std::vector<std::pair<double, double>> rows;

  // Log-log between the neighbouring sizes.
  [[nodiscard]] double at(double bytes) const {
    for (std::size_t i = 1; i < rows.size(); ++i) {
      if (rows[i].first < bytes) continue;
      const double share =
          std::log(bytes / rows[i - 1].first) / std::log(rows[i].first / rows[i - 1].first);
      return std::exp(std::log(rows[i - 1].second) * (1 - share) +
                      std::log(rows[i].second) * share);
    }
    throw std::runtime_error("the sweep ends before that size");
  }
};

Sweep csv_sweep(const std::string& name) {
  std::istringstream text(file_text("tests/io/inputs/sweeps/" + name + ".csv"));
  Sweep sweep;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("# ranks ")) sweep.ranks = std::stoi(line.substr(8));
    if (line.empty() || line[0] < '0' || line[0] > '9') continue;
    sweep.rows.emplace_back(std::stod(line), std::stod(line.substr(line.find(',') + 1)) * 1e-6);
  }
  return sweep;
}

Sweep log_sweep(const std::string& name) {
  const ImportedTable imported = testing_support::only_table(testing_support::imported_log(name));
  Sweep sweep{imported.ranks, {}};
  for (const ImportedPoint& point : imported.points)
    sweep.rows.emplace_back(point.bytes.value(), point.time.value());
  return sweep;
}

// The table's time over the measured one stays within 1/(1+band) .. 1+band.
void expect_near(const std::string& link, const Sweep& sweep, double bytes, double band) {
  const CollectivePrice priced =
      price(named(link), {Collective::all_reduce, DType::fp32, Bytes(bytes), sweep.ranks});
  const double ratio = priced.time.value() / sweep.at(bytes);
  EXPECT_LT(ratio, 1 + band) << link << " at " << bytes;
  EXPECT_GT(ratio, 1 / (1 + band)) << link << " at " << bytes;
}

TEST(Interconnects, curves_are_near_the_public_sweeps_at_a_bucket_and_at_256_mib) {
  const double bucket = 25.0 * 1048576;
  const double large = 256.0 * 1048576;
  const std::vector<std::tuple<std::string, Sweep, double>> cases{
      {"nvlink4", csv_sweep("h200_2gpu_nvlink"), 0.06},
      {"nvlink4", log_sweep("h200x2_all_reduce_nvlink.txt"), 0.06},
      {"nvlink3", csv_sweep("a100_2gpu_nvlink"), 0.06},
      {"pcie4-p2p", csv_sweep("l40s_2gpu_pcie4"), 0.06},
      {"pcie3", csv_sweep("v100_2gpu_pcie3"), 0.25},
      {"pcie5", log_sweep("h200x2_all_reduce_shm.txt"), 0.06},
  };
  for (const auto& [link, sweep, band] : cases) {
    expect_near(link, sweep, bucket, band);
    expect_near(link, sweep, large, band);
  }
  // Four GPUs of one switch keep two's bandwidth (measured up to 128 MiB), which a PCIe box seldom
  // does: the carry-over's interval is wide enough to hold them.
  const Sweep four = csv_sweep("v100_4gpu_pcie3_p2p");
  for (double bytes : {bucket, large / 2}) {
    const CollectivePrice priced =
        price(named("pcie3-p2p"), {Collective::all_reduce, DType::fp32, Bytes(bytes), 4});
    EXPECT_LT(std::abs(std::log(priced.time.value() / four.at(bytes))),
              kNormalQuantile90 * std::log1p(priced.relative_error));
  }
  // One GPU on each of two hosts, up to 32 MiB.
  expect_near("roce-400", log_sweep("U068.txt"), bucket, 0.20);
}

TEST(Interconnects, small_messages_are_near_the_public_sweeps) {
  expect_near("nvlink4", csv_sweep("h200_2gpu_nvlink"), 4096, 0.50);
  expect_near("nvlink4", log_sweep("h200x2_all_reduce_nvlink.txt"), 8192, 0.25);
  expect_near("nvlink3", csv_sweep("a100_2gpu_nvlink"), 4096, 0.15);
  expect_near("pcie3", csv_sweep("v100_2gpu_pcie3"), 4096, 0.15);
  expect_near("pcie4-p2p", csv_sweep("l40s_2gpu_pcie4"), 4096, 0.15);
  expect_near("pcie5", log_sweep("h200x2_all_reduce_shm.txt"), 8192, 0.15);
}

}  // namespace
}  // namespace ddpx::io
