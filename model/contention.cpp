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

struct LastWave {
  double before = 0;  // waves
  double blocks = 0;
  double shared = 0;  // by how many on the fullest multiprocessor
};

LastWave last_wave(const KernelGrid& grid, double each, int multiprocessors) {
  const double full = waves(grid, multiprocessors) - 1;
  const double last = grid.blocks - full * each * multiprocessors;
  // After several waves blocks end one by one, and the rest spreads.
  return {full, last,
          full == 1 ? meet(last, each, multiprocessors) : std::ceil(last / multiprocessors)};
}

Turns ordinary_turns(const KernelGrid& grid, int multiprocessors) {
  const double each = std::max(1.0, grid.per_multiprocessor);
  const LastWave last = last_wave(grid, each, multiprocessors);
  return {last.before * turns(each), turns(last.shared), last.blocks / (each * multiprocessors)};
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

BlockRounds block_rounds(const KernelGrid& grid, int multiprocessors) {
  if (grid.persistent && grid.tiles > 0) {
    const double all = rounds(grid.tiles, multiprocessors);
    return {all, all};
  }
  const double each = std::max(1.0, grid.per_multiprocessor);
  const LastWave last = last_wave(grid, each, multiprocessors);
  return {last.before + 1, last.before * each + last.shared};
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

namespace {

// Blocks of a kernel on two kinds of slots, those that are free from the start and those of a
// collective, free from `late` on; each takes `block`.
struct Slots {
  double each = 1;  // per multiprocessor
  double free = 0;
  double held = 0;
  Seconds late{};
  Seconds block{};
};

struct LastPlaced {
  Seconds at{};
  double spare = 0;  // multiprocessors that come free then and are not needed
  Seconds next{};    // when the next come free
};

LastPlaced place(double blocks, const Slots& slots) {
  // As if placed evenly, which is before they are.
  const double all = slots.free + slots.held;
  const double even =
      std::min((blocks / slots.free - 1) * slots.block.value(),
               (blocks / all - 1) * slots.block.value() + slots.held / all * slots.late.value());
  const auto visits = [&](double begin) {
    return std::max(0.0, std::floor((even - begin) / slots.block.value()) - 1);
  };
  double k = visits(0);
  double j = visits(slots.late.value());
  for (double left = blocks - k * slots.free - j * slots.held;;) {
    const Seconds on_free = k * slots.block;
    const Seconds on_held = slots.late + j * slots.block;
    const bool first = on_free <= on_held;
    const double here = first ? slots.free : slots.held;
    (first ? k : j) += 1;
    if (left <= here) {
      const double multiprocessors = here / slots.each;
      return {first ? on_free : on_held, multiprocessors - std::min(multiprocessors, left),
              std::min(k * slots.block, slots.late + j * slots.block)};
    }
    left -= here;
  }
}

}  // namespace

SharedKernel::SharedKernel(const KernelGrid& grid, int multiprocessors, int channels,
                           const WaveCost& cost)
    : blocks_(grid.blocks),
      each_(std::max(1.0, grid.per_multiprocessor)),
      waves_(waves(grid, multiprocessors)),
      start_share_(cost.start_share),
      slowdown_(wave_slowdown(grid, multiprocessors, channels, cost)),
      room_share_(room_after(grid, multiprocessors, channels, Seconds(1)).value()),
      multiprocessors_(multiprocessors),
      channels_(channels),
      persistent_(grid.persistent),
      one_wave_(waves(grid, std::max(1, multiprocessors - channels)) <= 1) {}

BesideCollective SharedKernel::beside(Seconds alone, Seconds beside) const {
  if (!(beside.value() > 0) || channels_ <= 0) return {alone, room_share_ * alone};
  const Seconds most = alone * slowdown_;
  if (!persistent_ && one_wave_) return {most, Seconds{}};
  const Seconds start = start_share_ * alone;
  const Seconds block = (alone - start) / waves_;
  // Of very many waves the last one does not matter, and a counter could no longer tell them apart.
  constexpr double kManyWaves = 1e6;
  if (persistent_ || !(waves_ < kManyWaves) || !(block.value() > 0) ||
      !std::isfinite(block.value())) {
    const Seconds time = beside_collective(alone, slowdown_, beside);
    return {time, time};
  }
  const int left = std::max(1, multiprocessors_ - channels_);
  // After so many waves the collective's end changes nothing.
  const Seconds late = std::clamp(beside - start, Seconds{}, alone * (slowdown_ + 1));
  const LastPlaced last =
      place(blocks_, {each_, each_ * left, each_ * (multiprocessors_ - left), late, block});
  const Seconds time = beside < most ? std::clamp(start + last.at + block, alone, most) : most;
  const Seconds room = start + (last.spare >= channels_ ? last.at : last.next);
  return {time, std::min(room, time)};
}

BesideCollective beside_collective(Seconds alone, const KernelGrid& grid, int multiprocessors,
                                   int channels, Seconds beside, const WaveCost& cost) {
  return SharedKernel(grid, multiprocessors, channels, cost).beside(alone, beside);
}

}  // namespace ddpx
