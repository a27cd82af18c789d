#include "calibration/request.hpp"

#include <charconv>
#include <cmath>

#include "model/error.hpp"
#include "profiler/backends.hpp"

namespace ddpx {
namespace {

constexpr int kMostRanks = 256;
constexpr double kLongestBudget = 86400;

[[noreturn]] void refuse(const char* flag, const std::string& value, const std::string& accepted) {
  throw InputError(flag, "'" + value + "' is not accepted: " + accepted);
}

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    words.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return words;
}

// A number and what follows it.
std::optional<std::pair<double, std::string>> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return std::pair(value, std::string(end, text.data() + text.size()));
}

std::vector<double> whole_numbers(const char* flag, const std::optional<std::string>& list,
                                  double most) {
  std::vector<double> values;
  if (!list) return values;
  for (const std::string& word : words_of(*list)) {
    const auto number = number_of(word);
    if (!number || !number->second.empty() || number->first != std::floor(number->first) ||
        number->first < 1 || number->first > most) {
      refuse(flag, word, "whole numbers from 1 to " + std::to_string(static_cast<long long>(most)) +
                             ", separated by commas");
    }
    values.push_back(number->first);
  }
  return values;
}

template <class Enum>
std::vector<Enum> names(const char* flag, const std::optional<std::string>& list,
                        std::optional<Enum> (*from)(std::string_view), const char* accepted) {
  std::vector<Enum> values;
  if (!list) return values;
  for (const std::string& word : words_of(*list)) {
    const auto value = from(word);
    if (!value) refuse(flag, word, accepted);
    values.push_back(*value);
  }
  return values;
}

Seconds budget_of(const std::string& text) {
  const auto number = number_of(text);
  if (number && number->first > 0) {
    const std::string& unit = number->second;
    const double factor = unit == "s" || unit.empty() ? 1 : unit == "min" ? 60 : unit == "h" ? 3600 : 0;
    if (factor > 0 && number->first * factor <= kLongestBudget) return Seconds(number->first * factor);
  }
  refuse("--budget", text, "a time above zero and up to a day, such as 60s or 5min");
}

Transport transport_of(const std::string& text) {
  if (text == "auto" || text == "shm") return Transport::shared_memory;
  if (text == "socket" || text == "tcp") return Transport::socket;
  refuse("--transport", text, "auto, shm (shared memory) or socket (TCP over loopback)");
}

}  // namespace

MeasureRequest measure_request(const CalibrateOptions& options) {
  constexpr double kWidest = 65536;
  constexpr double kLargestBatch = 1e6;
  if (options.quick && options.full) throw InputError("--full", "contradicts --quick; drop one of them");
  MeasureRequest request;
  request.backend = backend_named(options.backend.value_or("auto"), "--backend");
  if (options.ranks) {
    request.ranks = static_cast<int>(whole_numbers("--ranks", options.ranks, kMostRanks).front());
    if (options.ranks->find(',') != std::string::npos) refuse("--ranks", *options.ranks, "one number");
  }
  request.transport = transport_of(options.transport.value_or("auto"));
  request.link = options.link;
  request.only_link = options.only_link;
  PlanOptions& plan = request.plan;
  plan.effort = options.full ? Effort::full : Effort::quick;
  if (options.budget) plan.budget = budget_of(*options.budget);
  // A budget says how long; without --quick the full list is thinned to it.
  if (options.budget && !options.quick) plan.effort = Effort::full;
  plan.widths = whole_numbers("--widths", options.widths, kWidest);
  plan.batches = whole_numbers("--batches", options.batches, kLargestBatch);
  plan.dtypes = names("--dtypes", options.dtypes, &dtype_from, "fp32, tf32, bf16, fp16");
  plan.collectives = names("--collectives", options.collectives, &collective_from,
                           "all_reduce, all_gather, reduce_scatter");
  plan.compute = !options.only_link;
  if (request.ranks < 2) {
    const auto needs_ranks = [](const char* flag, bool given) {
      if (given) throw InputError(flag, "has no effect on one rank; give --ranks 2 or more");
    };
    needs_ranks("--transport", options.transport.has_value());
    needs_ranks("--collectives", options.collectives.has_value());
    needs_ranks("--link", options.link.has_value());
    needs_ranks("--only-link", options.only_link);
  }
  if (options.only_link && (options.widths || options.batches))
    throw InputError(options.widths ? "--widths" : "--batches", "has no effect with --only-link, which times no products");
  return request;
}

}  // namespace ddpx
