#include "model/gpu_type.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "model/error.hpp"

namespace ddpx {
namespace {

// NVIDIA's datasheets and architecture papers; tensor rates dense. GeForce cards accumulate in fp32
// at half their fp16 rate, and so are listed.
constexpr std::array kTypes{
    GpuType{"t4", "NVIDIA T4", "T4", 8.1, 0, 65, 320, 40, 75, 16, "", "pcie3"},
    GpuType{"p100", "NVIDIA P100 PCIe 16 GB", "P100-PCIE-16GB", 9.3, 0, 18.7, 732, 56, 60, 16, "",
            "pcie3"},
    GpuType{"v100-sxm", "NVIDIA V100 SXM2", "V100-SXM", 15.7, 0, 125, 900, 80, 70, 32, "nvlink2",
            "pcie3"},
    GpuType{"v100-pcie", "NVIDIA V100 PCIe", "V100-PCIE", 14.0, 0, 112, 900, 80, 70, 16, "",
            "pcie3"},
    GpuType{"rtx8000", "Quadro RTX 8000", "RTX 8000", 16.3, 0, 130.5, 672, 72, 75, 48, "", "pcie3"},
    GpuType{"a10", "NVIDIA A10", "A10", 31.2, 62.5, 125, 600, 72, 86, 24, "", "pcie4"},
    GpuType{"a40", "NVIDIA A40", "A40", 37.4, 74.8, 149.7, 696, 84, 86, 48, "", "pcie4"},
    GpuType{"a4500", "NVIDIA RTX A4500", "RTX A4500", 23.7, 47.3, 94.6, 640, 56, 86, 20, "",
            "pcie4"},
    GpuType{"a5000", "NVIDIA RTX A5000", "RTX A5000", 27.8, 55.6, 111.1, 768, 64, 86, 24, "",
            "pcie4"},
    GpuType{"a5500", "NVIDIA RTX A5500", "RTX A5500", 34.1, 68.2, 136.4, 768, 80, 86, 24, "",
            "pcie4"},
    GpuType{"a6000", "NVIDIA RTX A6000", "RTX A6000", 38.7, 77.4, 154.8, 768, 84, 86, 48, "",
            "pcie4"},
    GpuType{"l4", "NVIDIA L4", "L4", 30.3, 60, 121, 300, 58, 89, 24, "", "pcie4"},
    GpuType{"l40s", "NVIDIA L40S", "L40S", 91.6, 183, 362, 864, 142, 89, 48, "", "pcie4"},
    GpuType{"rtx6000-ada", "NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", 91.1, 182.1, 364.2,
            960, 142, 89, 48, "", "pcie4"},
    GpuType{"rtx2080ti", "GeForce RTX 2080 Ti", "RTX 2080 Ti", 13.4, 0, 53.8, 616, 68, 75, 11, "",
            "pcie3"},
    GpuType{"rtx3070", "GeForce RTX 3070", "RTX 3070", 20.3, 20.3, 40.6, 448, 46, 86, 8, "",
            "pcie4"},
    GpuType{"rtx3080", "GeForce RTX 3080", "RTX 3080", 29.8, 29.8, 59.5, 760, 68, 86, 10, "",
            "pcie4"},
    GpuType{"rtx3090", "GeForce RTX 3090", "RTX 3090", 35.6, 35.6, 71, 936, 82, 86, 24, "",
            "pcie4"},
    GpuType{"rtx4090", "GeForce RTX 4090", "RTX 4090", 82.6, 82.6, 165, 1008, 128, 89, 24, "",
            "pcie4"},
    GpuType{"rtx5090", "GeForce RTX 5090", "RTX 5090", 104.8, 104.8, 209.5, 1792, 170, 120, 32, "",
            "pcie5"},
    GpuType{"a100-sxm", "NVIDIA A100 SXM4 80 GB", "A100-SXM", 19.5, 156, 312, 2039, 108, 80, 80,
            "nvlink3", "pcie4"},
    GpuType{"a100-sxm-40", "NVIDIA A100 SXM4 40 GB", "A100-SXM4-40GB", 19.5, 156, 312, 1555, 108,
            80, 40, "nvlink3", "pcie4"},
    GpuType{"a100-pcie", "NVIDIA A100 PCIe 80 GB", "A100 80GB PCIe", 19.5, 156, 312, 1935, 108, 80,
            80, "", "pcie4"},
    GpuType{"a100-pcie-40", "NVIDIA A100 PCIe 40 GB", "A100-PCIE-40GB", 19.5, 156, 312, 1555, 108,
            80, 40, "", "pcie4"},
    GpuType{"h100-sxm", "NVIDIA H100 SXM5", "H100 80GB HBM3", 66.9, 494.7, 989.4, 3350, 132, 90, 80,
            "nvlink4", "pcie5"},
    GpuType{"h100-pcie", "NVIDIA H100 PCIe", "H100 PCIe", 51.2, 378, 756, 2039, 114, 90, 80, "",
            "pcie5"},
    GpuType{"h200", "NVIDIA H200 SXM", "H200", 66.9, 494.7, 989.4, 4800, 132, 90, 141, "nvlink4",
            "pcie5"},
    GpuType{"b200", "NVIDIA B200 SXM", "B200", 75, 1100, 2250, 7700, 148, 100, 180, "nvlink5",
            "pcie5"}};

// Shares of the peaks that large cuBLAS products and copies reach: fp32 0.85 to 0.95 where power
// allows, tensor products 0.52 (H100, 518 of 989 TFLOP/s at 8192: NVIDIA/cutlass#956) and 0.51
// (A100 PCIe, 158 of 312: fast.cu#13), memory 0.78 (T4) to 0.89 (H200, measured by this project).
constexpr double kFp32Share = 0.85;
constexpr double kTensorShare = 0.55;
constexpr double kMemoryShare = 0.82;
constexpr double kShareError = 0.20;
constexpr double kMemoryError = 0.08;
constexpr double kComputeWeight = 0.4;
constexpr double kLaunch = 4e-6;

constexpr const char* kOrigin = "prior: datasheet rate x the share public tables reach";
constexpr const char* kHostOrigin = "prior: PyTorch on the host of two H200 of this project";

// Cards that share a name and have rates of their own.
constexpr std::array<std::string_view, 4> kVariants{" Ti", " D", " SUPER", " Laptop"};

bool letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Whether a driver's name holds `part` as words of its own: "A10" is no part of "A100-PCIE-40GB",
// nor "RTX 4090" the card of "RTX 4090 D". What follows letters may be a revision ("A100-SXM4").
bool says(std::string_view driver, std::string_view part) {
  for (auto at = driver.find(part); at != driver.npos; at = driver.find(part, at + 1)) {
    if (at > 0 && letter_or_digit(driver[at - 1])) continue;
    const std::string_view rest = driver.substr(at + part.size());
    const bool whole = rest.empty() || !letter_or_digit(rest.front()) ||
                       std::isdigit(static_cast<unsigned char>(part.back())) == 0;
    const bool other =
        std::any_of(kVariants.begin(), kVariants.end(),
                    [&](std::string_view variant) { return rest.starts_with(variant); });
    if (whole && !other) return true;
  }
  return false;
}

double peak(const GpuType& type, DType dtype) {
  if (dtype == DType::fp32) return type.fp32;
  if (dtype == DType::tf32) return type.tf32 > 0 ? type.tf32 : type.fp32;
  return type.half;
}

double reached(const GpuType& type, DType dtype) {
  const double fp32 = type.fp32 * 1e12 * kFp32Share;
  if (dtype == DType::fp32) return fp32;
  const double tensor = peak(type, dtype) * 1e12 * kTensorShare;
  // tf32 is allowed, not asked for: the library takes a kernel of either kind, whichever is faster.
  // GeForce cards have the same peak for both (GA102 and Ada whitepapers), and there it is fp32's.
  return dtype == DType::tf32 ? std::max(tensor, fp32) : tensor;
}

bool multiplies(const GpuType& type, DType dtype) {
  if (dtype == DType::tf32) return type.tf32 > 0;
  return dtype != DType::bf16 || type.compute_capability >= 80;
}

// Where a shape was measured in both: a library allowed to use tf32 keeps the faster kernel.
void keep_faster(std::vector<ProductPoint>& products) {
  std::map<std::tuple<Pass, double, double, double>, Seconds> fp32;
  const auto key = [](const Product& p) { return std::tuple(p.pass, p.rows, p.in, p.out); };
  for (const ProductPoint& point : products) {
    if (point.product.dtype == DType::fp32) fp32.emplace(key(point.product), point.time.value);
  }
  for (ProductPoint& point : products) {
    if (point.product.dtype != DType::tf32) continue;
    const auto same = fp32.find(key(point.product));
    if (same != fp32.end()) point.time.value = std::min(point.time.value, same->second);
  }
}

void describe_device(const GpuType& type, Machine& machine) {
  machine.device.name = type.title;
  machine.device.multiprocessors = type.multiprocessors;
  machine.device.compute_capability = type.compute_capability;
  machine.device.memory = type.memory_gib * kGiB;
  machine.device.nvlink_generation = type.nvlink;
  machine.device.pcie_generation = type.pcie;
}

HostCosts usual_host() {
  HostCosts host;
  host.step_per_tensor = {Seconds(128e-6), 0.20, kHostOrigin};
  host.extra_micro_batch = {Seconds(0.2e-3), 0.20, kHostOrigin};
  host.sync_per_tensor = {Seconds(44e-6), 0.20, kHostOrigin};
  host.per_bucket = {Seconds(123e-6), 0.20, kHostOrigin};
  host.hook_per_bucket = {Seconds(130e-6), 0.20, kHostOrigin};
  host.fsdp = {Seconds(2.9e-3), 0.20, kHostOrigin};
  return host;
}

}  // namespace

std::span<const GpuType> gpu_types() { return kTypes; }

const GpuType* find_gpu_type(std::string_view name) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const GpuType& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : found;
}

const GpuType* gpu_type_of(const Device& device) {
  const GpuType* best = nullptr;
  for (const GpuType& type : kTypes) {
    const bool same = device.name == type.title || says(device.name, type.device);
    // "A100-SXM4-40GB" holds "A100-SXM" too: the longer part is the more exact.
    if (same && (best == nullptr || type.device.size() > best->device.size())) best = &type;
  }
  return best;
}

double step_ratio(const GpuType& from, const GpuType& to, DType dtype) {
  const double compute = reached(from, dtype) / reached(to, dtype);
  const double memory = from.memory_gb_per_s / to.memory_gb_per_s;
  return std::pow(compute, kComputeWeight) * std::pow(memory, 1 - kComputeWeight);
}

Machine machine_of(const GpuType& type) {
  Machine machine;
  machine.name = type.name;
  describe_device(type, machine);
  const BytesPerSecond memory(type.memory_gb_per_s * 1e9 * kMemoryShare);
  machine.copy_bandwidth = {memory, kMemoryError, kOrigin};
  machine.optimizer_bandwidth = {memory, kMemoryError, kOrigin};
  machine.kernel_gap = {Seconds(1.5e-6), 0.3, kHostOrigin};
  machine.host[static_cast<std::size_t>(Engine::torch)] = usual_host();
  machine.hook_overlap = {0.5, 0.5, "prior: kept 0.4 to 1.0 on two H200"};
  machine.residual = 0.03;
  for (DType dtype : {DType::fp32, DType::tf32, DType::bf16, DType::fp16}) {
    if (!multiplies(type, dtype)) continue;
    for (double size : {64.0, 256.0, 1024.0, 4096.0, 16384.0}) {
      for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
        const Product product{pass, dtype, size, size, size};
        const Seconds time(product.flops().value() / reached(type, dtype) + kLaunch);
        machine.products.push_back({product, {time, kShareError, kOrigin}, std::nullopt});
      }
    }
  }
  machine.notes.emplace_back("from the datasheet: nothing of it was measured");
  return machine;
}

Machine carried_to(const Machine& machine, const GpuType& to) {
  const GpuType* from = gpu_type_of(machine.device);
  if (from == nullptr) {
    throw InputError("--gpu", "carries compute from a GPU it knows, and machine " + machine.name +
                                  " is a " + machine.device.name +
                                  "; leave --machine out to take the datasheet alone");
  }
  Machine carried = machine;
  carried.name = machine.name + " to " + std::string(to.name);
  describe_device(to, carried);
  const std::string origin = "prior: carried from " + std::string(from->title);
  const double memory = to.memory_gb_per_s / from->memory_gb_per_s;
  for (auto* bandwidth : {&carried.copy_bandwidth, &carried.optimizer_bandwidth}) {
    *bandwidth = {bandwidth->value * memory, std::hypot(bandwidth->relative_error, kMemoryError),
                  origin};
  }
  carried.forward_bandwidth.reset();
  carried.backward_bandwidth.reset();
  carried.adamw_bandwidth.reset();
  carried.adamw_points.clear();
  std::erase_if(carried.products,
                [&](const ProductPoint& point) { return !multiplies(to, point.product.dtype); });
  for (ProductPoint& point : carried.products) {
    const DType dtype = point.product.dtype;
    point.time = {point.time.value * (reached(*from, dtype) / reached(to, dtype)),
                  std::hypot(point.time.relative_error, kShareError), origin};
    // Another GPU's library may take another kernel.
    point.grid.reset();
  }
  keep_faster(carried.products);
  carried.kernel_costs.clear();
  carried.one_gpu_steps.clear();
  carried.links.clear();
  carried.boost.reset();
  carried.power_window.reset();
  carried.sustained.reset();
  carried.memory_beside.reset();
  carried.notes.push_back(origin);
  return carried;
}

}  // namespace ddpx
