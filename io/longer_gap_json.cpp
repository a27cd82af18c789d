#include "io/longer_gap_json.hpp"

#include <algorithm>
#include <cmath>

#include "io/estimate_json.hpp"

namespace ddpx::io {
namespace {

// They charged products a gap that their times have already: only the difference is kept.
void take_older_gap(const Reader& from, Machine& machine) {
  const auto whole = estimate_of<Seconds>(from, kGap);
  const Seconds longer = std::max(Seconds{}, whole.value - machine.kernel_gap.value);
  // Of the difference of two that were found apart.
  const double error =
      std::hypot(whole.relative_error * whole.value.value(),
                 machine.kernel_gap.relative_error * machine.kernel_gap.value.value());
  machine.longer_gap.fill(
      Estimate<Seconds>{longer, longer > Seconds{} ? error / longer.value() : 0, whole.origin});
  machine.notes.emplace_back(
      "fitted by an earlier version, whose gaps between kernels (shared_gap_s) meant something "
      "else; fit the measurements again (ddpx-calibrate --from)");
}

}  // namespace

void take_longer_gap(const Reader& top, Machine& machine) {
  const auto longer = top.find("longer_gap_s");
  const auto older = top.find("shared_gap_s");
  if (longer && older)
    older->refuse("is the older form of longer_gap_s, which is there too; drop shared_gap_s");
  if (older) take_older_gap(*older, machine);
  if (!longer) return;
  longer->only({name(Engine::native), name(Engine::torch)});
  for (const Engine engine : kEngines) {
    if (const auto given = longer->find(name(engine)))
      machine.longer_gap.at(static_cast<std::size_t>(engine)) = estimate_of<Seconds>(*given, kGap);
  }
}

void append_longer_gap(JsonObject& members, const Machine& machine) {
  JsonObject by_engine;
  for (const Engine engine : kEngines) {
    if (const auto& given = machine.longer_gap.at(static_cast<std::size_t>(engine)))
      by_engine.emplace_back(name(engine), estimate_json(*given));
  }
  if (!by_engine.empty()) members.emplace_back("longer_gap_s", std::move(by_engine));
}

}  // namespace ddpx::io
