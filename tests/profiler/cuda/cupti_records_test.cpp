#include "profiler/cuda/cupti_records.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ddpx::cuda {
namespace {

KernelActivity kernel() {
  KernelActivity record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.registersPerThread = 168;
  record.start = 1000;
  record.end = 3500;
  record.deviceId = 1;
  record.streamId = 13;
  record.gridX = 2;
  record.gridY = 66;
  record.gridZ = 1;
  record.blockX = 384;
  record.blockY = record.blockZ = 1;
  record.staticSharedMemory = 1024;
  record.dynamicSharedMemory = 212164;
  record.correlationId = 77;
  record.clusterX = 1;
  record.clusterY = 2;
  record.clusterZ = 1;
  record.maxActiveClusters = 66;
  record.name = "nvjet";
  return record;
}

template <class Record>
Trace decoded(const Record& record) {
  Trace trace;
  add_record(reinterpret_cast<const CUpti_Activity&>(record), trace);
  return trace;
}

TEST(CuptiRecords, a_kernel_has_its_grid_registers_memory_cluster_and_times) {
  const Trace trace = decoded(kernel());
  ASSERT_EQ(trace.kernels.size(), 1);
  const Kernel& found = trace.kernels[0];
  EXPECT_EQ(found.name, "nvjet");
  EXPECT_EQ(found.blocks(), 132);
  EXPECT_EQ(found.block, (std::array{384, 1, 1}));
  EXPECT_EQ(found.cluster, (std::array{1, 2, 1}));
  EXPECT_EQ(found.max_active_clusters, 66);
  EXPECT_EQ(found.registers_per_thread, 168);
  EXPECT_EQ(found.static_shared_bytes + found.dynamic_shared_bytes, 213188);
  EXPECT_EQ(found.device, 1);
  EXPECT_EQ(found.stream, 13);
  EXPECT_DOUBLE_EQ(found.duration().value(), 2.5e-6);
  EXPECT_EQ(found.correlation, 77);
}

TEST(CuptiRecords, fields_that_older_parts_leave_at_zero_are_no_answer) {
  KernelActivity record = kernel();
  record.clusterX = record.clusterY = record.clusterZ = record.maxActiveClusters = 0;
  record.name = nullptr;
  const Kernel found = decoded(record).kernels.at(0);
  EXPECT_EQ(found.cluster, (std::array{1, 1, 1}));
  EXPECT_EQ(found.max_active_clusters, std::nullopt);
  EXPECT_EQ(found.name, "unnamed");
}

TEST(CuptiRecords, a_record_without_times_is_counted_and_not_used) {
  KernelActivity record = kernel();
  record.start = record.end = 0;
  EXPECT_TRUE(decoded(record).kernels.empty());
  EXPECT_EQ(decoded(record).untimed, 1);
  record.start = 9;
  record.end = 0;  // still ran when the flush was forced
  EXPECT_EQ(decoded(record).untimed, 1);
}

TEST(CuptiRecords, copies_and_sets_are_transfers) {
  CopyActivity copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
  copy.bytes = 4096;
  copy.start = 10;
  copy.end = 20;
  copy.streamId = 7;
  const Trace trace = decoded(copy);
  ASSERT_EQ(trace.transfers.size(), 1);
  EXPECT_EQ(trace.transfers[0].name, "copy device to device");
  EXPECT_EQ(trace.transfers[0].bytes, 4096);
  EXPECT_EQ(trace.transfers[0].stream, 7);
  SetActivity set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.start = 10;
  set.end = 20;
  EXPECT_EQ(decoded(set).transfers.at(0).name, "set");
}

TEST(CuptiRecords, kinds_that_were_not_asked_for_are_skipped) {
  KernelActivity record = kernel();
  record.kind = CUPTI_ACTIVITY_KIND_KERNEL;
  const Trace trace = decoded(record);
  EXPECT_TRUE(trace.kernels.empty());
  EXPECT_EQ(trace.untimed, 0);
}

// A buffer of kernel records only, as cuptiActivityGetNextRecord walks one.
CUptiResult next_kernel(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  auto* const at = reinterpret_cast<std::uint8_t*>(*record);
  std::uint8_t* const next = at == nullptr ? buffer : at + sizeof(KernelActivity);
  if (next + sizeof(KernelActivity) > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

TEST(CuptiRecords, full_buffers_are_read_and_come_back_zeroed) {
  RecordBuffers buffers;
  std::uint8_t* const buffer = buffers.take();
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 8, 0);
  const KernelActivity record = kernel();
  std::memcpy(buffer, &record, sizeof record);
  std::memcpy(buffer + sizeof record, &record, sizeof record);
  Trace trace;
  buffers.drain(next_kernel, trace);
  EXPECT_TRUE(trace.kernels.empty()) << "CUPTI still had it";
  buffers.give_back(buffer, 2 * sizeof record + 8);  // with a cut record at the end
  buffers.drain(next_kernel, trace);
  EXPECT_EQ(trace.kernels.size(), 2);
  EXPECT_EQ(buffers.take(), buffer);
  EXPECT_EQ(buffer[4], 0);
  EXPECT_EQ(buffer[sizeof record], 0);
  buffers.give_back(buffer, 0);
}

TEST(CuptiRecords, there_are_so_many_buffers_and_foreign_ones_are_ignored) {
  RecordBuffers buffers;
  std::vector<std::uint8_t*> taken;
  for (std::size_t i = 0; i < RecordBuffers::kMost; ++i) taken.push_back(buffers.take());
  EXPECT_NE(taken.back(), nullptr);
  EXPECT_EQ(buffers.take(), nullptr);
  std::uint8_t foreign[8] = {};
  buffers.give_back(foreign, sizeof foreign);
  for (std::uint8_t* buffer : taken) buffers.give_back(buffer, 0);
  Trace trace;
  buffers.drain(next_kernel, trace);
  EXPECT_TRUE(trace.kernels.empty());
}

}  // namespace
}  // namespace ddpx::cuda
