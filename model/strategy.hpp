// What is run: how gradients are shared (Strategy), and everything else that decides a step's time
// (Job).
#pragma once

#include <optional>
#include <string>

#include "model/buckets.hpp"
#include "model/machine.hpp"
#include "model/network.hpp"

namespace ddpx {

enum class Sharding { none, fsdp_unit };

struct Strategy {
  int micro_batches = 1;             // gradient accumulation; only the last backward synchronises
  std::optional<DType> compression;  // fp16 or bf16 compression hook
  BucketLimits buckets;
  bool explicit_buckets = false;  // the user gave bucket_cap_mb
  bool bucket_view = false;       // gradient_as_bucket_view: no copy-out
  Sharding sharding = Sharding::none;
  bool sync = true;  // false: no gradient is ever shared (DDP.no_sync on every micro-batch)
  std::optional<int> channels;  // NCCL_MAX_CTAS; nullopt: the link's usual count
};

// The strategy in the words of --strategy: "ddp", "ddp,accumulate=8,compress=fp16", "fsdp=unit".
// Parsing its own output gives it back.
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
  // What else keeps scaling from being ideal (conditions.hpp); nothing is known of it unless given.
  double imbalance = 0;  // work of the fullest rank over the mean, less one
  double straggler = 0;  // time of one slow rank's compute over the others', less one
  std::optional<Loader> loader{};

  // Samples one rank processes per micro-batch.
  [[nodiscard]] double samples_per_micro_batch() const;
  // Samples all ranks process per optimizer step.
  [[nodiscard]] double samples_per_step() const;
  // The same work on one GPU with plain steps (K = 1, no sharding): what speedup is measured
  // against.
  [[nodiscard]] Job one_gpu() const;
};

// Throws InputError unless the job makes sense: ranks >= 1, batch >= 1, K >= 1.
void check(const Job& job);

}  // namespace ddpx
