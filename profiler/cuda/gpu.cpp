#include "profiler/cuda/gpu.hpp"

#include <array>

#include "model/error.hpp"
#include "profiler/cuda/check.hpp"
#include "profiler/cuda/loading.hpp"

namespace ddpx::cuda {
namespace {

// PyTorch gives cuBLAS as much on Hopper; with less it may choose other kernels.
constexpr std::size_t kWorkspace = std::size_t{32} * 1024 * 1024;
constexpr int kTensorFloats = 80;  // compute capability from which bf16 and tf32 exist

int own_gpu(const RankPlace& place) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice)
    count = 0;
  else
    check(status, "looking for GPUs");
  static_cast<void>(cudaGetLastError());
  if (count < place.ranks_on_host) {
    throw DeviceError("GPUs: " + std::to_string(place.ranks_on_host) +
                      " ranks need as many GPUs, and " + std::to_string(count) +
                      " are visible here; give --ranks " + std::to_string(std::max(1, count)) +
                      ", or check CUDA_VISIBLE_DEVICES");
  }
  check(cudaSetDevice(place.rank_on_host), "taking GPU " + std::to_string(place.rank_on_host));
  return place.rank_on_host;
}

// What a bare family name means on a machine of this age (links/interconnects.json).
std::string nvlink_of(int capability) {
  if (capability >= 100) return "nvlink5";
  if (capability >= 90) return "nvlink4";
  if (capability >= 80) return "nvlink3";
  return "nvlink2";
}

std::string pcie_of(int capability) {
  if (capability >= 90) return "pcie5";
  if (capability >= 80) return "pcie4";
  return "pcie3";
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

struct Format {
  cudaDataType_t data;
  cublasComputeType_t compute;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return {CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::tf32:
      return {CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case DType::bf16:
      return {CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case DType::fp16:
      return {CUDA_R_16F, CUBLAS_COMPUTE_32F};
  }
  return {};
}

}  // namespace

Gpu::Gpu(const RankPlace& place) : index_(own_gpu(place)) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index_), "reading the GPU's properties");
  device_.name = properties.name;
  device_.multiprocessors = properties.multiProcessorCount;
  device_.compute_capability = properties.major * 10 + properties.minor;
  device_.memory = Bytes(static_cast<double>(properties.totalGlobalMem));
  device_.nvlink_generation = nvlink_of(device_.compute_capability);
  device_.pcie_generation = pcie_of(device_.compute_capability);
  l2_bytes_ = static_cast<std::size_t>(properties.l2CacheSize);
  std::array<char, 32> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), index_),
        "reading the GPU's bus id");
  bus_id_ = bus.data();
  compute_ = make_stream();
  communication_ = make_stream();
  workspace_ = allocate_memory(kWorkspace);
  cublasHandle_t blas = nullptr;
  check(cublasCreate(&blas), "starting cuBLAS");
  blas_.reset(blas);
  check(cublasSetStream(blas, compute()), "giving cuBLAS its stream");
  check(cublasSetWorkspace(blas, workspace_.get(), kWorkspace), "giving cuBLAS its workspace");
  load_kernels(compute());
}

std::vector<std::pair<std::string, std::string>> Gpu::context() const {
  int driver = 0;
  int runtime = 0;
  int blas = 0;
  check(cudaDriverGetVersion(&driver), "reading the driver's version");
  check(cudaRuntimeGetVersion(&runtime), "reading CUDA's version");
  check(cublasGetVersion(blas_.get(), &blas), "reading cuBLAS's version");
  return {{"cuda_driver", version_text(driver)},
          {"cuda_runtime", version_text(runtime)},
          {"cublas", std::to_string(blas)}};
}

bool Gpu::supports(DType dtype) const {
  return dtype == DType::fp32 || dtype == DType::fp16 ||
         device_.compute_capability >= kTensorFloats;
}

// cuBLAS thinks in columns: a row-major matrix is its transpose, stored by columns. With
//   Y = X W^T  ->  Y^T = W X^T,   dX = dY W  ->  dX^T = W^T dY^T,   dW = dY^T X  ->  dW^T = X^T dY
// every operand is taken as it lies in memory.
void Gpu::multiply(const Product& product, const void* a, const void* b, void* c) {
  const int rows = static_cast<int>(product.rows);
  const int in = static_cast<int>(product.in);
  const int out = static_cast<int>(product.out);
  const float one = 1.0F;
  const float zero = 0.0F;
  const Format format = format_of(product.dtype);
  const auto gemm = [&](cublasOperation_t left_op, cublasOperation_t right_op, int m, int n, int k,
                        const void* left, int left_stride, const void* right, int right_stride) {
    check(cublasGemmEx(blas_.get(), left_op, right_op, m, n, k, &one, left, format.data,
                       left_stride, right, format.data, right_stride, &zero, c, format.data, m,
                       format.compute, CUBLAS_GEMM_DEFAULT),
          "a matrix product");
  };
  switch (product.pass) {
    case Pass::forward:  // a = X, b = W
      return gemm(CUBLAS_OP_T, CUBLAS_OP_N, out, rows, in, b, in, a, in);
    case Pass::data_gradient:  // a = dY, b = W
      return gemm(CUBLAS_OP_N, CUBLAS_OP_N, in, rows, out, b, in, a, out);
    case Pass::weight_gradient:  // a = dY, b = X
      return gemm(CUBLAS_OP_N, CUBLAS_OP_T, in, out, rows, b, in, a, out);
  }
}

}  // namespace ddpx::cuda
