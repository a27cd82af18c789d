// Reading the words of --strategy: every word is known, given once, and can change the answer
// beside the others; otherwise it is refused by name.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "model/error.hpp"
#include "model/strategy.hpp"
#include "model/strategy_words.hpp"

namespace ddpx {
namespace {

constexpr std::string_view kAcceptedStrategies =
    "ddp, accumulate=K, compress=fp16|bf16, bucket=SIZE, first-bucket=SIZE, bucket-view, "
    "channels=C, cycle=TIME, overlap=yes|no, sync=last|every, fsdp=unit|block, reshard=yes|no, "
    "zero=1|2|3, "
    "hsdp=RxS, no-sync";
constexpr int kMostRanks = 1 << 20;

[[noreturn]] void reject_word(std::string_view word, std::string_view problem) {
  throw InputError("--strategy", "'" + std::string(word) + "' " + std::string(problem));
}

double parse_number(std::string_view word, std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) reject_word(word, "needs a number after '='");
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

// NCCL takes NCCL_MAX_CTAS up to 64 (its user guide, environment variables).
constexpr int kMostChannels = 64;

int parse_count(std::string_view word, std::string_view text, int most) {
  std::string_view rest;
  const double value = parse_number(word, text, rest);
  if (!rest.empty() || value < 1 || value > most || value != std::floor(value)) {
    reject_word(word, "needs a whole number from 1 to " + std::to_string(most));
  }
  return static_cast<int>(value);
}

Bytes parse_bucket_size(std::string_view word, std::string_view text) {
  std::string_view rest;
  const double value = parse_number(word, text, rest);
  Bytes unit{};
  for (const BucketSizeUnit& known : kBucketSizeUnits) {
    if (rest == known.name) unit = known.size;
  }
  if (unit.value() == 0)
    reject_word(
        word,
        "needs a size with a unit: KB, MB, GB (10^3) or KiB, MiB, GiB (2^10), as bucket=25MiB");
  if (value <= 0 || !std::isfinite((value * unit).value()))
    reject_word(word, "needs a size above 0 that a number can hold");
  return value * unit;
}

constexpr Seconds kLongestCycle{1};

Seconds parse_cycle(std::string_view word, std::string_view text) {
  std::string_view rest;
  const double value = parse_number(word, text, rest);
  Seconds cycle{};
  for (const TimeUnit& unit : kTimeUnits) {
    if (rest == unit.name) cycle = value * unit.time;
  }
  if (!(cycle.value() > 0) || cycle > kLongestCycle)
    reject_word(word,
                "needs a time above 0 of at most 1s, with its unit (s, ms, us), as cycle=5ms");
  return cycle;
}

// "2x8": replicas by shards, each at least 2.
HybridGroups parse_groups(std::string_view word, std::string_view value) {
  const std::size_t by = value.find('x');
  if (by == std::string_view::npos)
    reject_word(word, "needs groups as hsdp=RxS: R replicas of S shards, as hsdp=2x8");
  const HybridGroups groups{parse_count(word, value.substr(0, by), kMostRanks),
                            parse_count(word, value.substr(by + 1), kMostRanks)};
  if (groups.replicas < 2)
    reject_word(word, "needs two replicas or more; with one it is fsdp=block");
  if (groups.shards < 2) reject_word(word, "needs two shards or more; with one it is ddp");
  return groups;
}

bool parse_choice(std::string_view word, std::string_view value, std::string_view usual,
                  std::string_view other) {
  if (value != usual && value != other)
    reject_word(word, "accepts " + std::string(usual) + " and " + std::string(other));
  return value == usual;
}

// What decides how state and gradients are spread: a strategy has one of them.
enum class Kind { ddp, fsdp_unit, fsdp_block, zero1, zero2, zero3, hsdp, no_sync };

struct Mode {
  std::string_view word;
  Kind kind;
  Sharding sharding;
};
constexpr std::array kModes{Mode{"ddp", Kind::ddp, Sharding::none},
                            Mode{"fsdp", Kind::fsdp_unit, Sharding::fsdp_unit},
                            Mode{"fsdp=unit", Kind::fsdp_unit, Sharding::fsdp_unit},
                            Mode{"fsdp=block", Kind::fsdp_block, Sharding::fsdp_block},
                            Mode{"zero=1", Kind::zero1, Sharding::zero1},
                            Mode{"zero=2", Kind::zero2, Sharding::zero2},
                            Mode{"zero=3", Kind::zero3, Sharding::zero3},
                            Mode{"no-sync", Kind::no_sync, Sharding::none}};

// Which kinds an option can change.
struct Effect {
  std::string_view key;
  std::string_view only;  // in words
  std::array<bool, 8> kinds;
};
constexpr std::array kEffects{
    Effect{"compress", "ddp and zero=1", {true, false, false, true}},
    Effect{"bucket", "ddp, zero=1 and zero=2", {true, false, false, true, true}},
    Effect{"first-bucket", "ddp and zero=1", {true, false, false, true}},
    Effect{"bucket-view", "ddp and zero=1", {true, false, false, true}},
    Effect{"cycle", "ddp and zero=1", {true, false, false, true}},
    Effect{"overlap", "ddp and zero=1", {true, false, false, true}},
    Effect{"sync", "ddp and zero=1", {true, false, false, true}},
    Effect{"reshard", "fsdp=block and hsdp", {false, false, true, false, false, false, true}},
    Effect{"channels",
           "strategies that exchange gradients",
           {true, true, true, true, true, true, true, false}}};

class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  Strategy read() {
    std::size_t begin = 0;
    while (begin <= text_.size()) {
      std::size_t end = text_.find(',', begin);
      if (end == std::string_view::npos) end = text_.size();
      take(text_.substr(begin, end - begin));
      begin = end + 1;
    }
    if (first_) strategy_.buckets.first = *first_;
    check();
    return strategy_;
  }

 private:
  void take(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    if (std::find(keys_.begin(), keys_.end(), key) != keys_.end())
      reject_word(word, "is given twice");
    keys_.push_back(key);
    if (take_mode(word)) return;
    const bool has_value = equals != std::string_view::npos;
    const bool known = has_value ? take_value(word, key, word.substr(equals + 1))
                                 : (key == "bucket-view" && (strategy_.bucket_view = true));
    if (!known)
      reject_word(word, "is not a strategy; accepted: " + std::string(kAcceptedStrategies));
  }

  bool take_mode(std::string_view word) {
    for (const Mode& mode : kModes) {
      if (mode.word != word) continue;
      set_kind(mode.kind);
      strategy_.sharding = mode.sharding;
      strategy_.sync = mode.kind != Kind::no_sync;
      return true;
    }
    return false;
  }

  void set_kind(Kind kind) {
    if (kind_)
      reject_word(text_,
                  "asks for two of ddp, fsdp, zero, hsdp and no-sync at once; give one of them");
    kind_ = kind;
  }

  bool take_value(std::string_view word, std::string_view key, std::string_view value) {
    if (key == "accumulate") {
      strategy_.micro_batches = parse_count(word, value, 1 << 20);
    } else if (key == "compress") {
      const auto dtype = dtype_from(value);
      if (!dtype || (*dtype != DType::fp16 && *dtype != DType::bf16))
        reject_word(word, "accepts compress=fp16 and compress=bf16");
      strategy_.compression = dtype;
    } else if (key == "bucket") {
      strategy_.buckets = BucketLimits::explicit_cap(parse_bucket_size(word, value));
      strategy_.explicit_buckets = true;
    } else if (key == "first-bucket") {
      first_ = parse_bucket_size(word, value);
    } else if (key == "channels") {
      strategy_.channels = parse_count(word, value, kMostChannels);
    } else if (key == "cycle") {
      strategy_.cycle = parse_cycle(word, value);
    } else if (key == "overlap") {
      strategy_.overlap = parse_choice(word, value, "yes", "no");
    } else if (key == "sync") {
      strategy_.sync_every = !parse_choice(word, value, "last", "every");
    } else if (key == "reshard") {
      strategy_.reshard = parse_choice(word, value, "yes", "no");
    } else if (key == "hsdp") {
      set_kind(Kind::hsdp);
      strategy_.hybrid = parse_groups(word, value);
      strategy_.sharding = Sharding::fsdp_block;
    } else {
      return false;
    }
    return true;
  }

  void check() const {
    const Kind kind = kind_.value_or(Kind::ddp);
    for (const std::string_view key : keys_) {
      for (const Effect& effect : kEffects) {
        if (effect.key != key || effect.kinds[static_cast<std::size_t>(kind)]) continue;
        reject_word(text_, "has '" + std::string(key) + "', which only " +
                               std::string(effect.only) + " can use; leave it out");
      }
    }
    if (strategy_.sync_every && strategy_.micro_batches == 1)
      reject_word(text_,
                  "has sync=every, which needs micro-batches to differ from; add accumulate=K");
  }

  std::string_view text_;
  Strategy strategy_;
  std::optional<Kind> kind_;
  std::optional<Bytes> first_;
  std::vector<std::string_view> keys_;
};

}  // namespace

Strategy parse_strategy(std::string_view text) { return Words(text).read(); }

}  // namespace ddpx
