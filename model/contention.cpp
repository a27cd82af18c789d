#include "model/contention.hpp"

#include <algorithm>
#include <cmath>

namespace ddpx {
namespace {

// A persistent kernel of unknown tiles slows a little more than its share of multiprocessors: most
// library kernels of two H200 took 1.25-1.47 beside 24 channels (S/(S-c) = 1.22) and 1.06-1.26
// beside 4 (1.03).
constexpr double kPersistentExcess = 1.12;
// A block alone uses this much of its multiprocessor: kernels of 128 blocks, two of which a
// multiprocessor can hold, took 1.64 times as long where 20 had to share, and those of 256 1.45
// times with three instead of two (two H200).
constexpr double kOneBlock = 0.82;

// Before a kernel's first blocks compute and after its last: kernels of 3 to 8 us took 1.6 to 1.8
// times as long in two waves, those of 40 us and more 1.93 (two H200).
constexpr double kKernelStart = 1e-6;
constexpr double kMostStart = 0.5;
// What blocks of a kernel that memory bounds wait for it less in a wave that is nearly empty, of
// its time: kernels that took all of the bandwidth took 1.35 to 1.44 times as long in two waves.
constexpr double kMemoryWait = 0.65;

double turns(double blocks) { return std::max(1.0, kOneBlock * blocks); }

double rounds(double tiles, double blocks) { return std::max(1.0, std::ceil(tiles / blocks)); }

struct Turns {
  double full = 0;  // of all waves but the last
  double last = 0;
  double fill = 1;  // share of its slots that the last wave takes

  [[nodiscard]] double sum() const { return full + last; }
};

// How many of `blocks` left over after one wave share a multiprocessor at most. Blocks of a wave
// end in no order, and each end takes one of those left: j of them meet on one multiprocessor where
// C(blocks, j) x (o-1)/(oS-1) x ... is ln 2 or more, an even chance (as with birthdays).
double meet(double blocks, double each, int multiprocessors) {
  constexpr double kEvenChance = 0.693;
  double most = 1;
  double chance = blocks;
  for (double j = 2; j <= std::min(each, blocks); ++j) {
    chance *= (blocks - j + 1) / j * (each - j + 1) / (each * multiprocessors - j + 1);
    if (chance >= kEvenChance) most = j;
  }
  return std::max(most, std::ceil(blocks / multiprocessors));
}

Turns ordinary_turns(const KernelGrid& grid, int multiprocessors) {
  const double each = std::max(1.0, grid.per_multiprocessor);
  const double full = waves(grid, multiprocessors) - 1;
  const double last = grid.blocks - full * each * multiprocessors;
  // After several waves blocks end one by one, and the rest spreads.
  const double shared =
      full == 1 ? meet(last, each, multiprocessors) : std::ceil(last / multiprocessors);
  return {full * turns(each), turns(shared), last / (each * multiprocessors)};
}

}  // namespace

std::optional<ResidencyLimits> residency_limits(int compute_capability) {
  switch (compute_capability) {
    case 70:
      return ResidencyLimits{65536, 98304, 2048, 32};
    case 75:
      return ResidencyLimits{65536, 65536, 1024, 16};
    case 80:
      return ResidencyLimits{65536, 167936, 2048, 32};
    case 86:
      return ResidencyLimits{65536, 102400, 1536, 16};
    case 89:
      return ResidencyLimits{65536, 102400, 1536, 24};
    case 90:
    case 100:
      return ResidencyLimits{65536, 233472, 2048, 32};
    case 120:
      return ResidencyLimits{65536, 102400, 1536, 24};
    default:
      return std::nullopt;
  }
}

int resident_blocks(int threads, int registers_per_thread, int shared_bytes,
                    int compute_capability) {
  const ResidencyLimits limits = residency_limits(compute_capability).value_or(ResidencyLimits{});
  // No launch exceeds these by the programming guide; a kernel record that does is no reason to
  // overflow.
  const int warps = (std::clamp(threads, 1, 1024) + 31) / 32;
  int resident = std::min(limits.blocks, limits.threads / (warps * 32));
  if (registers_per_thread > 0) {
    const int per_warp = (std::min(registers_per_thread, 255) * 32 + 255) / 256 * 256;
    resident = std::min(resident, limits.registers / (per_warp * warps));
  }
  const int reserved = compute_capability >= 80 ? 1024 : 0;
  const int shared =
      (std::clamp(shared_bytes, 0, limits.shared_bytes) + reserved + 127) / 128 * 128;
  if (shared > 0) resident = std::min(resident, limits.shared_bytes / shared);
  return std::max(1, resident);
}

double waves(const KernelGrid& grid, int multiprocessors) {
  return std::max(1.0, std::ceil(grid.blocks / (grid.per_multiprocessor * multiprocessors)));
}

double kernel_turns(const KernelGrid& grid, int multiprocessors) {
  if (grid.persistent && grid.tiles > 0) return rounds(grid.tiles, multiprocessors);
  return ordinary_turns(grid, multiprocessors).sum();
}

WaveCost wave_cost(Seconds alone, Bytes bytes, double memory_rate) {
  WaveCost cost;
  if (!(alone.value() > 0)) return cost;
  cost.start_share = std::min(kMostStart, kKernelStart / alone.value());
  if (memory_rate > 0)
    cost.memory_share = std::clamp(bytes.value() / alone.value() / memory_rate, 0.0, 1.0);
  return cost;
}

double fluid_slowdown(int multiprocessors, int channels) {
  const int left = std::max(1, multiprocessors - channels);
  return static_cast<double>(multiprocessors) / left;
}

double wave_slowdown(const KernelGrid& grid, int multiprocessors, int channels,
                     const WaveCost& cost) {
  if (channels <= 0) return 1.0;
  const int left = std::max(1, multiprocessors - channels);
  if (grid.persistent && !(grid.tiles > 0))
    return kPersistentExcess * fluid_slowdown(multiprocessors, channels);
  if (grid.persistent)
    return (rounds(grid.tiles - channels, left) + 1) / kernel_turns(grid, multiprocessors);
  const double alone = kernel_turns(grid, multiprocessors);
  const Turns beside = ordinary_turns(grid, left);
  if (!(beside.sum() > alone)) return 1.0;
  const double waiting =
      beside.full > 0 ? kMemoryWait * cost.memory_share * cost.memory_share * (1 - beside.fill) : 0;
  const double turned = (beside.full + beside.last * (1 - waiting)) / alone;
  return std::max(1.0, cost.start_share + (1 - cost.start_share) * turned);
}

Seconds room_after(const KernelGrid& grid, int multiprocessors, int channels, Seconds duration) {
  if (channels <= 0) return {};
  if (grid.persistent) return duration;
  const double all = waves(grid, multiprocessors);
  const double last = grid.blocks - (all - 1) * grid.per_multiprocessor * multiprocessors;
  // A wave's blocks are spread over as many multiprocessors as there are blocks.
  const double free = multiprocessors - std::min<double>(multiprocessors, last);
  return free >= channels ? duration * ((all - 1) / all) : duration;
}

Seconds beside_collective(Seconds alone, double slowdown, Seconds beside) {
  if (!(beside.value() > 0) || !(slowdown > 1.0)) return alone;
  const Seconds done = beside / slowdown;  // work finished while the collective ran
  return done >= alone ? alone * slowdown : beside + alone - done;
}

Seconds beside_collective(Seconds alone, const KernelGrid& grid, int multiprocessors, int channels,
                          Seconds beside, const WaveCost& cost) {
  if (!(beside.value() > 0)) return alone;
  const double slowdown = wave_slowdown(grid, multiprocessors, channels, cost);
  if (!(slowdown > 1.0)) return alone;
  // Of very many waves the last one does not matter, and below a counter could no longer tell them
  // apart.
  constexpr double kManyWaves = 1e6;
  const double alone_waves = waves(grid, multiprocessors);
  const bool quantised =
      !grid.persistent && waves(grid, std::max(1, multiprocessors - channels)) > alone_waves;
  if (!quantised || !(alone_waves < kManyWaves)) return beside_collective(alone, slowdown, beside);
  if (!(beside < alone * slowdown)) return alone * slowdown;
  // Slots free from the start complete a block every `block`; the collective's slots do from
  // `beside` on.
  const double start = cost.start_share * alone.value();
  const double block = (alone.value() - start) / alone_waves;
  if (!(block > 0) || !std::isfinite(block)) return alone * slowdown;
  const double free_slots = grid.per_multiprocessor * std::max(1, multiprocessors - channels);
  const double late_slots = grid.per_multiprocessor * multiprocessors - free_slots;
  const double late = std::max(0.0, beside.value() - start);
  // Blocks finish only at multiples of `block` on either kind of slot; the fluid answer is a lower
  // bound within two of them.
  const double fluid = (grid.blocks * block + late_slots * late) / (free_slots + late_slots);
  double k = std::max(1.0, std::floor(fluid / block) - 1);
  double j = std::max(0.0, std::floor((fluid - late) / block) - 1);
  constexpr double kRounding = 1e-9;
  for (;;) {
    const double on_free = k * block;
    const double on_late = late + j * block;
    const double time = std::min(on_free, on_late);
    const double done = free_slots * std::floor(time / block + kRounding) +
                        late_slots * std::max(0.0, std::floor((time - late) / block + kRounding));
    if (done >= grid.blocks - kRounding)
      return std::clamp(Seconds(start + time), alone, alone * slowdown);
    (on_free <= on_late ? k : j) += 1;
  }
}

}  // namespace ddpx
