#include "model/strategy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "model/error.hpp"
#include "model/strategy_words.hpp"

namespace ddpx {
namespace {

// The shortest text that reads back to the same value, so 25 MB is not 23.84185791015625MiB.
std::string in_units(double value, auto&& units, auto&& in) {
  std::string best;
  for (const auto& unit : units) {
    std::array<char, 40> text{};
    const double count = value / in(unit);
    const char* end = std::to_chars(text.data(), text.data() + text.size(), count).ptr;
    const std::string candidate =
        std::string(text.data(), static_cast<std::size_t>(end - text.data())) +
        std::string(unit.name);
    const bool exact = count * in(unit) == value;
    if (best.empty() || (exact && candidate.size() < best.size())) best = candidate;
  }
  return best;
}

std::string size_text(Bytes size) {
  return in_units(size.value(), kBucketSizeUnits,
                  [](const BucketSizeUnit& unit) { return unit.size.value(); });
}

std::string cycle_text(Seconds cycle) {
  return in_units(cycle.value(), kTimeUnits,
                  [](const TimeUnit& unit) { return unit.time.value(); });
}

std::string_view sharding_word(Sharding sharding) {
  constexpr std::array<std::string_view, 6> kWords{"ddp",    "fsdp=unit", "fsdp=block",
                                                   "zero=1", "zero=2",    "zero=3"};
  return kWords.at(static_cast<std::size_t>(sharding));
}

}  // namespace

int Strategy::synchronisations() const {
  if (!sync) return 0;
  const bool each = sync_every || !(sharding == Sharding::none || sharding == Sharding::zero1);
  return each ? micro_batches : 1;
}

int Strategy::shards(int gpus) const {
  if (gpus < 2 || !sync || sharding == Sharding::none) return 1;
  return hybrid ? hybrid->shards : gpus;
}

BucketLimits Strategy::bucket_limits() const {
  if (sharding == Sharding::zero2 && !explicit_buckets)
    return BucketLimits::explicit_cap(kZeroBucket);
  return buckets;
}

std::string describe(const Strategy& s) {
  if (!s.sync)
    return s.micro_batches > 1 ? "no-sync,accumulate=" + std::to_string(s.micro_batches)
                               : "no-sync";
  std::string text(sharding_word(s.sharding));
  if (s.hybrid)
    text = "hsdp=" + std::to_string(s.hybrid->replicas) + "x" + std::to_string(s.hybrid->shards);
  if (!s.reshard) text += ",reshard=no";
  if (s.micro_batches > 1) text += ",accumulate=" + std::to_string(s.micro_batches);
  if (s.sync_every) text += ",sync=every";
  if (!s.overlap) text += ",overlap=no";
  if (s.compression) text += ",compress=" + std::string(name(*s.compression));
  if (s.explicit_buckets) text += ",bucket=" + size_text(s.buckets.rest);
  const Bytes usual_first = s.explicit_buckets ? s.buckets.rest : kMiB;
  if (s.buckets.first != usual_first) text += ",first-bucket=" + size_text(s.buckets.first);
  if (s.bucket_view) text += ",bucket-view";
  if (s.cycle.value() > 0) text += ",cycle=" + cycle_text(s.cycle);
  if (s.channels) text += ",channels=" + std::to_string(*s.channels);
  return text;
}

double Job::samples_per_micro_batch() const { return batch_per_rank / ranks_sharing_batch(); }

double Job::samples_per_step() const {
  return samples_per_micro_batch() * gpus * strategy.micro_batches;
}

Job Job::one_gpu() const {
  Job job = *this;
  job.gpus = 1;
  job.strategy = Strategy{};
  job.imbalance.reset();
  job.straggler.reset();
  return job;
}

void check(const Job& job) {
  if (job.gpus < 1) throw InputError("--gpus", std::to_string(job.gpus) + " must be at least 1");
  if (!(job.batch_per_rank > 0) || !std::isfinite(job.batch_per_rank)) {
    throw InputError("--batch", "must be at least 1 sample per rank");
  }
  if (job.strategy.micro_batches < 1) {
    throw InputError("--strategy", "accumulate=" + std::to_string(job.strategy.micro_batches) +
                                       " must be at least 1");
  }
  if (const auto& groups = job.strategy.hybrid;
      groups && static_cast<long long>(groups->replicas) * groups->shards != job.gpus &&
      job.gpus > 1) {
    throw InputError("--strategy",
                     "'" + describe(job.strategy) + "' groups " + std::to_string(groups->replicas) +
                         " x " + std::to_string(groups->shards) + " ranks, and --gpus has " +
                         std::to_string(job.gpus) + "; give the nodes and GPUs of --gpus NxM");
  }
  if (job.scaling == Scaling::strong && job.batch_per_rank < job.gpus) {
    throw InputError("--batch", "strong scaling divides the batch of one GPU by " +
                                    std::to_string(job.gpus) + " ranks; give at least " +
                                    std::to_string(job.gpus));
  }
}

}  // namespace ddpx
