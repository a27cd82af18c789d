#include "model/strategy.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr std::string_view kAccepted =
    "ddp, accumulate=K, compress=fp16|bf16, bucket=SIZE, first-bucket=SIZE, bucket-view, "
    "channels=C, fsdp=unit, no-sync";

struct SizeUnit {
  std::string_view name;
  Bytes size;
};
// MiB first: of texts equally short it is taken, because PyTorch's caps are in MiB.
constexpr std::array kSizeUnits{SizeUnit{"MiB", kMiB}, SizeUnit{"KiB", kKiB}, SizeUnit{"GiB", kGiB},
                                SizeUnit{"MB", kMB},   SizeUnit{"KB", kKB},   SizeUnit{"GB", kGB}};

[[noreturn]] void reject(std::string_view word, std::string_view problem) {
  throw InputError("--strategy", "'" + std::string(word) + "' " + std::string(problem));
}

double parse_number(std::string_view word, std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) reject(word, "needs a number after '='");
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

int parse_count(std::string_view word, std::string_view text, int most) {
  std::string_view rest;
  const double value = parse_number(word, text, rest);
  if (!rest.empty() || value < 1 || value > most || value != std::floor(value)) {
    reject(word, "needs a whole number from 1 to " + std::to_string(most));
  }
  return static_cast<int>(value);
}

Bytes parse_bucket_size(std::string_view word, std::string_view text) {
  std::string_view rest;
  const double value = parse_number(word, text, rest);
  Bytes unit{};
  for (const SizeUnit& known : kSizeUnits) {
    if (rest == known.name) unit = known.size;
  }
  if (unit.value() == 0)
    reject(word,
           "needs a size with a unit: KB, MB, GB (10^3) or KiB, MiB, GiB (2^10), as bucket=25MiB");
  if (value <= 0 || !std::isfinite((value * unit).value()))
    reject(word, "needs a size above 0 that a number can hold");
  return value * unit;
}

// The shortest text that reads back to the same size, so 25 MB is not 23.84185791015625MiB.
std::string size_text(Bytes size) {
  std::string best;
  for (const SizeUnit& unit : kSizeUnits) {
    std::array<char, 40> text{};
    const char* end = std::to_chars(text.data(), text.data() + text.size(), size / unit.size).ptr;
    const std::string candidate =
        std::string(text.data(), static_cast<std::size_t>(end - text.data())) +
        std::string(unit.name);
    const bool exact = size / unit.size * unit.size == size;
    if (best.empty() || (exact && candidate.size() < best.size())) best = candidate;
  }
  return best;
}

}  // namespace

std::string describe(const Strategy& s) {
  if (!s.sync)
    return s.micro_batches > 1 ? "no-sync,accumulate=" + std::to_string(s.micro_batches)
                               : "no-sync";
  std::string text = s.sharding == Sharding::fsdp_unit ? "fsdp=unit" : "ddp";
  if (s.micro_batches > 1) text += ",accumulate=" + std::to_string(s.micro_batches);
  if (s.compression) text += ",compress=" + std::string(name(*s.compression));
  if (s.explicit_buckets) text += ",bucket=" + size_text(s.buckets.rest);
  const Bytes usual_first = s.explicit_buckets ? s.buckets.rest : kMiB;
  if (s.buckets.first != usual_first) text += ",first-bucket=" + size_text(s.buckets.first);
  if (s.bucket_view) text += ",bucket-view";
  if (s.channels) text += ",channels=" + std::to_string(*s.channels);
  return text;
}

Strategy parse_strategy(std::string_view text) {
  Strategy s;
  std::optional<Bytes> first;
  bool has_bucket_options = false;
  bool ddp = false;
  std::vector<std::string_view> seen;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    std::size_t end = text.find(',', begin);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const bool has_value = equals != std::string_view::npos;
    const std::string_view value = has_value ? word.substr(equals + 1) : std::string_view{};
    for (std::string_view earlier : seen) {
      if (earlier == key) reject(word, "is given twice");
    }
    seen.push_back(key);
    if (key == "ddp" && !has_value) {
      ddp = true;
    } else if (key == "accumulate" && has_value) {
      s.micro_batches = parse_count(word, value, 1 << 20);
    } else if (key == "compress" && has_value) {
      const auto dtype = dtype_from(value);
      if (!dtype || (*dtype != DType::fp16 && *dtype != DType::bf16))
        reject(word, "accepts compress=fp16 and compress=bf16");
      s.compression = dtype;
    } else if (key == "bucket" && has_value) {
      s.buckets = BucketLimits::explicit_cap(parse_bucket_size(word, value));
      s.explicit_buckets = true;
      has_bucket_options = true;
    } else if (key == "first-bucket" && has_value) {
      first = parse_bucket_size(word, value);
      has_bucket_options = true;
    } else if (key == "bucket-view" && !has_value) {
      s.bucket_view = true;
      has_bucket_options = true;
    } else if (key == "channels" && has_value) {
      s.channels = parse_count(word, value, 1024);
    } else if (key == "fsdp" && (!has_value || value == "unit")) {
      s.sharding = Sharding::fsdp_unit;
    } else if (key == "no-sync" && !has_value) {
      s.sync = false;
    } else {
      reject(word, "is not a strategy; accepted: " + std::string(kAccepted));
    }
  }
  if (first) s.buckets.first = *first;
  const bool ddp_only = has_bucket_options || s.compression.has_value();
  if (s.sharding != Sharding::none && ddp)
    reject(text, "asks for ddp and fsdp at once; give one of them");
  if (s.sharding != Sharding::none && ddp_only) {
    reject(
        text,
        "combines fsdp with a bucket or compression option, which only ddp has; drop one of them");
  }
  if (!s.sync && (ddp_only || s.channels || s.sharding != Sharding::none)) {
    reject(text, "combines no-sync with options of the synchronisation it switches off");
  }
  return s;
}

double Job::samples_per_micro_batch() const {
  return scaling == Scaling::strong ? batch_per_rank / gpus : batch_per_rank;
}

double Job::samples_per_step() const {
  return samples_per_micro_batch() * gpus * strategy.micro_batches;
}

Job Job::one_gpu() const {
  Job job = *this;
  job.gpus = 1;
  job.strategy = Strategy{};
  job.imbalance = 0;
  job.straggler = 0;
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
  if (job.scaling == Scaling::strong && job.batch_per_rank < job.gpus) {
    throw InputError("--batch", "strong scaling divides the batch of one GPU by " +
                                    std::to_string(job.gpus) + " ranks; give at least " +
                                    std::to_string(job.gpus));
  }
}

}  // namespace ddpx
