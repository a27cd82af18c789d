#include "predict/rank_report.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "model/error.hpp"
#include "model/quantity.hpp"

namespace ddpx {
namespace {

struct RankLine {
  int rank = 0;
  std::string_view time;
};

// "Rank 3: 9.40ms", wherever in the line it begins; nullopt for any other line.
std::optional<RankLine> rank_line(std::string_view line) {
  const std::size_t at = line.find("Rank ");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + 5);
  RankLine found;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), found.rank);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc() || !rest.substr(digits).starts_with(": ")) return std::nullopt;
  const std::size_t begin = rest.find_first_not_of(' ', digits + 1);
  if (begin == std::string_view::npos) return std::nullopt;
  found.time = rest.substr(begin);
  found.time = found.time.substr(0, found.time.find_first_of(" \t\r"));
  return found;
}

}  // namespace

std::vector<Seconds> rank_times(std::string_view place, std::string_view text) {
  std::map<int, Seconds> found;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string here = std::string(place) + " line " + std::to_string(++number);
    const auto rank = rank_line(line);
    if (!rank) continue;
    if (rank->rank < 0 || rank->rank >= kMostTimedRanks)
      throw InputError(here, "names rank " + std::to_string(rank->rank) + "; accepted: 0 to 65535");
    if (!found.emplace(rank->rank, parse_time(here, rank->time)).second)
      throw InputError(here, "names rank " + std::to_string(rank->rank) +
                                 " again; keep the report of one step and one part of it");
  }
  if (found.empty())
    throw InputError(place, "has no rank's time; accepted: a line for each, as Rank 3: 9.40ms");
  std::vector<Seconds> times;
  for (const auto& [rank, time] : found) {
    if (rank != static_cast<int>(times.size()))
      throw InputError(place, "has no time of rank " + std::to_string(times.size()) +
                                  ", and one of rank " + std::to_string(rank));
    times.push_back(time);
  }
  return times;
}

}  // namespace ddpx
