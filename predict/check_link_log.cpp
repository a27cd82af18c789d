#include "predict/check_link_log.hpp"

#include <algorithm>

#include "io/nccl_tests.hpp"
#include "io/nvbandwidth.hpp"
#include "model/error.hpp"
#include "predict/resolve.hpp"

namespace ddpx {
namespace {

bool falls(const Curve& curve) {
  constexpr double kMuch = 1.2;
  double best = 0;
  double last = 0;
  for (const CurvePoint& point : curve.points()) {
    last = (point.bytes / point.time).value();
    best = std::max(best, last);
  }
  return best > kMuch * last;
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

// The part of a message's time that a line through it and a smaller one leaves for no bytes. Of a
// single size it is not known: none is taken of a large one, all of a small one.
double latency_share(const CurvePoint& small, const CurvePoint& message) {
  constexpr Bytes kSmall{64.0 * kKiB};
  if (!(small.bytes < message.bytes)) return message.bytes < kSmall ? 1 : 0;
  const double bytes = small.bytes / message.bytes;
  return std::clamp((small.time / message.time - bytes) / (1 - bytes), 0.0, 1.0);
}

// The figure of a log is its best, by the largest message that reaches it within what two runs of
// one size differ by: on a flat curve a small message may be the best by chance, and a small one is
// expected to be slow.
constexpr double kAsGood = 0.98;

// On `ranks`, else on the most: the box as a whole. Of several types the first of DType, as others
// differ from it by a few percent at most.
const Curve* judged_curve(const Link& link, std::optional<int> ranks) {
  const Curve* judged = nullptr;
  for (const Curve& curve : link.curves) {
    if (curve.kind != Collective::all_reduce) continue;
    const bool better =
        judged == nullptr ||
        (judged->ranks != ranks && (curve.ranks == ranks || curve.ranks > judged->ranks));
    if (better) judged = &curve;
  }
  return judged;
}

// Which of a log's tables is judged, where it has several; empty where it has one.
std::string judged_text(const io::NcclImport& import, const Curve& judged) {
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
  std::string text = "judged is " + name;
  if (repeats > 1)
    text += ", the median of it and " +
            (repeats == 2 ? "its repeat" : std::to_string(repeats - 1) + " repeats");
  if (count == 0) return text + ".";
  if (count > kMostNamed) others += "; " + std::to_string(count - kMostNamed) + " more";
  return text + ", and not: " + others +
         (another ? ". Another all-reduce is judged where a file holds it alone." : ".");
}

}  // namespace

MeasuredLink measured_log(const std::string& text, const std::string& place,
                          std::optional<int> ranks) {
  const io::NcclImport import = io::read_nccl_tests(text, place);
  const Link link = link_of_log(import);
  const Curve* found = judged_curve(link, ranks);
  if (found == nullptr) throw InputError(place, "holds no all_reduce; run all_reduce_perf");
  const Curve& curve = *found;
  MeasuredLink measured{"all_reduce on " + std::to_string(curve.ranks) + " ranks", curve.ranks,
                        curve.peak_bus_bandwidth(), falls(curve)};
  const auto rate = [&](const CurvePoint& point) {
    return point.bytes / point.time * bus_factor(curve.kind, curve.ranks);
  };
  BytesPerSecond best{};
  for (const CurvePoint& point : curve.points()) best = std::max(best, rate(point));
  for (const CurvePoint& point : curve.points()) {
    if (rate(point) < best * kAsGood) continue;
    measured.bus_bandwidth = rate(point);
    measured.bytes = point.bytes;
    measured.latency_share = latency_share(curve.points().front(), point);
  }
  measured.notes = notes_of(import);
  if (std::string judged = judged_text(import, curve); !judged.empty())
    measured.notes.insert(measured.notes.begin(), std::move(judged));
  measured.assumptions = import.assumptions;
  io::RankPlaces places = io::places_of(import, curve.ranks);
  measured.hosts = places.hosts;
  measured.ranks_per_host = places.ranks_per_host;
  measured.unplaced = std::move(places.unplaced);
  if (places.hosts > 1) measured.what += " of " + std::to_string(places.hosts) + " hosts";
  return measured;
}

MeasuredLink measured_copies(const std::string& text, const std::string& place) {
  const io::NvBandwidth measured = io::read_nvbandwidth(text, place);
  const auto slowest = io::slowest_pair(measured);
  if (!slowest)
    throw InputError(place,
                     "holds no copies between GPUs; run nvbandwidth -t "
                     "device_to_device_memcpy_read_ce");
  MeasuredLink copies{"copies between GPUs", 2, *slowest};
  copies.copies = true;
  return copies;
}

}  // namespace ddpx
