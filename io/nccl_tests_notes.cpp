// What a person should know before trusting an imported table.
#include <fmt/format.h>

#include <algorithm>

#include "io/nccl_tests_table.hpp"
#include "model/curve.hpp"
#include "model/tree_wire.hpp"

namespace ddpx::io::nccl {
namespace {

// Time should not fall with size; by this much it is no repeat spread of a warmed-up run (1-3 %).
constexpr double kColdStart = 1.10;
// Bus bandwidth lost against a smaller message: a protocol switch costs less (10 %, two H200 at 2
// MiB).
constexpr double kFall = 0.85;
// Ring bus bandwidth of 8 H200 is 367 GB/s, with reduction in the switch (NVLS) 480, above NVLink
// 4's 450.
constexpr double kSwitchReduction = 400e9;
// Single hosts have 8 GPUs, the largest 16.
constexpr int kUsualHost = 8;
constexpr int kLargestHost = 16;

double rate(const ImportedPoint& point) { return point.bytes.value() / point.time.value(); }

void note_cold_start(ImportedTable& table, NcclImport& import) {
  if (table.points.size() < 3) return;
  ImportedPoint& first = table.points[0];
  if (first.time < kColdStart * table.points[1].time) return;
  first.cold = true;
  import.notes.push_back(fmt::format(
      "{}: cold first row: {} took {:.4g} us, {} only {:.4g} us; it is left out of the link",
      table_text(table, import), size_text(first.bytes.value()), first.time.value() * 1e6,
      size_text(table.points[1].bytes.value()), table.points[1].time.value() * 1e6));
}

void note_fall(const ImportedTable& table, NcclImport& import) {
  const ImportedPoint* best = nullptr;
  for (const ImportedPoint& point : table.points) {
    if (best != nullptr && rate(point) < kFall * rate(*best)) {
      import.notes.push_back(
          fmt::format("{}: not monotone: bus bandwidth falls from {:.4g} GB/s at {} to {:.4g} at "
                      "{} ({} {}): no single latency and "
                      "bandwidth describe it",
                      table_text(table, import), best->bus_bandwidth.value() / 1e9,
                      size_text(best->bytes.value()), point.bus_bandwidth.value() / 1e9,
                      size_text(point.bytes.value()), import.row_word, point.line));
      return;
    }
    if (best == nullptr || rate(point) > rate(*best)) best = &point;
  }
}

void note_sizes(const ImportedTable& table, NcclImport& import) {
  const Bytes largest = table.points.back().bytes;
  if (table.points.size() == 1) {
    import.notes.push_back(fmt::format("{}: one size only ({}): {} is known, {} is not",
                                       table_text(table, import), size_text(largest.value()),
                                       largest >= kShowsBandwidth ? "bandwidth" : "latency",
                                       largest >= kShowsBandwidth ? "latency" : "bandwidth"));
  } else if (largest < kShowsBandwidth) {
    import.notes.push_back(
        fmt::format("{}: the largest message is {}: these rows give the latency, not the bandwidth",
                    table_text(table, import), size_text(largest.value())));
  }
}

void note_collective(const ImportedTable& table, NcclImport& import) {
  if (!table.kind && table.collective.find(" or ") == std::string::npos)
    import.notes.push_back(table_text(table, import) +
                           ": no collective that gradients travel by; it is not used");
  if (table.collective.find(" or ") == std::string::npos) return;
  import.notes.push_back(table_text(table, import) +
                         ": the columns leave open which; it is not used. To say so, add the line "
                         "\"# Collective test starting: "
                         "all_gather_perf\" above it");
}

// How many times the wire's its bus bandwidth may be, and on how many hosts: of those the log says,
// else of the fewest that so many ranks may be on. 1: a ring's.
struct OverWire {
  int hosts = 0;
  double times = 1;
};

OverWire over_wire(const ImportedTable& table) {
  if (table.kind != Collective::all_reduce || table.ranks < 2) return {};
  if (table.hosts > 0)
    return {table.hosts, table.hosts < 2 ? 1.0 : most_over_wire(table.hosts, table.ranks)};
  if (table.ranks <= kUsualHost) return {};
  const int hosts = std::max(2, (table.ranks + kLargestHost - 1) / kLargestHost);
  return {hosts, most_over_wire(hosts, table.ranks)};
}

void note_hosts(const ImportedTable& table, NcclImport& import) {
  if (const auto [hosts, times] = over_wire(table); times > 1) {
    import.notes.push_back(
        fmt::format("{}: {} {} hosts a tree sends less over the wire than a ring, so bus bandwidth "
                    "may be up to {:.3g} times the wire's; times are used",
                    table_text(table, import),
                    table.hosts == 0 || !table.placed_by.empty() ? "if its ranks are on" : "on its",
                    hosts, times));
  }
  if (uneven(table) && !table.unplaced.empty())
    import.notes.push_back(fmt::format("{}: {}; it is left out of the link",
                                       table_text(table, import), table.unplaced));
  else if (uneven(table))
    import.notes.push_back(
        fmt::format("{}: {} hosts with unequal numbers of ranks; it is left out of the link",
                    table_text(table, import), table.hosts));
  const auto fastest = std::max_element(table.points.begin(), table.points.end(),
                                        [](const ImportedPoint& a, const ImportedPoint& b) {
                                          return a.bus_bandwidth < b.bus_bandwidth;
                                        });
  if (table.kind == Collective::all_reduce && table.hosts < 2 && table.ranks > 2 &&
      fastest->bus_bandwidth.value() > kSwitchReduction) {
    import.notes.push_back(
        fmt::format("{}: {:.4g} GB/s can exceed the link's own rate: reduction in the switch "
                    "(NVLS) halves the traffic "
                    "that bus bandwidth assumes",
                    table_text(table, import), fastest->bus_bandwidth.value() / 1e9));
  }
}

}  // namespace

void add_notes(ImportedTable& table, NcclImport& import) {
  if (table.points.empty()) {
    import.notes.push_back(table_text(table, import) + ": a header but no row");
    return;
  }
  if (!table.validated)
    import.notes.push_back(table_text(table, import) + ": results were not validated");
  if (table.host_time)
    import.notes.push_back(table_text(table, import) +
                           ": times are the host's calls (-C), not the collectives'");
  note_collective(table, import);
  note_cold_start(table, import);
  note_fall(table, import);
  note_sizes(table, import);
  note_hosts(table, import);
}

void add_notes(NcclImport& import) {
  bool other_reduction = false;
  bool sum = false;
  for (std::size_t i = 0; i < import.tables.size(); ++i) {
    const ImportedTable& table = import.tables[i];
    if (table.points.empty()) continue;
    if (table.kind == Collective::all_reduce) (table.redop == "sum" ? sum : other_reduction) = true;
    const auto repeat = std::find_if(
        import.tables.begin(), import.tables.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const ImportedTable& before) {
          return before.collective == table.collective && before.redop == table.redop &&
                 before.dtype_name == table.dtype_name && before.ranks == table.ranks &&
                 !before.points.empty();
        });
    if (repeat == import.tables.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    import.notes.push_back(fmt::format(
        "{}: a second table like that of {} {}: taken as a repeat of {} ranks, whether run again "
        "or by another "
        "host at the same time",
        table_text(table, import), import.row_word, repeat->points.front().line, table.ranks));
  }
  for (std::string& line : wrong_results(import)) import.notes.push_back(std::move(line));
  for (std::string& line : contradictions(import)) import.notes.push_back(std::move(line));
  if (other_reduction && !sum) {
    import.notes.emplace_back(
        "no all-reduce of sums, which gradients need: the other reductions stand in for it");
  }
}

}  // namespace ddpx::io::nccl
