// Between which values a rate or a time of a file can be what it says it is. Wide on purpose: ten
// years of hardware either way and what a fit may leave of a constant, so that what lies outside is
// a wrong unit or a slip of a key. docs/files.md has them as a table.
#pragma once

#include <string_view>

namespace ddpx::io {

struct Plausible {
  double least;
  double most;
  std::string_view what;  // with its unit
};

// A core's copies are some 1e9 bytes per second, HBM4's 1e13.
inline constexpr Plausible kMemoryRate{1e7, 1e16, "bytes per second of a memory"};
// 8 kb/s to a hundred times the links of an NVL72's GPU.
inline constexpr Plausible kLinkRate{1e3, 1e15, "bytes per second of a link"};
inline constexpr Plausible kSize{1, 1e16, "bytes"};
inline constexpr Plausible kMemorySize{0, 1e16, "bytes of memory; 0: not known"};
inline constexpr Plausible kMeasuredTime{1e-10, 1e6, "seconds that were measured"};
inline constexpr Plausible kLatency{1e-10, 1e3, "seconds of latency"};
// A constant that nothing is left of may be 0.
inline constexpr Plausible kFittedLatency{0, 1e3, "seconds of latency"};
inline constexpr Plausible kHostTime{0, 1e3, "seconds of the host"};
inline constexpr Plausible kGap{0, 1, "seconds between kernels"};
inline constexpr Plausible kWindow{1e-6, 1e4, "seconds that power is averaged over"};
inline constexpr Plausible kBurst{1e-12, 1e3, "seconds that a link saves up"};
inline constexpr Plausible kSecondsPerByte{0, 1e-3, "seconds per byte"};
inline constexpr Plausible kFactor{1e-3, 1e3, "times as long"};
inline constexpr Plausible kSlowdown{0, 1e4, "of what runs beside it"};
inline constexpr Plausible kShare{0, 1, "a share of the whole"};
inline constexpr Plausible kRelativeError{0, 100, "as a fraction: 0.05 is 5 %"};
inline constexpr Plausible kClock{0, 1e5, "MHz"};
inline constexpr Plausible kPower{0, 1e5, "watts"};
inline constexpr Plausible kCelsius{0, 300, "degrees Celsius"};

// Whether so many bytes may move in the time over what has such a `rate`. Small messages wait, so
// that a low one says nothing where the time is short.
[[nodiscard]] constexpr bool plausible_move(double bytes, double seconds, const Plausible& rate) {
  constexpr double kWaiting = 1;
  const double reached = bytes / seconds;
  return reached <= rate.most && (seconds <= kWaiting || reached >= rate.least);
}

// Of a constant that is named as in a machine file: its last word says the unit.
[[nodiscard]] constexpr const Plausible& plausible_for(std::string_view constant) {
  if (constant.ends_with("_bytes_per_s")) return kMemoryRate;
  if (constant.ends_with("gap_s")) return kGap;
  if (constant.ends_with("power_window_s")) return kWindow;
  if (constant.ends_with("_s")) return kHostTime;
  if (constant.ends_with("residual") || constant.ends_with("spread")) return kRelativeError;
  return kSlowdown;
}

}  // namespace ddpx::io
