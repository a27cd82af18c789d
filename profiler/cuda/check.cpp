#include "profiler/cuda/check.hpp"

#include <string>

#include "model/error.hpp"

namespace ddpx::cuda {
namespace {

[[noreturn]] void fail(std::string_view library, std::string_view doing,
                       const std::string& status) {
  throw DeviceError(std::string(library) + ": " + std::string(doing) + ": " + status);
}

}  // namespace

void check(cudaError_t status, std::string_view doing) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // or the next call would report it again
  fail("CUDA", doing,
       std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) + ")");
}

void check(cublasStatus_t status, std::string_view doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail("cuBLAS", doing, cublasGetStatusString(status));
}

void check(ncclResult_t status, std::string_view doing) {
  if (status == ncclSuccess) return;
  std::string words = ncclGetErrorString(status);
  const char* last = ncclGetLastError(nullptr);
  if (last != nullptr && *last != '\0') words += " (" + std::string(last) + ")";
  fail("NCCL", doing, words);
}

}  // namespace ddpx::cuda
