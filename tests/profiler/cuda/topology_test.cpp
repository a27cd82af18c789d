#include "profiler/cuda/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ddpx::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

GpuFacts gpu(const std::string& bus_id, int compute_capability) {
  GpuFacts facts;
  facts.name = "GPU";
  facts.bus_id = bus_id;
  facts.compute_capability = compute_capability;
  facts.pcie_generation = 1;  // idle
  facts.pcie_generation_max = 4;
  facts.pcie_width = 16;
  facts.pcie_width_max = 16;
  return facts;
}

void add_links(GpuFacts& facts, int n, FarEnd end, const std::string& bus_id, int version) {
  for (int i = 0; i < n; ++i) facts.nvlinks.push_back({version, end, bus_id});
}

void join(BoxFacts& facts, Nearness nearness, std::optional<std::string> obstacle) {
  for (int i = 0; i < static_cast<int>(facts.gpus.size()); ++i) {
    for (int j = i + 1; j < static_cast<int>(facts.gpus.size()); ++j)
      facts.pairs.push_back({i, j, nearness, obstacle});
  }
}

// Two of eight H200 of an HGX board. The driver says version 5.0, as one was seen to.
BoxFacts h200(int gpus) {
  BoxFacts facts;
  facts.under_load = true;
  for (int i = 0; i < gpus; ++i) {
    GpuFacts one = gpu("0000:" + std::to_string(19 + i) + ":00.0", 90);
    one.pcie_generation = 5;
    one.pcie_generation_max = 5;
    one.numa_node = 0;
    add_links(one, 18, FarEnd::nvswitch, "00000000:DB:00.0", 7);
    facts.gpus.push_back(one);
  }
  join(facts, Nearness::same_numa, "");
  return facts;
}

BoxFacts t4() {
  BoxFacts facts;
  facts.gpus = {gpu("0000:00:04.0", 75), gpu("0000:00:05.0", 75)};
  for (GpuFacts& one : facts.gpus) one.pcie_generation_max = 3;
  join(facts, Nearness::host_bridge, "not supported");
  return facts;
}

TEST(Topology, two_h200_behind_nvswitches_are_nvlink4) {
  const Box box = describe_box(h200(2));
  const auto link = link_of(box, Route::direct);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->name, "nvlink4");
  EXPECT_EQ(link->title, "NVLink 4, 18 links through NVSwitch");
  EXPECT_EQ(link->topology, Topology::nvlink);
  EXPECT_EQ(link->peak_bytes_per_s, 450e9);  // NVIDIA: 900 GB/s in both directions
  EXPECT_EQ(nvlink_family(box), "nvlink4");
  EXPECT_EQ(pcie_family(box), "pcie5");
}

TEST(Topology, the_same_gpus_through_host_memory_are_pcie5) {
  const auto link = link_of(describe_box(h200(2)), Route::host_memory);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->name, "pcie5");
  EXPECT_EQ(link->topology, Topology::pcie_host);
  EXPECT_NEAR(link->peak_bytes_per_s, 63.015e9, 0.001e9);  // the table of interconnects
}

TEST(Topology, context_has_a_line_per_gpu_and_one_for_pairs_that_are_alike) {
  EXPECT_THAT(context_of(describe_box(h200(2))),
              ElementsAre(Pair("gpu0", "0000:19:00.0, PCIe gen5 x16, NUMA 0, nvlink4 x18"),
                          Pair("gpu1", "0000:20:00.0, PCIe gen5 x16, NUMA 0, nvlink4 x18"),
                          Pair("pair0-1", "nvlink4 x18 through NVSwitch, P2P")));
  const auto eight = context_of(describe_box(h200(8)));
  ASSERT_EQ(eight.size(), 9);
  EXPECT_THAT(eight.back(), Pair("pairs", "all: nvlink4 x18 through NVSwitch, P2P"));
}

TEST(Topology, two_t4_without_p2p_are_pcie3_through_host_memory) {
  const Box box = describe_box(t4());
  const auto link = link_of(box, Route::direct);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->name, "pcie3");
  EXPECT_EQ(link->title, "PCIe 3 x16, through host memory");
  EXPECT_NEAR(link->peak_bytes_per_s, 15.754e9, 0.001e9);
  EXPECT_THAT(context_of(box).back(), Pair("pair0-1", "PCIe host bridge, no P2P: not supported"));
}

TEST(Topology, an_idle_link_counts_as_what_its_slot_allows_and_a_busy_one_as_it_is) {
  BoxFacts facts = t4();
  facts.gpus[1].pcie_width = 8;
  EXPECT_EQ(link_of(describe_box(facts), Route::direct)->name, "pcie3-x8");
  facts.under_load = true;  // and generation 1 still
  const Box box = describe_box(facts);
  EXPECT_EQ(link_of(box, Route::direct)->name, "pcie1-x8");
  EXPECT_THAT(context_of(box)[1].second, HasSubstr("PCIe gen1 x8 of gen3 x16"));
}

TEST(Topology, p2p_of_every_pair_is_part_of_the_name) {
  BoxFacts facts;
  facts.gpus = {gpu("a", 89), gpu("b", 89), gpu("c", 89)};
  join(facts, Nearness::one_switch, "");
  EXPECT_EQ(link_of(describe_box(facts), Route::direct)->name, "pcie4-p2p");
  facts.pairs[1].p2p_obstacle = "the chipset does not support it";
  facts.pairs[1].nearness = Nearness::across_numa;
  const Box box = describe_box(facts);
  EXPECT_EQ(link_of(box, Route::direct)->name, "pcie4");
  EXPECT_THAT(context_of(box), testing::Contains(Pair("pairs 0-1 1-2", "PCIe switch, P2P")));
  facts.pairs[1].p2p_obstacle.reset();
  EXPECT_EQ(link_of(describe_box(facts), Route::direct)->name, "pcie4");
}

TEST(Topology, bridged_cards_have_links_of_their_own) {
  BoxFacts h100;
  h100.gpus = {gpu("0000:01:00.0", 90), gpu("0000:02:00.0", 90)};
  add_links(h100.gpus[0], 12, FarEnd::gpu, "00000000:02:00.0", 6);
  add_links(h100.gpus[1], 12, FarEnd::gpu, "00000000:01:00.0", 6);
  join(h100, Nearness::host_bridge, "");
  const auto link = link_of(describe_box(h100), Route::direct);
  EXPECT_EQ(link->name, "nvlink4-bridge");
  EXPECT_EQ(link->peak_bytes_per_s, 300e9);

  BoxFacts turing;
  turing.gpus = {gpu("0000:01:00.0", 75), gpu("0000:02:00.0", 75)};
  add_links(turing.gpus[0], 2, FarEnd::gpu, "00000000:02:00.0", 3);
  add_links(turing.gpus[1], 2, FarEnd::gpu, "00000000:01:00.0", 3);
  join(turing, Nearness::host_bridge, "");
  EXPECT_EQ(link_of(describe_box(turing), Route::direct)->name, "nvlink2-bridge");
  EXPECT_EQ(link_of(describe_box(turing), Route::direct)->peak_bytes_per_s, 50e9);
}

TEST(Topology, one_pair_without_nvlink_makes_the_ring_pcie) {
  BoxFacts facts;
  facts.gpus = {gpu("0000:01:00.0", 80), gpu("0000:02:00.0", 80), gpu("0000:03:00.0", 80)};
  add_links(facts.gpus[0], 12, FarEnd::gpu, "00000000:02:00.0", 4);
  add_links(facts.gpus[1], 12, FarEnd::gpu, "00000000:01:00.0", 4);
  join(facts, Nearness::host_bridge, "");
  const Box box = describe_box(facts);
  EXPECT_EQ(box.pairs[0].path, Path::nvlink);
  EXPECT_EQ(box.pairs[1].path, Path::host_bridge);
  EXPECT_EQ(link_of(box, Route::direct)->name, "pcie4-p2p");
}

TEST(Topology, without_answers_nothing_is_claimed) {
  BoxFacts facts;
  facts.gpus.resize(2);
  facts.pairs.push_back({0, 1, std::nullopt, std::nullopt});
  const Box box = describe_box(facts);
  EXPECT_EQ(link_of(box, Route::direct), std::nullopt);
  EXPECT_EQ(nvlink_family(box), "");
  EXPECT_THAT(context_of(box).back(), Pair("pair0-1", "path unknown, P2P unknown"));
  EXPECT_EQ(link_of(describe_box(BoxFacts{}), Route::direct), std::nullopt);
}

TEST(Topology, facts_come_from_nvml_and_the_processors_node_from_the_kernel) {
  const std::string root = testing::TempDir() + "/ddpx_pci";
  std::filesystem::create_directories(root + "/0000:3b:00.0");
  std::ofstream(root + "/0000:3b:00.0/numa_node") << "1\n";
  auto opened = Nvml::open([](const char* function) -> void* {
    static int (*const init)() = [] { return 0; };
    return std::string(function) == "nvmlInit_v2" ? reinterpret_cast<void*>(init) : nullptr;
  });
  GatherOptions options;
  options.bus_ids = {"0000:3B:00.0", "0000:af:00.0"};
  options.compute_capabilities = {70, 70};
  options.pci_devices = root;
  const BoxFacts facts = gather_box(std::get<Nvml>(opened), options);
  EXPECT_EQ(facts.gpus[0].numa_node, 1);
  EXPECT_EQ(facts.gpus[1].numa_node, std::nullopt);
  EXPECT_EQ(facts.pairs.size(), 1);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace ddpx::cuda
