#include "calibration/sweep_records.hpp"

#include <vector>

namespace ddpx {

bool record_product(Backend& backend, ProductSample& sample) {
  std::optional<RecordedProduct> record = backend.record(sample.product);
  if (!record) return false;
  sample.kernel = std::move(record->kernel);
  sample.recorded_seconds = std::move(record->seconds);
  return true;
}

void record_kernels(Backend& backend, Measurements& measurements) {
  for (ProductSample& sample : measurements.products) {
    if (!sample.kernel && !record_product(backend, sample)) break;
  }
  const CollectiveSample* largest = nullptr;
  for (const CollectiveSample& sample : measurements.collectives) {
    if (sample.call.kind == Collective::all_reduce && sample.call.dtype == DType::fp32 &&
        (largest == nullptr || sample.call.bytes > largest->call.bytes))
      largest = &sample;
  }
  if (largest == nullptr || measurements.links.empty()) return;
  if (const auto channels = backend.channels(largest->call))
    measurements.links.back().channels = *channels;
}

void ask_for_reports(Backend& backend, Measurements& measurements) {
  std::vector<CollectiveSample>& samples = measurements.collectives;
  std::vector<CollectiveCall> calls;
  for (const CollectiveSample& sample : samples) calls.push_back(sample.call);
  if (calls.empty()) return;
  const auto reports = backend.reported(calls);
  const CollectiveSample* largest = nullptr;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    samples[i].reported = reports[i];
    if (samples[i].call.kind == Collective::all_reduce && reports[i] &&
        (largest == nullptr || samples[i].call.bytes > largest->call.bytes))
      largest = &samples[i];
  }
  if (largest != nullptr && !measurements.links.empty() && measurements.links.back().channels == 0)
    measurements.links.back().channels = largest->reported->channels;
}

}  // namespace ddpx
