#include "profiler/cuda/backend.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/error.hpp"
#include "profiler/cuda/kernel_records.hpp"
#include "profiler/cuda/system.hpp"
#include "profiler/screen.hpp"

namespace ddpx::cuda {
namespace {

// A sample spans at least this: an event's time is good to half a microsecond.
constexpr double kShortestSample = 300e-6;
// nccl-tests' default number of iterations; a queue of NCCL calls much longer than that makes the
// host wait.
constexpr int kMostRuns = 20;
// Time the host needs to queue one piece of work, at most.
constexpr long long kIssueNanoseconds = 12'000;
constexpr long long kLeastHoldNanoseconds = 30'000;
// Window in which products and collectives run side by side.
constexpr double kShortestWindow = 2e-3;
constexpr double kLongestWindow = 60e-3;
constexpr double kProductsPerWindow = 5;
// Products queued beyond the window's expected end: both slow each other.
constexpr double kSpare = 1.6;
constexpr int kMostProducts = 600;

double milliseconds(const EventHandle& from, const EventHandle& to) {
  float time = 0;
  check(cudaEventElapsedTime(&time, from.get(), to.get()), "reading the time between two events");
  return static_cast<double>(time);
}

}  // namespace

CudaBackend::CudaBackend(Pulse& pulse, const BackendOptions& options)
    : site_(pulse), gpu_(site_.gpu()), records_(options.kernel_records) {}

bool CudaBackend::supports(const Operation& operation) const {
  return Workload::supports(operation, gpu_, site_.ranks());
}

EventHandle& CudaBackend::mark(std::size_t index) {
  while (marks_.size() <= index) marks_.push_back(make_event());
  return marks_[index];
}

double CudaBackend::between(std::size_t from, std::size_t to) {
  return 1e-3 * milliseconds(marks_[from], marks_[to]);
}

void CudaBackend::hold(int launches) {
  site_.barrier();
  spin(kLeastHoldNanoseconds + launches * kIssueNanoseconds, gpu_.compute());
  check(cudaEventRecord(mark(0).get(), gpu_.compute()), "recording an event");
  check(cudaStreamWaitEvent(gpu_.communication(), mark(0).get(), 0), "waiting for an event");
}

double CudaBackend::timed(Ready& ready, int runs) {
  const cudaStream_t stream = ready.workload->stream();
  hold(runs);
  check(cudaEventRecord(mark(1).get(), stream), "recording an event");
  for (int i = 0; i < runs; ++i) ready.workload->issue();
  check(cudaEventRecord(mark(2).get(), stream), "recording an event");
  site_.finish();
  return between(1, 2) / runs;
}

double CudaBackend::timed_apart(Ready& ready, int runs) {
  hold(2 * runs);
  for (int i = 0; i <= runs; ++i) {
    check(cudaEventRecord(mark(static_cast<std::size_t>(i) + 1).get(), ready.workload->stream()),
          "recording an event");
    if (i < runs) ready.workload->issue();
  }
  site_.finish();
  return between(1, static_cast<std::size_t>(runs) + 1) / runs;
}

CudaBackend::Ready CudaBackend::prepared(const Operation& operation) {
  Ready ready;
  ready.what = ddpx::describe(operation);
  ready.workload = std::make_unique<Workload>(operation, gpu_, site_.communicator());
  static_cast<void>(timed(ready, 2));  // kernels are loaded and connections made
  ready.seconds = timed(ready, 2);
  site_.maximum(std::span(&ready.seconds, 1));
  ready.runs = static_cast<int>(
      std::clamp(std::ceil(kShortestSample / ready.seconds), 2.0, double{kMostRuns}));
  static_cast<void>(timed(ready, ready.runs));
  return ready;
}

std::vector<double> CudaBackend::sample(const Operation& operation, int n) {
  const std::string what = ddpx::describe(operation);
  if (current_.what != what) {
    current_ = {};  // its memory goes before the next is taken
    current_ = prepared(operation);
  }
  std::vector<double> seconds;
  for (int i = 0; i < n; ++i) seconds.push_back(timed(current_, current_.runs));
  site_.maximum(seconds);
  return seconds;
}

void CudaBackend::issue_together(Ready& product, Ready& collective, int products, int runs) {
  hold(2 * products + runs);
  // Marks: 1 and 2 around the collectives, 3 and on between products.
  check(cudaEventRecord(mark(1).get(), gpu_.communication()), "recording an event");
  for (int i = 0; i < runs; ++i) collective.workload->issue();
  check(cudaEventRecord(mark(2).get(), gpu_.communication()), "recording an event");
  for (int i = 0; i <= products; ++i) {
    check(cudaEventRecord(mark(static_cast<std::size_t>(i) + 3).get(), gpu_.compute()),
          "recording an event");
    if (i < products) product.workload->issue();
  }
}

std::optional<BesideTimes> CudaBackend::recorded_visit(Ready& product, Ready& collective,
                                                       int products, int runs) {
  const int alone = std::max(product.runs, 3);
  const auto product_trace = records_.of(
      [&] {
        for (int i = 0; i < alone; ++i) product.workload->issue();
      },
      site_);
  const auto collective_trace =
      records_.of([&] { static_cast<void>(timed(collective, runs)); }, site_);
  const auto trace =
      records_.of([&] { issue_together(product, collective, products, runs); }, site_);
  const auto main =
      product_trace ? main_kernel(product_trace->kernels, site_.hardware().device) : std::nullopt;
  const auto product_alone = main ? time_of(main->record, *product_trace) : std::nullopt;
  const auto together = main && trace ? side_by_side(main->record, *trace) : std::nullopt;
  std::vector<double> collectives_alone =
      collective_trace ? collective_times(*collective_trace) : std::vector<double>{};
  const auto expected = static_cast<std::size_t>(runs);
  const bool good = product_alone && together && collectives_alone.size() == expected &&
                    together->collectives.size() == expected;
  // One for all: ranks that measured differently could not be put together.
  double bad = good ? 0 : 1;
  site_.maximum(std::span(&bad, 1));
  if (bad > 0) return std::nullopt;
  // A collective's kernel that came first waits in it for the others: the shortest is the time.
  std::vector<double> beside = together->collectives;
  for (auto* times : {&collectives_alone, &beside}) {
    for (double& t : *times) t = -t;
    site_.maximum(*times);
    for (double& t : *times) t = -t;
  }
  std::array<double, 3> slowest{product_alone->value(), together->product.value(), together->share};
  site_.maximum(slowest);
  return BesideTimes{slowest[0], slowest[1], median(collectives_alone), median(beside), slowest[2]};
}

BesideTimes CudaBackend::visit(Ready& product, Ready& collective, int runs) {
  const double window = runs * collective.seconds;
  const int products = static_cast<int>(
      std::clamp(std::ceil(kSpare * window / product.seconds) + 3, 4.0, double{kMostProducts}));
  if (const auto recorded = recorded_visit(product, collective, products, runs)) return *recorded;
  BesideTimes times;
  times.product_alone = timed_apart(product, std::max(product.runs, 3));
  times.collective_alone = timed(collective, std::max(collective.runs, 3));
  issue_together(product, collective, products, runs);
  site_.finish();
  times.collective_beside = between(1, 2) / runs;
  // Products that ran while collectives did, from their beginning to their end; the first may have
  // begun before NCCL's blocks were there.
  const double end = between(0, 2);
  std::size_t last = 1;
  while (last < static_cast<std::size_t>(products) && between(0, last + 4) <= end) ++last;
  const double first_at = between(0, 4);
  const double last_at = between(0, last + 3);
  times.product_beside =
      last > 1 ? (last_at - first_at) / static_cast<double>(last - 1) : between(3, 4);
  std::array<double, 4> slowest{times.product_alone, times.product_beside, times.collective_alone,
                                times.collective_beside};
  site_.maximum(slowest);
  return {slowest[0], slowest[1], slowest[2], slowest[3]};
}

std::vector<BesideTimes> CudaBackend::sample_beside(const Operation& work,
                                                    const CollectiveCall& call, int n) {
  current_ = {};
  Ready first = prepared(work);
  Ready second = prepared(call);
  const double window =
      std::clamp(kProductsPerWindow * first.seconds, kShortestWindow, kLongestWindow);
  const int runs = static_cast<int>(std::clamp(std::ceil(window / second.seconds), 1.0, 200.0));
  std::vector<BesideTimes> visits;
  for (int i = 0; i < n; ++i) visits.push_back(visit(first, second, runs));
  return visits;
}

std::optional<Trace> CudaBackend::recorded(const Operation& operation, int runs) {
  current_ = {};
  Workload work(operation, gpu_, site_.communicator());
  work.issue();  // loads the kernel
  return records_.of(
      [&] {
        for (int i = 0; i < runs; ++i) work.issue();
      },
      site_);
}

std::optional<RecordedProduct> CudaBackend::record(const Product& product) {
  constexpr int kRuns = 5;
  const std::optional<Trace> trace = recorded(product, kRuns);
  if (!trace) return std::nullopt;
  RecordedProduct product_record;
  if (const auto main = main_kernel(trace->kernels, site_.hardware().device)) {
    product_record.kernel = main->record;
    product_record.seconds = run_times(trace->kernels, kRuns);
  }
  return product_record;
}

std::optional<int> CudaBackend::channels(const CollectiveCall& call) {
  constexpr int kRuns = 3;
  const std::optional<Trace> trace = recorded(call, kRuns);
  return trace ? channels_of(*trace) : std::nullopt;
}

GpuState CudaBackend::state() const {
  const auto gpu = driver() ? driver()->gpu(gpu_.bus_id()) : std::nullopt;
  return gpu ? driver()->state(*gpu) : GpuState{};
}

std::string CudaBackend::slowed_by() {
  // One bit per reason; the union over ranks would need more than a maximum, so the ranks' most
  // telling one is taken.
  auto reasons = static_cast<double>(state().throttle_reasons.value_or(0));
  site_.maximum(std::span(&reasons, 1));
  std::string words;
  for (const std::string& word : slowing_words(static_cast<std::uint64_t>(reasons)))
    words += (words.empty() ? "" : ", ") + word;
  return words;
}

}  // namespace ddpx::cuda
