// What a product pays for a collective that runs beside it: wave quantisation.
//
// A collective holds one multiprocessor per channel (NCCL launches one block per channel and the
// block leaves no room for a product's), so that a kernel has S - c of S left. Its thread blocks
// are placed o (`per_multiprocessor`) at a time on each; when they do not all fit they run in
// waves. Blocks that share a multiprocessor take turns: n of them take max(1, 0.82 n) times as long
// as one. So with one block each
//
//   alone   ceil(blocks / S) waves,   beside   ceil(blocks / (S - c)) waves,
//
// and with several the last wave counts by how many of them share a multiprocessor. A further wave
// repeats neither the kernel's start nor, where it is nearly empty, its blocks' wait for memory
// (WaveCost).
//
// A persistent kernel takes T tiles in rounds, also where clusters of blocks fit fewer than all S.
// Its blocks that find no multiprocessor come when an early one has ended, each with its first
// tile: one round more,
//
//   alone   ceil(T / S),   beside   ceil((T - c) / (S - c)) + 1.
//
// Confirmed on kernel records of two H200 (docs/model.md). When the collective ends before the
// kernel does, its multiprocessors take blocks from then on: list scheduling of equal blocks.
#pragma once

#include <optional>

#include "model/units.hpp"

namespace ddpx {

// Of a matrix product's output, along its contiguous dimension and across; 0: not known.
struct OutputTile {
  int contiguous = 0;
  int across = 0;
};

// KernelGrid::generation at most.
inline constexpr int kNewestGeneration = 199;

struct KernelGrid {
  double blocks = 0;              // thread blocks launched
  double per_multiprocessor = 1;  // blocks resident on one multiprocessor at once
  // Its blocks, one a multiprocessor or fewer where clusters of blocks do not fit all of these,
  // take tile after tile.
  bool persistent = false;
  OutputTile tile{};
  double tiles = 0;  // of the output; 0: not known
  // Compute capability whose instructions it multiplies by (80: mma.sync, 90: wgmma); 0: not known.
  int generation = 0;
};

// Per-multiprocessor limits of a GPU (CUDA programming guide, "Technical Specifications per Compute
// Capability").
struct ResidencyLimits {
  int registers = 65536;
  int shared_bytes = 233472;
  int threads = 2048;
  int blocks = 32;
};

// Limits for a compute capability such as 75 or 90; nullopt for one that is not known.
[[nodiscard]] std::optional<ResidencyLimits> residency_limits(int compute_capability);

// Blocks of `threads` threads resident at once. Registers are allocated per warp in units of 256,
// shared memory in units of 128 B with 1 KiB reserved per block from compute capability 8.0 on. At
// least 1 (the kernel did run).
[[nodiscard]] int resident_blocks(int threads, int registers_per_thread, int shared_bytes,
                                  int compute_capability);

// Waves of the grid on `multiprocessors`, of a persistent kernel one.
[[nodiscard]] double waves(const KernelGrid& grid, int multiprocessors);

// Time of the kernel in units of one block that has a multiprocessor to itself; of a persistent
// kernel of known tiles, in rounds.
[[nodiscard]] double kernel_turns(const KernelGrid& grid, int multiprocessors);

struct BlockRounds {
  double waves = 0;
  double blocks = 0;  // of the fullest multiprocessor in all waves, side by side or in turn
};

// How often a multiprocessor's slots are filled, and with how many blocks (of a persistent kernel
// of known tiles: tiles).
[[nodiscard]] BlockRounds block_rounds(const KernelGrid& grid, int multiprocessors);

// What of a kernel's time alone a further wave does not take again.
struct WaveCost {
  double start_share = 0;   // of that time: before its first blocks compute and after its last
  double memory_share = 0;  // of the memory's bandwidth, that the kernel takes
};

// Of a kernel that takes `alone` and moves `bytes`; `memory_rate` in bytes per second, 0: not
// known.
[[nodiscard]] WaveCost wave_cost(Seconds alone, Bytes bytes, double memory_rate);

// Time beside a collective that holds `channels` multiprocessors throughout, over time alone.
[[nodiscard]] double wave_slowdown(const KernelGrid& grid, int multiprocessors, int channels,
                                   const WaveCost& cost = {});

// Slowdown of work that has no grid to quantise, S / (S - c), and the worst a one-wave grid can
// see.
[[nodiscard]] double fluid_slowdown(int multiprocessors, int channels);
inline constexpr double kWorstWaveSlowdown = 2.0;

struct BesideCollective {
  Seconds time{};  // of the kernel
  Seconds room{};  // into it, from when on the next collective's channels find multiprocessors
};

// A kernel beside collectives that hold `channels` multiprocessors: what depends on neither's
// length is found once, for the many times that a walk meets it.
class SharedKernel {
 public:
  SharedKernel(const KernelGrid& grid, int multiprocessors, int channels, const WaveCost& cost);

  // wave_slowdown().
  [[nodiscard]] double slowdown() const { return slowdown_; }
  // The kernel takes `alone` by itself and starts `beside` before the collective's end. Blocks are
  // placed on multiprocessors as these come free (list scheduling), and stay there: a kernel whose
  // blocks all found a place at once, sharing what the collective left, does not get faster when
  // that ends. What is left to place goes before a further collective's blocks (room_after).
  [[nodiscard]] BesideCollective beside(Seconds alone, Seconds beside) const;

 private:
  double blocks_;
  double each_;  // on a multiprocessor
  double waves_;
  double start_share_;
  double slowdown_;
  double room_share_;  // room_after(), of a time of 1
  int multiprocessors_;
  int channels_;
  bool persistent_;
  bool one_wave_;  // on what the collective leaves
};

[[nodiscard]] BesideCollective beside_collective(Seconds alone, const KernelGrid& grid,
                                                 int multiprocessors, int channels, Seconds beside,
                                                 const WaveCost& cost = {});

// The time of work that slows evenly by `slowdown`.
[[nodiscard]] Seconds beside_collective(Seconds alone, double slowdown, Seconds beside);

// How far into a kernel of `duration` a collective that came too late to start with it finds room
// for its `channels` blocks. Blocks of a kernel that is running already are placed before those of
// another stream's, so the collective waits until none is left to place: through all waves but the
// last, and through the last as well unless it leaves that many multiprocessors free. 0 where the
// kernel never fills the GPU. (Kernel records of two H200: collectives began three quarters into
// kernels of 3.9 waves; docs/model.md.)
[[nodiscard]] Seconds room_after(const KernelGrid& grid, int multiprocessors, int channels,
                                 Seconds duration);

}  // namespace ddpx
