#include "model/gpu_type.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/forecast.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/tiny_machine.hpp"

namespace ddpx {
namespace {

TEST(GpuTypes, have_names_and_rates_of_their_own) {
  std::set<std::string_view> names;
  for (const GpuType& type : gpu_types()) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    EXPECT_EQ(find_gpu_type(type.name), &type);
    EXPECT_GE(type.half, type.fp32 * 1.9) << type.name;
    Device device;
    device.name = type.title;
    EXPECT_EQ(gpu_type_of(device), &type) << type.name;
  }
  for (const char* name : {"t4", "v100-sxm", "a10", "l4", "l40s", "rtx3090", "rtx4090", "rtx5090",
                           "a100-sxm", "h100-sxm", "h200", "b200"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(find_gpu_type("a100"), nullptr);
}

TEST(GpuTypes, are_told_by_the_drivers_name) {
  const auto named = [](const char* name) {
    Device device;
    device.name = name;
    const GpuType* type = gpu_type_of(device);
    return type == nullptr ? std::string_view("none") : type->name;
  };
  EXPECT_EQ(named("Tesla T4"), "t4");
  EXPECT_EQ(named("NVIDIA H200"), "h200");
  EXPECT_EQ(named("NVIDIA A100-SXM4-80GB"), "a100-sxm");
  EXPECT_EQ(named("NVIDIA A100-SXM4-40GB"), "a100-sxm-40");
  EXPECT_EQ(named("Tesla V100-SXM2-16GB"), "v100-sxm");
  EXPECT_EQ(named("Tesla V100-SXM3-32GB"), "v100-sxm");
  EXPECT_EQ(named("NVIDIA A100-PCIE-40GB"), "a100-pcie-40");
  EXPECT_EQ(named("NVIDIA A40"), "a40");
  EXPECT_EQ(named("NVIDIA GeForce RTX 2080 Ti"), "rtx2080ti");
  EXPECT_EQ(named("AMD EPYC"), "none");
}

TEST(GpuTypes, are_not_told_by_a_part_of_another_cards_name) {
  for (const char* name : {"NVIDIA L40", "NVIDIA A10G", "NVIDIA RTX A4000", "NVIDIA T400",
                           "NVIDIA GH200 480GB", "NVIDIA GeForce RTX 3090 Ti",
                           "NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 4090 Laptop GPU"}) {
    Device device;
    device.name = name;
    EXPECT_EQ(gpu_type_of(device), nullptr) << name;
  }
}

// GNMT, batch 1520, fp16, same harness: 472,061 tokens/s on an H100 SXM, 309,007 on an H100 PCIe.
TEST(GpuTypes, carry_a_public_throughput) {
  const double ratio =
      step_ratio(*find_gpu_type("h100-sxm"), *find_gpu_type("h100-pcie"), DType::fp16);
  EXPECT_NEAR(ratio, 472061.0 / 309007.0, 0.15 * ratio);
}

TEST(GpuTypes, from_the_datasheet_make_a_machine_that_forecasts) {
  const Machine machine = machine_of(*find_gpu_type("a100-sxm"));
  Job job;
  const Link link = test::line_link(1e-5, 1e11);
  const Forecast f = forecast(machine, link, mlp({.width = 4096, .depth = 8}), job);
  // 6 x 134M parameters x 256 samples at 0.85 x 19.5 TFLOP/s, and the optimizer's 12 B each.
  const double expected = 6 * 134.3e6 * 256 / 16.6e12 + 12 * 134.3e6 / 1.67e12;
  EXPECT_NEAR(f.one_gpu_step_s, expected, 0.20 * expected);
  EXPECT_GT(f.step_time_s.relative_half_width(), 0.15);
}

TEST(GpuTypes, carry_a_machine_by_its_rates_and_leave_its_box_behind) {
  const Network network = mlp({.width = 1024, .depth = 2});
  Machine t4 = test::machine_for(network, 64);
  t4.device.name = "Tesla T4";
  t4.links.emplace_back();
  const Machine carried = carried_to(t4, *find_gpu_type("v100-sxm"));
  EXPECT_NEAR(t4.products[0].time.value / carried.products[0].time.value, 15.7 / 8.1, 1e-9);
  EXPECT_NEAR(carried.copy_bandwidth.value / t4.copy_bandwidth.value, 900.0 / 320, 1e-9);
  EXPECT_EQ(carried.device.nvlink_generation, "nvlink2");
  EXPECT_TRUE(carried.links.empty());
  t4.device.name = "a toaster";
  test::expect_input_error([&] { static_cast<void>(carried_to(t4, *find_gpu_type("v100-sxm"))); },
                           {"--gpu", "a toaster", "leave --machine out"});
}

bool has_products(const Machine& machine, DType dtype) {
  return std::any_of(machine.products.begin(), machine.products.end(),
                     [&](const ProductPoint& point) { return point.product.dtype == dtype; });
}

// A machine of an H200 with every dtype.
Machine h200_of_datasheet() { return machine_of(*find_gpu_type("h200")); }

TEST(GpuTypes, carried_to_have_the_dtypes_that_they_have_alone) {
  for (const GpuType& type : gpu_types()) {
    const Machine alone = machine_of(type);
    const Machine carried = carried_to(h200_of_datasheet(), type);
    for (const DType dtype : {DType::fp32, DType::tf32, DType::bf16, DType::fp16}) {
      EXPECT_EQ(has_products(carried, dtype), has_products(alone, dtype))
          << type.name << " " << name(dtype);
    }
  }
  const Machine volta = carried_to(h200_of_datasheet(), *find_gpu_type("v100-sxm"));
  EXPECT_FALSE(has_products(volta, DType::bf16));
  EXPECT_FALSE(has_products(volta, DType::tf32));
  EXPECT_TRUE(has_products(volta, DType::fp16));
}

TEST(GpuTypes, are_never_slower_where_tf32_is_allowed) {
  const Network network = mlp({.width = 4096, .depth = 8});
  for (const GpuType& type : gpu_types()) {
    if (type.tf32 == 0) continue;
    for (const Machine& machine : {machine_of(type), carried_to(h200_of_datasheet(), type)}) {
      Job job;
      job.gpus = 1;
      job.batch_per_rank = 4096;
      const double fp32 = point_forecast(machine, Link{}, network, job).one_gpu_step_s;
      job.dtype = DType::tf32;
      EXPECT_LE(point_forecast(machine, Link{}, network, job).one_gpu_step_s, fp32 * (1 + 1e-9))
          << machine.name;
    }
  }
}

}  // namespace
}  // namespace ddpx
