// The tracer on a CUPTI of the test's own: a table of functions with CUPTI's signatures that keeps
// the callbacks and delivers records at a flush.

#include "profiler/cuda/cupti.hpp"

#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "profiler/cuda/cupti_records.hpp"

namespace ddpx::cuda {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

struct State {
  CUptiResult subscribe = CUPTI_SUCCESS;
  CUptiResult enable = CUPTI_SUCCESS;
  std::uint32_t version = CUPTI_API_VERSION;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::vector<KernelActivity> pending;
  std::size_t dropped = 0;
  std::vector<int> enabled;
  int unsubscribed = 0;
  int finalized = 0;
};
State g_cupti;

CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc, void*) {
  *handle = reinterpret_cast<CUpti_SubscriberHandle>(&g_cupti);
  return g_cupti.subscribe;
}
CUptiResult unsubscribe(CUpti_SubscriberHandle) { return ++g_cupti.unsubscribed, CUPTI_SUCCESS; }
CUptiResult version(std::uint32_t* value) { return *value = g_cupti.version, CUPTI_SUCCESS; }
CUptiResult set_callbacks(CUpti_BuffersCallbackRequestFunc request,
                          CUpti_BuffersCallbackCompleteFunc complete) {
  g_cupti.request = request;
  g_cupti.complete = complete;
  return CUPTI_SUCCESS;
}
CUptiResult enable(CUpti_ActivityKind kind) {
  if (g_cupti.enable == CUPTI_SUCCESS) g_cupti.enabled.push_back(kind);
  return g_cupti.enable;
}
CUptiResult disable(CUpti_ActivityKind kind) {
  return std::erase(g_cupti.enabled, kind), CUPTI_SUCCESS;
}
CUptiResult flush(std::uint32_t) {
  if (g_cupti.pending.empty()) return CUPTI_SUCCESS;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::size_t records = 1;
  g_cupti.request(&buffer, &size, &records);
  EXPECT_EQ(records, 0);
  const std::size_t bytes = g_cupti.pending.size() * sizeof(KernelActivity);
  EXPECT_LE(bytes, size);
  std::memcpy(buffer, g_cupti.pending.data(), bytes);
  g_cupti.pending.clear();
  g_cupti.complete(nullptr, 0, buffer, size, bytes);
  return CUPTI_SUCCESS;
}
CUptiResult next(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  auto* const at = reinterpret_cast<std::uint8_t*>(*record);
  std::uint8_t* const after = at == nullptr ? buffer : at + sizeof(KernelActivity);
  if (after + sizeof(KernelActivity) > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(after);
  return CUPTI_SUCCESS;
}
CUptiResult dropped(CUcontext, std::uint32_t, std::size_t* n) {
  *n = std::exchange(g_cupti.dropped, 0);
  return CUPTI_SUCCESS;
}
CUptiResult finalize() { return ++g_cupti.finalized, CUPTI_SUCCESS; }
CUptiResult result_string(CUptiResult, const char** text) {
  return *text = "CUPTI_ERROR_IN_WORDS", CUPTI_SUCCESS;
}

std::map<std::string, void*> functions() {
  const auto address = [](auto* function) { return reinterpret_cast<void*>(function); };
  return {{"cuptiSubscribe", address(subscribe)},
          {"cuptiUnsubscribe", address(unsubscribe)},
          {"cuptiGetVersion", address(version)},
          {"cuptiActivityRegisterCallbacks", address(set_callbacks)},
          {"cuptiActivityEnable", address(enable)},
          {"cuptiActivityDisable", address(disable)},
          {"cuptiActivityFlushAll", address(flush)},
          {"cuptiActivityGetNextRecord", address(next)},
          {"cuptiActivityGetNumDroppedRecords", address(dropped)},
          {"cuptiFinalize", address(finalize)},
          {"cuptiGetResultString", address(result_string)}};
}

using Opened = std::variant<std::unique_ptr<Tracer>, std::string>;

Opened open(std::map<std::string, void*> table = functions()) {
  return Tracer::open([table = std::move(table)](const char* name) -> void* {
    const auto found = table.find(name);
    return found == table.end() ? nullptr : found->second;
  });
}

std::string refusal(const Opened& opened) {
  return std::holds_alternative<std::string>(opened) ? std::get<std::string>(opened) : "none";
}

KernelActivity kernel(std::uint64_t start, std::uint64_t end) {
  KernelActivity record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = "k";
  record.start = start;
  record.end = end;
  return record;
}

class TracerTest : public testing::Test {
 protected:
  TracerTest() { g_cupti = State{}; }
};

TEST_F(TracerTest, delivers_the_records_of_each_visit_by_start_and_counts_the_dropped) {
  Opened opened = open();
  ASSERT_EQ(refusal(opened), "none");
  Tracer& tracer = *std::get<0>(opened);
  ASSERT_EQ(tracer.start(), std::nullopt);
  EXPECT_THAT(g_cupti.enabled, ElementsAre(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET));
  g_cupti.pending = {kernel(50, 60), kernel(10, 20), kernel(0, 0)};
  g_cupti.dropped = 4;
  const Trace first = tracer.stop();
  ASSERT_EQ(first.kernels.size(), 2);
  EXPECT_EQ(first.kernels[0].start_ns, 10);
  EXPECT_EQ(first.dropped, 4);
  EXPECT_EQ(first.untimed, 1);
  EXPECT_TRUE(g_cupti.enabled.empty());

  ASSERT_EQ(tracer.start(), std::nullopt);
  g_cupti.pending = {kernel(100, 110)};
  const Trace second = tracer.stop();
  EXPECT_EQ(second.kernels.size(), 1);
  EXPECT_EQ(second.dropped, 0);
}

TEST_F(TracerTest, never_asks_for_the_kind_that_serialises_kernels) {
  Opened opened = open();
  ASSERT_EQ(std::get<0>(opened)->start(), std::nullopt);
  EXPECT_THAT(g_cupti.enabled, testing::Not(Contains(CUPTI_ACTIVITY_KIND_KERNEL)));
}

TEST_F(TracerTest, another_subscriber_is_named_with_what_is_lost) {
  g_cupti.subscribe = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  const std::string reason = refusal(open());
  EXPECT_THAT(reason, HasSubstr("another tool traces this process"));
  EXPECT_THAT(reason, HasSubstr("kernel grids are unknown and intervals widen"));
  EXPECT_EQ(g_cupti.unsubscribed, 0);
}

TEST_F(TracerTest, missing_permission_names_both_remedies) {
  g_cupti.enable = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  Opened opened = open();
  ASSERT_EQ(refusal(opened), "none");
  const auto reason = std::get<0>(opened)->start();
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, HasSubstr("status 35"));
  EXPECT_THAT(*reason, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_THAT(*reason, HasSubstr("CAP_SYS_ADMIN"));
}

TEST_F(TracerTest, any_other_refusal_has_the_librarys_word) {
  g_cupti.subscribe = CUPTI_ERROR_UNKNOWN;
  EXPECT_THAT(refusal(open()), HasSubstr("cuptiSubscribe was refused (CUPTI_ERROR_IN_WORDS)"));
  auto table = functions();
  table.erase("cuptiGetResultString");
  EXPECT_THAT(refusal(open(table)), HasSubstr("status 999"));
}

TEST_F(TracerTest, an_old_or_incomplete_library_is_refused) {
  g_cupti.version = 21;
  EXPECT_THAT(refusal(open()), HasSubstr("older than that of CUDA 12.4"));
  auto table = functions();
  table.erase("cuptiActivityFlushAll");
  EXPECT_THAT(refusal(open(table)), HasSubstr("has no cuptiActivityFlushAll"));
}

TEST_F(TracerTest, is_one_at_a_time_and_leaves_cupti_free) {
  {
    Opened first = open();
    ASSERT_EQ(refusal(first), "none");
    EXPECT_THAT(refusal(open()), HasSubstr("already"));
  }
  EXPECT_EQ(g_cupti.unsubscribed, 1);
  EXPECT_EQ(refusal(open()), "none");
}

TEST_F(TracerTest, detached_it_traces_no_more_and_cupti_is_gone) {
  Opened opened = open();
  Tracer& tracer = *std::get<0>(opened);
  tracer.detach();
  tracer.detach();
  EXPECT_EQ(g_cupti.finalized, 1);
  EXPECT_EQ(g_cupti.unsubscribed, 1);
  EXPECT_TRUE(tracer.start());
  EXPECT_TRUE(tracer.stop().kernels.empty());
  EXPECT_EQ(refusal(open()), "none");
}

TEST_F(TracerTest, cupti_that_asks_for_a_buffer_after_the_end_gets_none) {
  { Opened opened = open(); }
  std::uint8_t* buffer = reinterpret_cast<std::uint8_t*>(1);
  std::size_t size = 1;
  std::size_t records = 1;
  g_cupti.request(&buffer, &size, &records);
  EXPECT_EQ(buffer, nullptr);
  EXPECT_EQ(size, 0);
}

TEST_F(TracerTest, looks_for_the_version_of_the_toolkit_first_and_names_what_it_tried) {
  CuptiPlaces places;
  places.cuda_major = 12;
  places.cuda_homes = {"/opt/cuda"};
  places.site_packages = {"/venv/site-packages"};
  const std::vector<std::string> names = cupti_candidates(places);
  EXPECT_EQ(names.front(), "libcupti.so.12");
  EXPECT_THAT(names, Contains("libcupti.so.13"));
  EXPECT_THAT(names, Contains("/opt/cuda/extras/CUPTI/lib64/libcupti.so"));
  EXPECT_THAT(names, Contains("/venv/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12"));
  places.cuda_major = 13;
  EXPECT_EQ(cupti_candidates(places).front(), "libcupti.so.13");
  EXPECT_THAT(cupti_candidates(places),
              Contains("/venv/site-packages/nvidia/cu13/lib/libcupti.so.13"));
  EXPECT_THAT(cupti_places(13).cuda_homes, Contains("/usr/local/cuda"));
}

}  // namespace
}  // namespace ddpx::cuda
