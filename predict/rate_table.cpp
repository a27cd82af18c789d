#include "predict/rate_table.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "model/error.hpp"
#include "model/quantity.hpp"
#include "predict/gpu_counts.hpp"

namespace ddpx {
namespace {

constexpr std::string_view kAccepted = "accepted: a head as 'bench Plan metric GPU1 GPU2'";
using Words = std::vector<std::string_view>;

Words words_of(std::string_view line) {
  Words words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r|");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    words.push_back(line.substr(0, line.find_first_of(" \t\r|")));
    line.remove_prefix(words.back().size());
  }
}

bool same(std::string_view word, std::string_view lower) {
  return std::equal(word.begin(), word.end(), lower.begin(), lower.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

// "GPU4", "4GPU".
std::optional<int> gpus_of(std::string_view word) {
  const bool before = word.size() > 3 && same(word.substr(0, 3), "gpu");
  const bool after = word.size() > 3 && same(word.substr(word.size() - 3), "gpu");
  if (before == after) return std::nullopt;
  const std::string_view digits = before ? word.substr(3) : word.substr(0, word.size() - 3);
  int count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return count;
}

struct Head {
  std::size_t words = 0;  // before the counts
  bool plan = false;
  bool metric = false;
  std::vector<int> gpus;
};

// nullopt for a line that is no head.
std::optional<Head> head_of(const Words& words, const std::string& here) {
  Head head;
  for (const std::string_view word : words) {
    if (const auto count = gpus_of(word)) {
      if (*count < 1 || *count > kMostGpus)
        throw InputError(here, "'" + shown(word) + "' is no count of GPUs; accepted: GPU1 to GPU" +
                                   std::to_string(kMostGpus));
      if (std::find(head.gpus.begin(), head.gpus.end(), *count) != head.gpus.end())
        throw InputError(here, "'" + shown(word) + "' heads two columns; leave one out");
      head.gpus.push_back(*count);
    } else if (!head.gpus.empty()) {
      return std::nullopt;
    } else {
      head.plan = head.plan || same(word, "plan");
      head.metric = head.metric || same(word, "metric");
      ++head.words;
    }
  }
  if (head.gpus.empty() || head.words == 0) return std::nullopt;
  return head;
}

}  // namespace

RateTable rate_table(std::string_view place, std::string_view text) {
  RateTable table;
  std::optional<Head> head;
  std::string planned;
  std::size_t lines = 0;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string here = std::string(place) + " line " + std::to_string(++number);
    const Words words = words_of(line);
    if (!head) {
      head = head_of(words, here);
      continue;
    }
    if (words.empty() || line.find_first_not_of("-=|: \t\r") == std::string_view::npos) continue;
    // An empty plan leaves one word less.
    const std::size_t before = words.size() - std::min(words.size(), head->gpus.size());
    const bool plan = before == head->words;
    if (!plan && !(head->plan && before + 1 == head->words))
      throw InputError(here, "'" + shown(line) + "' has not the columns of the head: " +
                                 std::to_string(words.size()) + " words of " +
                                 std::to_string(head->words + head->gpus.size()));
    if (!plan) {
      table.left_out.emplace_back(words.front());
      continue;
    }
    const std::string_view metric = words[before - 1];
    if (head->metric && !metric.ends_with("rate"))
      throw InputError(here, "'" + shown(metric) + "' is no rate; accepted: a metric that ends " +
                                 "with rate, in samples per second");
    planned += (lines++ == 0 ? "" : ", ") + std::string(words.front());
    table.benchmark = words.front();
    table.plan = head->plan ? std::string(words[1]) : "";
    for (std::size_t i = 0; i < head->gpus.size(); ++i) {
      static_cast<void>(parse_amount(here, words[before + i]));
      table.rates[head->gpus[i]] = words[before + i];
    }
  }
  if (!head) throw InputError(place, "has no table of rates; " + std::string(kAccepted));
  if (lines == 0)
    throw InputError(place, table.left_out.empty()
                                ? "has no line under the table's head"
                                : "names a plan in no line: these are copies that run side by "
                                  "side, and say nothing of sharing");
  if (lines > 1)
    throw InputError(place, "has " + std::to_string(lines) + " benchmarks to diagnose (" +
                                shown(planned) + "); keep the line of one");
  return table;
}

}  // namespace ddpx
