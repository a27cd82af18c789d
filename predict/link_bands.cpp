// What a link gives, as a band: see check_link.hpp.
#include <algorithm>

#include "model/most_counted.hpp"
#include "predict/check_link.hpp"

namespace ddpx {
Standing Band::standing(BytesPerSecond measured) const {
  if (measured < low) return Standing::below;
  return measured > high ? Standing::above : Standing::within;
}

Band band_of(const Link& link, int ranks, Bytes bytes) {
  const CollectiveCall call{Collective::all_reduce, DType::fp32, bytes, ranks};
  const CollectivePrice priced = price(link, call, InSwitch::no);
  const BytesPerSecond usual = call.bytes / priced.time * bus_factor(call.kind, ranks);
  const double spread = 1.0 + kNormalQuantile90 * priced.relative_error;
  Band band{usual / spread, usual, usual * spread};
  if (link.bandwidth_low.value() > 0 && link.bandwidth.value.value() > 0) {
    band.low = std::min(band.low, usual * (link.bandwidth_low / link.bandwidth.value));
    band.high = std::max(band.high, usual * (link.bandwidth_high / link.bandwidth.value));
  }
  if (const auto most = most_counted(link, call.kind, ranks, InSwitch::no))
    band.high = std::max(usual, std::min(band.high, *most));
  return band;
}

std::optional<Band> in_switch_band(const Link& link, int ranks, Bytes bytes) {
  const CollectiveCall call{Collective::all_reduce, DType::fp32, bytes, ranks};
  const auto time = in_switch_time(link, call);
  if (!time) return std::nullopt;
  const BytesPerSecond usual = bytes / *time * bus_factor(call.kind, ranks);
  return Band{usual / kInSwitchSpread, usual, usual * kInSwitchSpread};
}

}  // namespace ddpx
