// On which hosts a log's ranks were, by its rank lines: all of them, or as many as a cut log has
// left.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "io/nccl_tests_table.hpp"

namespace ddpx::io::nccl {
namespace {

using Listed = std::vector<std::pair<int, int>>;  // rank and host

// Whether the ranks of one group, and no others, share a host.
template <class GroupOf>
bool fits(const Listed& listed, GroupOf group_of) {
  std::map<int, int> host_of;
  std::map<int, int> group_on;
  return std::all_of(listed.begin(), listed.end(), [&](const auto& line) {
    const int group = group_of(line.first);
    return host_of.emplace(group, line.second).first->second == line.second &&
           group_on.emplace(line.second, group).first->second == group;
  });
}

// The ranks of each host in every spread of `ranks` over equal hosts that has the listed ones where
// they are: in blocks (mpirun's and Slurm's default) or in turn (--map-by node, cyclic).
std::set<int> even_spreads(const Listed& listed, int ranks) {
  std::set<int> of_each;
  const auto try_each = [&](int each) {
    const int hosts = ranks / each;
    if (fits(listed, [&](int rank) { return rank / each; }) ||
        fits(listed, [&](int rank) { return rank % hosts; }))
      of_each.insert(each);
  };
  for (int divisor = 1; divisor <= ranks / divisor; ++divisor) {
    if (ranks % divisor != 0) continue;
    try_each(divisor);
    try_each(ranks / divisor);
  }
  return of_each;
}

// "0 to 3, 7 and 2 more gaps".
std::string missing_text(const Listed& listed, int ranks) {
  constexpr int kMostGaps = 3;
  std::string text;
  int gaps = 0;
  int next = 0;
  const auto add = [&](int end) {
    if (next < end && ++gaps <= kMostGaps)
      text += (text.empty() ? "" : ", ") +
              (next + 1 == end ? std::to_string(next) : fmt::format("{} to {}", next, end - 1));
  };
  for (const auto& [rank, host] : listed) {
    add(rank);
    next = rank + 1;
  }
  add(ranks);
  if (gaps > kMostGaps) text += fmt::format(" and {} more gaps", gaps - kMostGaps);
  return text;
}

RankPlaces counted(const Listed& listed, std::size_t hosts) {
  std::vector<int> on(hosts);
  for (const auto& [rank, host] : listed) ++on[static_cast<std::size_t>(host)];
  const bool alike = std::all_of(on.begin(), on.end(), [&](int ranks) { return ranks == on[0]; });
  return {static_cast<int>(hosts), alike ? on[0] : 0};
}

}  // namespace

void ListedRanks::add(int rank, std::string_view host) {
  if (host.empty()) nameless_ = true;
  const auto number = numbers_.emplace(host, static_cast<int>(numbers_.size())).first->second;
  lines_.emplace_back(rank, number);
  highest_ = std::max(highest_, rank);
}

ListedRanks::Places ListedRanks::places_of(int ranks) const {
  const auto unknown = [](std::string why) { return Places{{0, 0, std::move(why)}, ""}; };
  if (nameless_) return unknown("the log has rank lines without a host's name");
  Listed listed = lines_;
  std::sort(listed.begin(), listed.end());
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (std::adjacent_find(listed.begin(), listed.end(), same) != listed.end())
    return unknown("the log lists ranks twice, as two jobs in one file do");
  if (listed.size() == static_cast<std::size_t>(ranks))
    return {counted(listed, numbers_.size()), ""};
  const std::string lists = fmt::format("the log lists {} of its {} ranks (missing: {})",
                                        listed.size(), ranks, missing_text(listed, ranks));
  const std::set<int> spreads = even_spreads(listed, ranks);
  const auto named = static_cast<int>(numbers_.size());
  if (spreads.empty())
    return {{named, 0,
             fmt::format("{}, on {} hosts, and no spread over equal hosts has them where they are "
                         "listed",
                         lists, named)},
            ""};
  if (spreads.size() > 1 && named == 1)
    return unknown(lists + ", which leaves open on which hosts they are");
  // Two names are two hosts; hosts of which no rank is listed are not taken where none is needed.
  const int each = *spreads.rbegin();
  Places places{{ranks / each, each}, ""};
  places.ranks.or_each.assign(spreads.begin(), std::prev(spreads.end()));
  std::string others;
  for (const int other : places.ranks.or_each)
    others += fmt::format("{}{} on each of {}", others.empty() ? "" : ", ", other, ranks / other);
  places.assumption =
      others.empty()
          ? fmt::format(
                "{}: taken as {} on each of {} hosts, the only spread over equal hosts "
                "that has the listed ones where they are",
                lists, each, ranks / each)
          : fmt::format(
                "{}: taken as {} on each of {} hosts ({} would fit as well; a log with all its "
                "rank lines tells)",
                lists, each, ranks / each, others);
  return places;
}

void ListedRanks::place(ImportedTable& table, NcclImport& import) {
  if (lines_.empty() || table.ranks == 0) return;
  if (count() > table.ranks) {
    import.notes.push_back(
        fmt::format("{}: the log lists {} ranks, busbw/algbw says {}: the latter is used",
                    table_text(table, import), count(), table.ranks));
    return;
  }
  const auto [found, is_new] = places_.try_emplace(table.ranks);
  if (is_new) {
    found->second = places_of(table.ranks);
    const std::string& assumption = found->second.assumption;
    if (!assumption.empty()) import.assumptions.push_back(assumption);
  }
  const RankPlaces& ranks = found->second.ranks;
  table.hosts = ranks.hosts;
  table.ranks_per_host = ranks.ranks_per_host;
  table.unplaced = ranks.unplaced;
  table.or_each = ranks.or_each;
  table.placed_by = found->second.assumption;
}

}  // namespace ddpx::io::nccl
