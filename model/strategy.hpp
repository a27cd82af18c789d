// What is run: how gradients are shared (Strategy), and everything else that decides a step's time
// (Job).
#pragma once

#include <optional>
#include <string>

#include "model/buckets.hpp"
#include "model/machine.hpp"
#include "model/network.hpp"

namespace ddpx {

// What each rank keeps only a share of. The words are DeepSpeed's and PyTorch's:
//  - fsdp_unit: FSDP around the whole model, fsdp_block: around each block as well (fully_shard);
//  - zero1: optimizer state (PyTorch's ZeroRedundancyOptimizer on top of DDP),
//    zero2: gradients too (DeepSpeed stage 2), zero3: parameters too, gathered block by block.
enum class Sharding { none, fsdp_unit, fsdp_block, zero1, zero2, zero3 };

// HSDP: `replicas` groups of `shards` ranks; FSDP inside a group, all-reduces of the shards between
// groups.
struct HybridGroups {
  int replicas = 1;
  int shards = 1;
  auto operator<=>(const HybridGroups&) const = default;
};

struct Strategy {
  // Gradient accumulation; only the last backward synchronises, unless sync_every.
  int micro_batches = 1;
  std::optional<DType> compression;  // fp16 or bf16 compression hook
  BucketLimits buckets;
  bool explicit_buckets = false;  // the user gave bucket_cap_mb
  bool bucket_view = false;       // gradient_as_bucket_view: no copy-out
  Sharding sharding = Sharding::none;
  // fsdp_block: parameters are freed after a block's forward and gathered again for its backward.
  bool reshard = true;
  std::optional<HybridGroups> hybrid;  // of fsdp_block
  bool sync = true;  // false: no gradient is ever shared (DDP.no_sync on every micro-batch)
  // Every micro-batch's gradients are shared: no_sync forgotten, or forward left outside of it.
  bool sync_every = false;
  // false: no bucket is sent before backward's end (torch.compile without DDPOptimizer).
  bool overlap = true;
  // Time between two looks of a coordinator at what is complete (HOROVOD_CYCLE_TIME): a bucket
  // waits half of it on average. 0: launched as it completes.
  Seconds cycle{};
  std::optional<int> channels;  // NCCL_MAX_CTAS; nullopt: the link's usual count

  // Whether parameters are gathered block by block.
  [[nodiscard]] bool by_block() const {
    return sharding == Sharding::fsdp_block || sharding == Sharding::zero3;
  }
  // Whether gradients travel in buckets: DDP, and ZeRO on top of replicated parameters.
  [[nodiscard]] bool bucketed() const {
    return sharding == Sharding::none || sharding == Sharding::zero1 || sharding == Sharding::zero2;
  }
  // How many synchronisations one optimizer step takes: with sharded gradients one per micro-batch.
  [[nodiscard]] int synchronisations() const;
  // Ranks that a sharded state is spread over; 1 where nothing is sharded.
  [[nodiscard]] int shards(int gpus) const;
  // Where a bucket closes: DeepSpeed's stage 2 has a limit of its own.
  [[nodiscard]] BucketLimits bucket_limits() const;
  bool operator==(const Strategy&) const = default;
};

// DeepSpeed's reduce_bucket_size, 5e8 elements of fp32 (deepspeed/runtime/zero/config.py).
inline constexpr Bytes kZeroBucket{2e9};

// The strategy in the words of --strategy: "ddp", "ddp,accumulate=8,compress=fp16", "fsdp=block",
// "zero=1", "hsdp=2x8". Parsing its own output gives it back.
[[nodiscard]] std::string describe(const Strategy& strategy);
// Throws InputError naming the word, its place and the accepted words; also for combinations in
// which one part cannot have an effect.
[[nodiscard]] Strategy parse_strategy(std::string_view text);

enum class Scaling { weak, strong };

// What the data loaders deliver: to all ranks together, whose loaders share a host's cores and
// disks, or to each.
struct Loader {
  double samples_per_s = 0;
  bool per_rank = false;

  [[nodiscard]] double rate(int gpus) const {
    return per_rank ? samples_per_s * gpus : samples_per_s;
  }
  bool operator==(const Loader&) const = default;
};

struct Job {
  int gpus = 2;
  // Per rank and micro-batch; under strong scaling the batch of one GPU, divided by `gpus`.
  double batch_per_rank = 256;
  Scaling scaling = Scaling::weak;
  DType dtype = DType::fp32;  // of the products; gradients and optimizer state are fp32 (autocast)
  Optimizer optimizer = Optimizer::sgd;
  Engine engine = Engine::torch;
  Strategy strategy;
  // What else keeps scaling from being ideal (conditions.hpp); nothing is known of it unless given,
  // and 0 is given too: even work, no slow rank.
  std::optional<double> imbalance{};  // work of the fullest rank over the mean, less one
  std::optional<double> straggler{};  // time of one slow rank's compute over the others', less one
  std::optional<Loader> loader{};
  // The native engine replays the step as one CUDA graph. Not part of the strategy: it changes
  // neither what is computed nor what is sent, only what the host takes to issue it.
  bool graphs = false;

  // Ranks that `batch_per_rank` is split over.
  [[nodiscard]] int ranks_sharing_batch() const { return scaling == Scaling::strong ? gpus : 1; }
  // Samples one rank processes per micro-batch.
  [[nodiscard]] double samples_per_micro_batch() const;
  // Samples all ranks process per optimizer step.
  [[nodiscard]] double samples_per_step() const;
  // The same work on one GPU with plain steps (K = 1, no sharding): what speedup is measured
  // against.
  [[nodiscard]] Job one_gpu() const;
  bool operator==(const Job&) const = default;
};

// Throws InputError unless the job makes sense: ranks >= 1, batch >= 1, K >= 1, groups of HSDP that
// make up the ranks.
void check(const Job& job);

}  // namespace ddpx
