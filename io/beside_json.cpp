#include "io/beside_json.hpp"

#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

CollectiveCall call_of(const Reader& from) {
  CollectiveCall call;
  call.kind = collective_of(from.at("collective"));
  call.dtype = dtype_of(from.at("dtype"));
  call.ranks = from.at("ranks").integer(2, kMostRanks);
  call.bytes = Bytes(from.at("bytes").plausible(kSize));
  return call;
}

JsonObject call_json(const CollectiveCall& call) {
  JsonObject members;
  members.emplace_back("collective", name(call.kind));
  members.emplace_back("dtype", name(call.dtype));
  members.emplace_back("ranks", call.ranks);
  members.emplace_back("bytes", call.bytes.value());
  return members;
}

// What samples of products and of copies have alike.
template <class Sample>
void read_collective(const Reader& from, Sample& sample) {
  const Reader call = from.at("call");
  call.only({"collective", "dtype", "ranks", "bytes"});
  sample.link = from.at("link").label();
  sample.call = call_of(call);
  sample.collective_alone_seconds = from.at("collective_alone_times_s").all_positive(kMeasuredTime);
  sample.collective_beside_seconds =
      from.at("collective_beside_times_s").all_positive(kMeasuredTime);
  if (const auto share = from.find("kernel_share")) sample.kernel_share = share->share();
}

template <class Sample>
void append_collective(JsonObject& members, const Sample& sample) {
  members.emplace_back("collective_alone_times_s", array_json(sample.collective_alone_seconds));
  members.emplace_back("collective_beside_times_s", array_json(sample.collective_beside_seconds));
  if (sample.kernel_share > 0) members.emplace_back("kernel_share", sample.kernel_share);
}

}  // namespace

std::vector<DroppedSample> dropped_of(const Reader& sample) {
  std::vector<DroppedSample> dropped;
  const auto list = sample.find("dropped");
  if (!list) return dropped;
  for (const Reader& element : list->elements()) {
    element.only({"time_s", "reason"});
    dropped.push_back({element.at("time_s").plausible(kMeasuredTime), element.at("reason").text()});
  }
  return dropped;
}

void append_dropped(JsonObject& members, const std::vector<DroppedSample>& dropped) {
  if (dropped.empty()) return;
  JsonArray list;
  for (const DroppedSample& sample : dropped) {
    JsonObject element;
    element.emplace_back("time_s", sample.seconds);
    element.emplace_back("reason", sample.reason);
    list.emplace_back(std::move(element));
  }
  members.emplace_back("dropped", std::move(list));
}

LaunchSample launch_sample_of(const Reader& from) {
  from.only({"times_s", "dropped"});
  return {from.at("times_s").all_positive(kMeasuredTime), dropped_of(from)};
}

JsonObject sample_json(const LaunchSample& sample) {
  JsonObject members;
  members.emplace_back("times_s", array_json(sample.seconds));
  append_dropped(members, sample.dropped);
  return members;
}

GapSample gap_sample_of(const Reader& from) {
  from.only({"collectives", "idle_s"});
  return {from.at("collectives").boolean(), from.at("idle_s").plausible(kMeasuredTime)};
}

JsonObject sample_json(const GapSample& sample) {
  JsonObject members;
  members.emplace_back("collectives", sample.collectives);
  members.emplace_back("idle_s", sample.seconds);
  return members;
}

BesideSample beside_sample_of(const Reader& from) {
  from.only({"link", "product", "call", "product_alone_times_s", "product_beside_times_s",
             "collective_alone_times_s", "collective_beside_times_s", "kernel_share"});
  const Reader product = from.at("product");
  product.only({"pass", "dtype", "rows", "in", "out"});
  BesideSample sample;
  sample.product = product_of(product);
  sample.product_alone_seconds = from.at("product_alone_times_s").all_positive(kMeasuredTime);
  sample.product_beside_seconds = from.at("product_beside_times_s").all_positive(kMeasuredTime);
  read_collective(from, sample);
  return sample;
}

JsonObject sample_json(const BesideSample& sample) {
  JsonObject product;
  append_product(product, sample.product);
  JsonObject members;
  members.emplace_back("link", sample.link);
  members.emplace_back("product", std::move(product));
  members.emplace_back("call", call_json(sample.call));
  members.emplace_back("product_alone_times_s", array_json(sample.product_alone_seconds));
  members.emplace_back("product_beside_times_s", array_json(sample.product_beside_seconds));
  append_collective(members, sample);
  return members;
}

CopyBesideSample copy_beside_sample_of(const Reader& from) {
  from.only({"link", "bytes", "call", "copy_alone_times_s", "copy_beside_times_s",
             "collective_alone_times_s", "collective_beside_times_s", "kernel_share"});
  CopyBesideSample sample;
  sample.copy.bytes = Bytes(from.at("bytes").plausible(kSize));
  sample.copy_alone_seconds = from.at("copy_alone_times_s").all_positive(kMeasuredTime);
  sample.copy_beside_seconds = from.at("copy_beside_times_s").all_positive(kMeasuredTime);
  read_collective(from, sample);
  return sample;
}

JsonObject sample_json(const CopyBesideSample& sample) {
  JsonObject members;
  members.emplace_back("link", sample.link);
  members.emplace_back("bytes", sample.copy.bytes.value());
  members.emplace_back("call", call_json(sample.call));
  members.emplace_back("copy_alone_times_s", array_json(sample.copy_alone_seconds));
  members.emplace_back("copy_beside_times_s", array_json(sample.copy_beside_seconds));
  append_collective(members, sample);
  return members;
}

}  // namespace ddpx::io
