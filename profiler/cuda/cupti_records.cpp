#include "profiler/cuda/cupti_records.hpp"

#include <cstdlib>
#include <cstring>

namespace ddpx::cuda {
namespace {

const char* copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "copy device to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "copy device to other device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "copy host to host";
    default:
      return "copy";
  }
}

// CUPTI leaves both times zero where it could not take them.
bool timed(std::uint64_t start, std::uint64_t end) { return start != 0 && end >= start; }

int at_least_one(std::uint32_t size) { return size == 0 ? 1 : static_cast<int>(size); }

Kernel kernel_of(const KernelActivity& record) {
  Kernel kernel;
  kernel.name = record.name != nullptr ? record.name : "unnamed";
  kernel.grid = {record.gridX, record.gridY, record.gridZ};
  kernel.block = {record.blockX, record.blockY, record.blockZ};
  kernel.cluster = {at_least_one(record.clusterX), at_least_one(record.clusterY),
                    at_least_one(record.clusterZ)};
  if (record.maxActiveClusters > 0)
    kernel.max_active_clusters = static_cast<int>(record.maxActiveClusters);
  kernel.registers_per_thread = record.registersPerThread;
  kernel.static_shared_bytes = record.staticSharedMemory;
  kernel.dynamic_shared_bytes = record.dynamicSharedMemory;
  kernel.device = static_cast<int>(record.deviceId);
  kernel.stream = static_cast<int>(record.streamId);
  kernel.start_ns = record.start;
  kernel.end_ns = record.end;
  kernel.correlation = record.correlationId;
  return kernel;
}

template <class Activity>
Transfer transfer_of(const Activity& record, const char* name) {
  return {name,
          static_cast<double>(record.bytes),
          static_cast<int>(record.deviceId),
          static_cast<int>(record.streamId),
          record.start,
          record.end};
}

template <class Activity>
const Activity* timed_record(const CUpti_Activity& record, Trace& trace) {
  const auto* const found = reinterpret_cast<const Activity*>(&record);
  if (timed(found->start, found->end)) return found;
  ++trace.untimed;
  return nullptr;
}

}  // namespace

void add_record(const CUpti_Activity& record, Trace& trace) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      if (const auto* kernel = timed_record<KernelActivity>(record, trace))
        trace.kernels.push_back(kernel_of(*kernel));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      if (const auto* copy = timed_record<CopyActivity>(record, trace))
        trace.transfers.push_back(transfer_of(*copy, copy_name(copy->copyKind)));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      if (const auto* set = timed_record<SetActivity>(record, trace))
        trace.transfers.push_back(transfer_of(*set, "set"));
      break;
    default:
      break;
  }
}

RecordBuffers::~RecordBuffers() {
  for (Slot& slot : slots_) {
    // CUPTI may still write to one that it never gave back.
    if (slot.state != Slot::State::taken) std::free(slot.bytes);
  }
}

std::uint8_t* RecordBuffers::take() noexcept {
  const std::lock_guard lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.state != Slot::State::free) continue;
    if (slot.bytes == nullptr) slot.bytes = static_cast<std::uint8_t*>(std::calloc(1, kBytes));
    if (slot.bytes == nullptr) return nullptr;
    slot.state = Slot::State::taken;
    return slot.bytes;
  }
  return nullptr;
}

void RecordBuffers::give_back(const std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.bytes != buffer || slot.state != Slot::State::taken) continue;
    slot.valid = valid_bytes < kBytes ? valid_bytes : kBytes;
    slot.state = Slot::State::full;
    return;
  }
}

void RecordBuffers::drain(NextRecord next, Trace& trace) {
  // Not under the lock: `next` is CUPTI's, and a flush in it would call give_back.
  std::array<Slot*, kMost> full{};
  std::size_t n = 0;
  {
    const std::lock_guard lock(mutex_);
    for (Slot& slot : slots_) {
      if (slot.state == Slot::State::full) full[n++] = &slot;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    Slot& slot = *full[i];
    CUpti_Activity* record = nullptr;
    while (slot.valid > 0 && next(slot.bytes, slot.valid, &record) == CUPTI_SUCCESS &&
           record != nullptr) {
      add_record(*record, trace);
    }
    std::memset(slot.bytes, 0, kBytes);
    const std::lock_guard lock(mutex_);
    slot.valid = 0;
    slot.state = Slot::State::free;
  }
}

}  // namespace ddpx::cuda
