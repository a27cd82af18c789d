// CUPTI's activity records as values, and the buffers they come in. Apart from cupti.cpp, so that
// synthetic records test it without a GPU.
#pragma once

#include <cupti.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "profiler/cuda/kernel_records.hpp"

namespace ddpx::cuda {

// CUDA 12.4, the oldest: its kernel records are the first with all that is read here, and later
// ones only append.
inline constexpr std::uint32_t kOldestCupti = 22;

#if CUPTI_API_VERSION >= 130000
using KernelActivity = CUpti_ActivityKernel10;
using CopyActivity = CUpti_ActivityMemcpy6;
#else
using KernelActivity = CUpti_ActivityKernel9;
using CopyActivity = CUpti_ActivityMemcpy5;
#endif
using SetActivity = CUpti_ActivityMemset4;

// Adds the record to the trace; kinds that are not asked for are skipped, records without times
// are counted.
void add_record(const CUpti_Activity& record, Trace& trace);

// Buffers that CUPTI fills on threads of its own. Nothing here throws and nothing is decoded while
// the device works; once all are full CUPTI drops records, and counts them.
class RecordBuffers {
 public:
  static constexpr std::size_t kBytes = 4 << 20;  // about 20,000 kernels
  static constexpr std::size_t kMost = 32;        // 128 MiB

  RecordBuffers() = default;
  RecordBuffers(const RecordBuffers&) = delete;
  RecordBuffers& operator=(const RecordBuffers&) = delete;
  ~RecordBuffers();

  // A zeroed buffer, aligned to 8 bytes and more; nullptr when there is none left.
  [[nodiscard]] std::uint8_t* take() noexcept;
  void give_back(const std::uint8_t* buffer, std::size_t valid_bytes) noexcept;

  // The records of all buffers given back, which are then free again.
  using NextRecord = CUptiResult (*)(std::uint8_t*, std::size_t, CUpti_Activity**);
  void drain(NextRecord next, Trace& trace);

 private:
  struct Slot {
    std::uint8_t* bytes = nullptr;
    std::size_t valid = 0;
    enum class State { free, taken, full } state = State::free;
  };
  std::mutex mutex_;
  std::array<Slot, kMost> slots_{};
};

}  // namespace ddpx::cuda
