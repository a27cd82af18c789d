#include "profiler/cuda/nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <utility>

namespace ddpx::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kNotSupported = 3;
constexpr int kInsufficientSize = 7;

int g_shutdowns = 0;

// Functions with the signatures of NVML, as the driver of two H200 behind NVSwitches answers.
int init() { return 0; }
int init_fails() { return 9; }
int shut_down() { return ++g_shutdowns, 0; }
const char* error_string(int) { return "Driver Not Loaded"; }
int count(unsigned* n) { return *n = 2, 0; }
int by_index(unsigned i, void** gpu) {
  if (i > 1) return 2;
  *gpu = reinterpret_cast<void*>(static_cast<std::uintptr_t>(i + 1));
  return 0;
}
int by_bus_id(const char* id, void** gpu) {
  if (std::strcmp(id, "0000:19:00.0") != 0) return 6;
  return by_index(0, gpu);
}
int name(void*, char* text, unsigned size) { return std::strncpy(text, "NVIDIA H200", size), 0; }
int name_without_end(void*, char* text, unsigned size) { return std::memset(text, 'x', size), 0; }
int clock(void*, unsigned type, unsigned* mhz) { return *mhz = type == 1 ? 1980 : 3201, 0; }
int power(void*, unsigned* milliwatts) { return *milliwatts = 699500, 0; }
int temperature(void*, unsigned sensor, unsigned* celsius) {
  return *celsius = 60, sensor == 0 ? 0 : 2;
}
int reasons(void*, unsigned long long* bits) { return *bits = 0x5, 0; }
int mig(void*, unsigned* now, unsigned* later) { return *now = 1, *later = 1, 0; }
int processes(void*, unsigned* n, void* list) {
  return *n = 3, list == nullptr ? kInsufficientSize : 2;
}
int unsupported(void*, unsigned*) { return kNotSupported; }
int minus_one(void*, unsigned* value) { return *value = ~0U, 0; }
int five(void*, unsigned* value) { return *value = 5, 0; }
int memory(void*, unsigned long long* m) { return m[0] = 100, m[1] = 60, m[2] = 40, 0; }
int utilization(void*, unsigned* u) { return u[0] = 37, u[1] = 9, 0; }
int link_state(void*, unsigned link, int* up) { return *up = link < 17 ? 1 : 0, link < 18 ? 0 : 2; }
int link_version(void*, unsigned, unsigned* version) { return *version = 6, 0; }
int link_far(void*, unsigned link, int* type) { return *type = link == 0 ? 0 : 2, 0; }
int link_pci(void*, unsigned, char* info) { return std::strcpy(info + 36, "00000000:DB:00.0"), 0; }
int ancestor(void*, void*, int* level) { return *level = 50, 0; }
int p2p(void*, void*, unsigned capability, unsigned* status) {
  return *status = capability == 1 ? 1 : 0, 0;
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

using Table = std::map<std::string, void*>;

Nvml library(Table table) {
  table.emplace("nvmlInit_v2", address(init));
  auto opened = Nvml::open([table](const char* function) -> void* {
    const auto found = table.find(function);
    return found == table.end() ? nullptr : found->second;
  });
  return std::get<Nvml>(std::move(opened));
}

const Nvml::Gpu kFirst = reinterpret_cast<void*>(1);
const Nvml::Gpu kSecond = reinterpret_cast<void*>(2);

TEST(Nvml, answers_what_the_driver_answers) {
  const Nvml nvml = library({{"nvmlDeviceGetCount_v2", address(count)},
                             {"nvmlDeviceGetHandleByIndex_v2", address(by_index)},
                             {"nvmlDeviceGetHandleByPciBusId_v2", address(by_bus_id)},
                             {"nvmlDeviceGetName", address(name)},
                             {"nvmlDeviceGetClockInfo", address(clock)},
                             {"nvmlDeviceGetPowerUsage", address(power)},
                             {"nvmlDeviceGetTemperature", address(temperature)},
                             {"nvmlDeviceGetCurrentClocksThrottleReasons", address(reasons)},
                             {"nvmlDeviceGetMigMode", address(mig)},
                             {"nvmlDeviceGetMemoryInfo", address(memory)},
                             {"nvmlDeviceGetUtilizationRates", address(utilization)},
                             {"nvmlDeviceGetCurrPcieLinkGeneration", address(five)}});
  EXPECT_EQ(nvml.count(), 2);
  EXPECT_EQ(nvml.gpu(1), kSecond);
  EXPECT_EQ(nvml.gpu(2), std::nullopt);
  EXPECT_EQ(nvml.gpu("0000:19:00.0"), kFirst);
  EXPECT_EQ(nvml.gpu("0000:20:00.0"), std::nullopt);
  EXPECT_EQ(nvml.name(kFirst), "NVIDIA H200");
  const GpuState state = nvml.state(kFirst);
  EXPECT_EQ(state.sm_mhz, 1980);
  EXPECT_EQ(state.memory_mhz, 3201);
  EXPECT_EQ(state.watts, 699.5);
  EXPECT_EQ(state.limit_watts, std::nullopt);
  EXPECT_EQ(state.celsius, 60);
  EXPECT_EQ(state.throttle_reasons, 5);
  EXPECT_EQ(nvml.mig(kFirst), true);
  EXPECT_EQ(nvml.memory(kFirst)->used_bytes, 40);
  EXPECT_EQ(nvml.utilization_percent(kFirst), 37);
  EXPECT_EQ(nvml.pcie_generation(kFirst), 5);
}

TEST(Nvml, absent_and_refused_functions_are_no_answer) {
  const Nvml nvml = library({{"nvmlDeviceGetPowerUsage", address(unsupported)},
                             {"nvmlDeviceGetMaxPcieLinkWidth", address(unsupported)},
                             {"nvmlDeviceGetNumaNodeId", address(minus_one)}});
  EXPECT_EQ(nvml.count(), 0);
  EXPECT_EQ(nvml.gpu(0), std::nullopt);
  EXPECT_EQ(nvml.name(kFirst), std::nullopt);
  EXPECT_EQ(nvml.state(kFirst).watts, std::nullopt);
  EXPECT_EQ(nvml.state(kFirst).throttle_reasons, std::nullopt);
  EXPECT_EQ(nvml.mig(kFirst), std::nullopt);
  EXPECT_EQ(nvml.compute_processes(kFirst), std::nullopt);
  EXPECT_EQ(nvml.pcie_width_max(kFirst), std::nullopt);
  EXPECT_EQ(nvml.memory_numa_node(kFirst), std::nullopt);
  EXPECT_THAT(nvml.nvlinks(kFirst), IsEmpty());
  EXPECT_EQ(nvml.nearness(kFirst, kSecond), std::nullopt);
  EXPECT_EQ(nvml.p2p_obstacle(kFirst, kSecond), std::nullopt);
  EXPECT_EQ(nvml.driver_version(), std::nullopt);
}

TEST(Nvml, a_list_that_does_not_fit_still_counts_the_processes) {
  const Nvml nvml = library({{"nvmlDeviceGetComputeRunningProcesses_v3", address(processes)}});
  EXPECT_EQ(nvml.compute_processes(kFirst), 3);
}

TEST(Nvml, a_text_without_end_is_cut) {
  const Nvml nvml = library({{"nvmlDeviceGetName", address(name_without_end)}});
  EXPECT_EQ(nvml.name(kFirst), std::string(96, 'x'));
}

TEST(Nvml, links_that_are_down_or_absent_do_not_count) {
  const Nvml nvml = library({{"nvmlDeviceGetNvLinkState", address(link_state)},
                             {"nvmlDeviceGetNvLinkVersion", address(link_version)},
                             {"nvmlDeviceGetNvLinkRemoteDeviceType", address(link_far)},
                             {"nvmlDeviceGetNvLinkRemotePciInfo_v2", address(link_pci)}});
  const std::vector<NvLink> links = nvml.nvlinks(kFirst);
  ASSERT_EQ(links.size(), 17);
  EXPECT_EQ(links[0].far_end, FarEnd::gpu);
  EXPECT_EQ(links[1].far_end, FarEnd::nvswitch);
  EXPECT_EQ(links[1].version, 6);
  EXPECT_EQ(links[1].far_bus_id, "00000000:DB:00.0");
}

TEST(Nvml, pairs_have_a_nearness_and_the_reason_why_p2p_is_not_there) {
  const Nvml nvml = library({{"nvmlDeviceGetTopologyCommonAncestor", address(ancestor)},
                             {"nvmlDeviceGetP2PStatus", address(p2p)}});
  EXPECT_EQ(nvml.nearness(kFirst, kSecond), Nearness::across_numa);
  EXPECT_EQ(nvml.p2p_obstacle(kFirst, kSecond), "the chipset does not support it");
}

TEST(Nvml, the_last_copy_shuts_the_library_down_once) {
  g_shutdowns = 0;
  {
    const Nvml nvml = library({{"nvmlShutdown", address(shut_down)}});
    const Nvml copy = nvml;
    EXPECT_EQ(copy.count(), 0);
  }
  EXPECT_EQ(g_shutdowns, 1);
}

TEST(Nvml, a_library_that_does_not_start_says_why_and_what_is_lost) {
  const auto opened = Nvml::open([](const char* function) -> void* {
    if (std::strcmp(function, "nvmlInit_v2") == 0) return address(init_fails);
    if (std::strcmp(function, "nvmlErrorString") == 0) return address(error_string);
    return nullptr;
  });
  ASSERT_TRUE(std::holds_alternative<std::string>(opened));
  EXPECT_THAT(std::get<std::string>(opened), HasSubstr("Driver Not Loaded"));
  EXPECT_THAT(std::get<std::string>(opened), HasSubstr("clocks, power and links are unknown"));
  const auto empty = Nvml::open([](const char*) -> void* { return nullptr; });
  EXPECT_THAT(std::get<std::string>(empty), HasSubstr("nvmlInit_v2"));
}

TEST(Nvml, throttle_reasons_are_words) {
  EXPECT_THAT(throttle_words(0), IsEmpty());
  EXPECT_THAT(throttle_words(0x5), ElementsAre("idle", "power limit"));
  EXPECT_THAT(slowing_words(0x5), ElementsAre("power limit"));
  EXPECT_THAT(throttle_words(0x20 | 0x1000), ElementsAre("temperature limit", "reason 0x1000"));
}

TEST(Nvml, link_versions_are_generations) {
  EXPECT_EQ(nvlink_generation(3), 2);  // 2.2
  EXPECT_EQ(nvlink_generation(6), 4);
  EXPECT_EQ(nvlink_generation(7), 5);
  EXPECT_EQ(nvlink_generation(0), std::nullopt);
  EXPECT_EQ(nvlink_generation(255), std::nullopt);
}

}  // namespace
}  // namespace ddpx::cuda
