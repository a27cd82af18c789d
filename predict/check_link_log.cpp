#include "predict/check_link_log.hpp"

#include <algorithm>
#include <tuple>

#include "io/nccl_tests.hpp"
#include "io/nvbandwidth.hpp"
#include "model/error.hpp"
#include "predict/resolve.hpp"

namespace ddpx {
namespace {

bool falls(const MeasuredLink& measured) {
  constexpr double kMuch = 1.2;
  return measured.bus_bandwidth > measured.at_largest * kMuch;
}

std::vector<std::string> notes_of(const io::NcclImport& import) {
  constexpr std::size_t kMostRows = 5;
  std::vector<std::string> notes;
  for (const io::DroppedRow& row : import.dropped) {
    if (notes.size() == kMostRows) {
      notes.push_back(std::to_string(import.dropped.size() - kMostRows) + " more rows left out");
      break;
    }
    notes.push_back(import.row_word + " " + std::to_string(row.line) + " left out: " + row.reason);
  }
  notes.insert(notes.end(), import.notes.begin(), import.notes.end());
  return notes;
}

// The part of a message's time that a line through it and a smaller one leaves for no bytes: by the
// quickest of the smaller ones, for latency is in all of them. Of those within kFar of its size,
// beside which noise is taken for latency or hides it, only the smallest counts. Of a single size
// it is not known: none is taken of a large one, all of a small one.
double latency_share(const std::vector<CurvePoint>& points, const CurvePoint& message) {
  constexpr Bytes kSmall{64.0 * kKiB};
  constexpr double kFar = 8;
  if (!(points.front().bytes < message.bytes)) return message.bytes < kSmall ? 1 : 0;
  double share = 1;
  for (const CurvePoint& small : points) {
    if (&small != &points.front() && small.bytes * kFar > message.bytes) break;
    const double bytes = small.bytes / message.bytes;
    share = std::min(share, (small.time / message.time - bytes) / (1 - bytes));
  }
  return std::max(share, 0.0);
}

// The figure of a log is its best, by the largest message that reaches it within what two runs of
// one size differ by: on a flat curve a small message may be the best by chance, and a small one is
// expected to be slow.
constexpr double kAsGood = 0.98;

// What is wanted, else on the most: the box as a whole. Of several types the first of DType, as
// others differ from it by a few percent at most.
const Curve* judged_curve(const Link& link, const WantedTable& wanted) {
  const auto merit = [&](const Curve& curve) {
    const bool placed = wanted.one_host && curve.hosts;
    return std::tuple(curve.ranks == wanted.ranks, placed && (*curve.hosts == 1) == wanted.one_host,
                      curve.ranks);
  };
  const Curve* judged = nullptr;
  for (const Curve& curve : link.curves) {
    if (curve.kind == Collective::all_reduce &&
        (judged == nullptr || merit(curve) > merit(*judged)))
      judged = &curve;
  }
  return judged;
}

// Which of a log's tables is judged, where it has several; empty where it has one. Of repeats that
// contradict each other it is `slowest`.
std::string judged_text(const io::NcclImport& import, const Curve& judged,
                        const io::ImportedTable* slowest) {
  constexpr std::size_t kMostNamed = 3;
  std::string name;
  std::string others;
  std::size_t repeats = 0;
  std::size_t count = 0;
  bool another = false;
  for (const io::ImportedTable& table : import.tables) {
    if (table.points.empty()) continue;
    const bool usable = io::makes_samples(table, import) && table.kind == judged.kind;
    if (usable && table.dtype == judged.dtype && table.ranks == judged.ranks) {
      if (++repeats == 1) name = io::table_text(table, import);
      continue;
    }
    another = another || usable;
    if (++count <= kMostNamed) others += (count == 1 ? "" : "; ") + io::table_text(table, import);
  }
  if (count + repeats < 2) return {};
  std::string text = "judged is " + (slowest != nullptr ? io::table_text(*slowest, import) : name);
  if (slowest != nullptr) {
    text += ", the slowest run of it, for a fault that comes and goes is a fault";
  } else if (repeats > 1)
    text += ", the median of it and " +
            (repeats == 2 ? "its repeat" : std::to_string(repeats - 1) + " repeats");
  if (count == 0) return text + ".";
  if (count > kMostNamed) others += "; " + std::to_string(count - kMostNamed) + " more";
  return text + ", and not: " + others +
         (another ? ". Another all-reduce is judged where a file holds it alone." : ".");
}

// Those that are not cold.
std::vector<CurvePoint> points_of(const io::ImportedTable& table) {
  std::vector<CurvePoint> points;
  for (const io::ImportedPoint& point : table.points) {
    if (!point.cold) points.push_back({point.bytes, point.time, false, ""});
  }
  return points;
}

void set_figures(MeasuredLink& measured, const std::vector<CurvePoint>& points) {
  const auto rate = [&](const CurvePoint& point) {
    return point.bytes / point.time * bus_factor(Collective::all_reduce, measured.ranks);
  };
  BytesPerSecond best{};
  for (const CurvePoint& point : points) best = std::max(best, rate(point));
  for (const CurvePoint& point : points) {
    if (rate(point) < best * kAsGood) continue;
    measured.bus_bandwidth = rate(point);
    measured.bytes = point.bytes;
    measured.latency_share = latency_share(points, point);
  }
  measured.largest = points.back().bytes;
  measured.at_largest = rate(points.back());
  measured.falls = falls(measured);
}

// What the log says of wrong results.
std::string corrupts_text(const io::NcclImport& import) {
  std::string text;
  for (const std::string& line : io::wrong_results(import))
    text += (text.empty() ? "" : "; ") + line;
  return text;
}

}  // namespace

MeasuredLink measured_log(const std::string& text, const std::string& place,
                          const WantedTable& wanted) {
  const io::NcclImport import = io::read_nccl_tests(text, place);
  const Link link = link_of_log(import);
  const Curve* found = judged_curve(link, wanted);
  if (found == nullptr) throw InputError(place, "holds no all_reduce; run all_reduce_perf");
  const Curve& curve = *found;
  MeasuredLink measured{"", curve.ranks};
  const auto contradicted = io::contradiction(import, curve.kind, curve.dtype, curve.ranks);
  const io::ImportedTable* slowest = contradicted ? contradicted->slowest : nullptr;
  set_figures(measured, slowest != nullptr ? points_of(*slowest)
                                           : std::vector<CurvePoint>(curve.points().begin(),
                                                                     curve.points().end()));
  measured.notes = notes_of(import);
  measured.corrupts = corrupts_text(import);
  for (const std::string& line : io::wrong_results(import)) std::erase(measured.notes, line);
  if (std::string judged = judged_text(import, curve, slowest); !judged.empty())
    measured.notes.insert(measured.notes.begin(), std::move(judged));
  measured.assumptions = import.assumptions;
  io::RankPlaces places = io::places_of(import, curve.ranks);
  measured.hosts = places.hosts;
  measured.ranks_per_host = places.ranks_per_host;
  measured.unplaced = std::move(places.unplaced);
  measured.or_each = std::move(places.or_each);
  measured.placed_by = std::move(places.placed_by);
  measured.what = all_reduce_on(curve.ranks, places.hosts);
  return measured;
}

std::string all_reduce_on(int ranks, int hosts) {
  const std::string text = "all_reduce on " + std::to_string(ranks) + " ranks";
  return hosts > 1 ? text + " of " + std::to_string(hosts) + " hosts" : text;
}

namespace {

// "GPU 0 to GPU 1, GPU 2 to GPU 3 and 2 more".
std::string dead_text(const io::NvBandwidth& measured) {
  constexpr std::size_t kMostNamed = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(measured.dead.size(), kMostNamed); ++i)
    text += (i == 0 ? "GPU " : ", GPU ") + std::to_string(measured.dead[i].row) + " to GPU " +
            std::to_string(measured.dead[i].column);
  if (measured.dead.size() > kMostNamed)
    text += " and " + std::to_string(measured.dead.size() - kMostNamed) + " more";
  return text;
}

}  // namespace

MeasuredLink measured_copies(const std::string& text, const std::string& place) {
  const io::NvBandwidth measured = io::read_nvbandwidth(text, place);
  const auto slowest = io::slowest_pair(measured);
  if (!slowest && !measured.dead.empty())
    throw InputError(place, "has copies between GPUs at 0 GB/s only: " + dead_text(measured) +
                                "; no pair works, and nothing trains over it");
  if (!slowest)
    throw InputError(place,
                     "holds no copies between GPUs; run nvbandwidth -t "
                     "device_to_device_memcpy_read_ce");
  MeasuredLink copies{"copies between GPUs", 2, *slowest};
  copies.copies = true;
  copies.notes = measured.notes;
  copies.incomplete = measured.pairs_missing > 0;
  copies.dead = dead_text(measured);
  return copies;
}

}  // namespace ddpx
