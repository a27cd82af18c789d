// Every call into CUDA's libraries goes through check(status, "doing what"): a failure becomes a
// DeviceError that names the library, its status and what was being done.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string_view>

namespace ddpx::cuda {

void check(cudaError_t status, std::string_view doing);
void check(cublasStatus_t status, std::string_view doing);
void check(ncclResult_t status, std::string_view doing);

}  // namespace ddpx::cuda
