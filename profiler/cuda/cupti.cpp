#include "profiler/cuda/cupti.hpp"

#include <cupti.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "profiler/cuda/cupti_records.hpp"

namespace ddpx::cuda {
namespace {

constexpr std::array kKinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                               CUPTI_ACTIVITY_KIND_MEMSET};

// CUPTI's callbacks carry no pointer of ours.
std::atomic<RecordBuffers*> active_buffers = nullptr;

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  RecordBuffers* const buffers = active_buffers;
  *buffer = buffers != nullptr ? buffers->take() : nullptr;
  *size = *buffer != nullptr ? RecordBuffers::kBytes : 0;
  *records = 0;  // as many as fit
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                               std::size_t valid_bytes) {
  RecordBuffers* const buffers = active_buffers;
  if (buffers != nullptr) buffers->give_back(buffer, valid_bytes);
}

void CUPTIAPI no_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

}  // namespace

class Tracer::Session {
 public:
  explicit Session(CuptiSymbols symbols) : symbols_(std::move(symbols)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  ~Session() {
    if (subscriber_ != nullptr) release();
  }

  // nullopt when it can trace, else the refusal.
  std::optional<std::string> set_up() {
    for (const char* needed :
         {"cuptiSubscribe", "cuptiUnsubscribe", "cuptiActivityRegisterCallbacks",
          "cuptiActivityEnable", "cuptiActivityDisable", "cuptiActivityFlushAll",
          "cuptiActivityGetNextRecord", "cuptiActivityGetNumDroppedRecords", "cuptiGetVersion"}) {
      if (symbols_(needed) == nullptr)
        return "CUPTI has no " + std::string(needed) + kWithoutRecords;
    }
    std::uint32_t version = 0;
    if (const CUptiResult status = call<std::uint32_t*>("cuptiGetVersion", &version))
      return refusal(status, "cuptiGetVersion");
    if (version < kOldestCupti) {
      return "CUPTI is of API version " + std::to_string(version) +
             ", older than that of CUDA 12.4 (" + std::to_string(kOldestCupti) + ")" +
             kWithoutRecords;
    }
    // First, because it alone tells that another tool has the process.
    CUpti_SubscriberHandle subscriber = nullptr;
    if (const CUptiResult status = call<CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*>(
            "cuptiSubscribe", &subscriber, no_callback, nullptr))
      return refusal(status, "cuptiSubscribe");
    subscriber_ = subscriber;
    active_buffers = &buffers_;
    // Buffers come zeroed, or CUPTI would clear them on the thread that launches kernels. An
    // attribute that a version does not know changes nothing but that.
    if (symbols_("cuptiActivitySetAttribute") != nullptr) {
      std::uint8_t zeroed = 1;
      std::size_t size = sizeof zeroed;
      call<CUpti_ActivityAttribute, std::size_t*, void*>(
          "cuptiActivitySetAttribute", CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size,
          &zeroed);
    }
    if (const CUptiResult status =
            call<CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc>(
                "cuptiActivityRegisterCallbacks", buffer_requested, buffer_completed))
      return refusal(status, "cuptiActivityRegisterCallbacks");
    return std::nullopt;
  }

  std::optional<std::string> start() {
    if (subscriber_ == nullptr) return "CUPTI was detached" + kWithoutRecords;
    for (const CUpti_ActivityKind kind : kKinds) {
      if (const CUptiResult status = call<CUpti_ActivityKind>("cuptiActivityEnable", kind)) {
        disable();
        return refusal(status, "cuptiActivityEnable");
      }
    }
    return std::nullopt;
  }

  Trace stop() {
    Trace trace;
    if (subscriber_ == nullptr) return trace;
    call<std::uint32_t>("cuptiActivityFlushAll", 0);
    disable();
    // What is left now are records that will never be complete; they are counted.
    call<std::uint32_t>("cuptiActivityFlushAll", CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    std::size_t dropped = 0;
    if (call<CUcontext, std::uint32_t, std::size_t*>("cuptiActivityGetNumDroppedRecords", nullptr,
                                                     0, &dropped) == CUPTI_SUCCESS) {
      trace.dropped = dropped;
    }
    buffers_.drain(
        reinterpret_cast<RecordBuffers::NextRecord>(symbols_("cuptiActivityGetNextRecord")), trace);
    std::sort(trace.kernels.begin(), trace.kernels.end(),
              [](const Kernel& a, const Kernel& b) { return a.start_ns < b.start_ns; });
    return trace;
  }

  void detach() {
    if (subscriber_ == nullptr) return;
    release();
    if (symbols_("cuptiFinalize") != nullptr) call<>("cuptiFinalize");
  }

 private:
  template <class... Arguments>
  CUptiResult call(const char* function, Arguments... arguments) {
    return reinterpret_cast<CUptiResult(CUPTIAPI*)(Arguments...)>(symbols_(function))(arguments...);
  }

  void disable() {
    for (const CUpti_ActivityKind kind : kKinds)
      call<CUpti_ActivityKind>("cuptiActivityDisable", kind);
  }

  // Buffers come back before nobody takes them any more.
  void release() {
    disable();
    call<std::uint32_t>("cuptiActivityFlushAll", CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    call<CUpti_SubscriberHandle>("cuptiUnsubscribe", subscriber_);
    subscriber_ = nullptr;
    active_buffers = nullptr;
  }

  std::string refusal(CUptiResult status, const std::string& doing) {
    switch (status) {
      case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return "another tool traces this process by CUPTI (a profiler such as Nsight, or "
               "torch.profiler; end it to have records)" +
               kWithoutRecords;
      case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return "CUPTI may not trace here (status " + std::to_string(static_cast<int>(status)) +
               "; load the driver with NVreg_RestrictProfilingToAdminUsers=0, or give the "
               "container CAP_SYS_ADMIN)" +
               kWithoutRecords;
      default:
        break;
    }
    const char* word = nullptr;
    if (symbols_("cuptiGetResultString") != nullptr)
      call<CUptiResult, const char**>("cuptiGetResultString", status, &word);
    return doing + " was refused (" +
           (word != nullptr ? word : "status " + std::to_string(static_cast<int>(status))) + ")" +
           kWithoutRecords;
  }

  CuptiSymbols symbols_;
  RecordBuffers buffers_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

Tracer::Tracer(std::unique_ptr<Session> session) : session_(std::move(session)) {}
Tracer::~Tracer() = default;

std::variant<std::unique_ptr<Tracer>, std::string> Tracer::open(CuptiSymbols symbols) {
  if (active_buffers.load() != nullptr)
    return "this process traces by CUPTI already" + kWithoutRecords;
  auto session = std::make_unique<Session>(std::move(symbols));
  if (std::optional<std::string> reason = session->set_up()) return *reason;
  return std::unique_ptr<Tracer>(new Tracer(std::move(session)));
}

std::optional<std::string> Tracer::start() { return session_->start(); }
Trace Tracer::stop() { return session_->stop(); }
void Tracer::detach() { session_->detach(); }

}  // namespace ddpx::cuda
