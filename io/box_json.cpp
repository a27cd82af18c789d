#include "io/box_json.hpp"

#include "io/beside_json.hpp"
#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

// Members that a driver may not know, with the key each has.
struct State {
  const char* key;
  std::optional<double> RankLoad::*member;
  const Plausible& range;
};
constexpr State kStates[] = {{"clock_mhz", &RankLoad::clock_mhz, kClock},
                             {"memory_mhz", &RankLoad::memory_mhz, kClock},
                             {"power_w", &RankLoad::power_w, kPower},
                             {"power_limit_w", &RankLoad::power_limit_w, kPower},
                             {"celsius", &RankLoad::celsius, kCelsius}};

RankLoad rank_load_of(const Reader& from) {
  from.only({"times_s", "dropped", "clock_mhz", "memory_mhz", "power_w", "power_limit_w", "celsius",
             "slowed_by"});
  RankLoad load;
  load.seconds = from.at("times_s").all_positive(kMeasuredTime);
  load.dropped = dropped_of(from);
  for (const auto& [key, member, range] : kStates) {
    if (const auto value = from.find(key)) load.*member = value->plausible(range);
  }
  load.slowed_by = text_or_empty(from, "slowed_by");
  return load;
}

JsonObject rank_load_json(const RankLoad& load) {
  JsonObject members;
  members.emplace_back("times_s", array_json(load.seconds));
  append_dropped(members, load.dropped);
  for (const auto& [key, member, range] : kStates) {
    if (load.*member) members.emplace_back(key, *(load.*member));
  }
  if (!load.slowed_by.empty()) members.emplace_back("slowed_by", load.slowed_by);
  return members;
}

}  // namespace

LoadSample load_sample_of(const Reader& from) {
  from.only({"product", "clocks", "ranks"});
  const Reader product = from.at("product");
  product.only({"pass", "dtype", "rows", "in", "out"});
  LoadSample sample;
  sample.product = product_of(product);
  sample.clocks = from.at("clocks").one_of({Clocks::burst, Clocks::sustained});
  for (const Reader& rank : from.at("ranks").filled()) sample.ranks.push_back(rank_load_of(rank));
  return sample;
}

JsonObject sample_json(const LoadSample& sample) {
  JsonObject product;
  append_product(product, sample.product);
  JsonArray ranks;
  for (const RankLoad& rank : sample.ranks) ranks.emplace_back(rank_load_json(rank));
  JsonObject members;
  members.emplace_back("product", std::move(product));
  members.emplace_back("clocks", name(sample.clocks));
  members.emplace_back("ranks", std::move(ranks));
  return members;
}

PairSample pair_sample_of(const Reader& from) {
  from.only({"first", "second", "bytes", "times_s"});
  PairSample sample;
  sample.first = from.at("first").integer(0, kMostRanks);
  sample.second = from.at("second").integer(0, kMostRanks);
  if (sample.second <= sample.first)
    from.at("second").refuse_value("a rank above \"first\", " + std::to_string(sample.first));
  sample.bytes = Bytes(from.at("bytes").plausible(kSize));
  sample.seconds = from.at("times_s").times_of(sample.bytes.value(), kLinkRate);
  return sample;
}

JsonObject sample_json(const PairSample& sample) {
  JsonObject members;
  members.emplace_back("first", sample.first);
  members.emplace_back("second", sample.second);
  members.emplace_back("bytes", sample.bytes.value());
  members.emplace_back("times_s", array_json(sample.seconds));
  return members;
}

ElementwiseSample elementwise_sample_of(const Reader& from) {
  from.only({"kernel", "dtype", "rows", "columns", "times_s", "dropped"});
  ElementwiseSample sample;
  sample.work.kernel = from.at("kernel").one_of(
      {RowKernel::bias_relu, RowKernel::relu_gradient, RowKernel::bias_gradient});
  sample.work.dtype = dtype_of(from.at("dtype"));
  sample.work.rows = from.at("rows").positive();
  sample.work.columns = from.at("columns").positive();
  sample.seconds = from.at("times_s").all_positive(kMeasuredTime);
  sample.dropped = dropped_of(from);
  return sample;
}

JsonObject sample_json(const ElementwiseSample& sample) {
  JsonObject members;
  members.emplace_back("kernel", name(sample.work.kernel));
  members.emplace_back("dtype", name(sample.work.dtype));
  members.emplace_back("rows", sample.work.rows);
  members.emplace_back("columns", sample.work.columns);
  members.emplace_back("times_s", array_json(sample.seconds));
  append_dropped(members, sample.dropped);
  return members;
}

}  // namespace ddpx::io
