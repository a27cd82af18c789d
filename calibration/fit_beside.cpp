#include "calibration/fit_beside.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "calibration/least_squares.hpp"
#include "calibration/timed_steps.hpp"
#include "model/contention.hpp"

namespace ddpx {
namespace {

// Where samples agree better than this, they agree by chance: schedulers differ from run to run.
constexpr double kLeastError = 0.10;
// Longest product, in times of the collective, beside which its wait for room is a small part.
constexpr double kShortProduct = 0.4;

struct Visit {
  double alone = 0;   // collective
  double beside = 0;  // collective
  double core_seconds = 0;
  double bytes = 0;
};

double middle(const std::vector<double>& v) { return summarise(v, 0).median; }

Visit visit_of(const BesideSample& sample) {
  Visit visit;
  visit.alone = middle(sample.collective_alone_seconds);
  visit.beside = middle(sample.collective_beside_seconds);
  const double slowdown =
      middle(sample.product_beside_seconds) / middle(sample.product_alone_seconds);
  visit.core_seconds = visit.beside * std::max(0.0, 1.0 - 1.0 / slowdown);
  visit.bytes = sample.call.bytes.value();
  return visit;
}

struct Line {
  double factor = 1;
  double delay = 0;
};

// Least squares of factor x alone + delay = beside, each row divided by `beside`; where the free
// fit leaves the sensible range, the best on its edge.
Line fit_line(const std::vector<Visit>& visits) {
  double xx = 0;
  double xy = 0;
  double yy = 0;
  double x1 = 0;
  double y1 = 0;
  for (const Visit& v : visits) {
    const double x = v.alone / v.beside;
    const double y = 1 / v.beside;
    xx += x * x;
    xy += x * y;
    yy += y * y;
    x1 += x;
    y1 += y;
  }
  const double determinant = xx * yy - xy * xy;
  if (determinant > 1e-12 * xx * yy) {
    const Line line{(x1 * yy - y1 * xy) / determinant, (y1 * xx - x1 * xy) / determinant};
    if (line.factor >= 1 && line.delay >= 0) return line;
    if (line.delay < 0) return {std::max(1.0, x1 / xx), 0};
  }
  return {1, std::max(0.0, (y1 - xy) / yy)};
}

std::string what_of(const Link& link, double bytes) {
  char what[96];
  std::snprintf(what, sizeof what, "%s all_reduce of %.0f B beside products", link.name.c_str(),
                bytes);
  return what;
}

std::string origin_of(std::size_t pairs) {
  return "from " + std::to_string(pairs) + " pairs measured side by side";
}

// What the memory can move: the machine's, or by the copy that came with a link alone.
double memory_rate(const Measurements& measurements, const Machine& machine) {
  if (machine.copy_bandwidth.value.value() > 0) return machine.copy_bandwidth.value.value();
  double rate = 0;
  for (const CopySample& copy : measurements.copies)
    rate = std::max(rate, 2 * copy.bytes.value() / middle(copy.seconds));
  return rate;
}

struct Pair {
  double memory;  // share of the memory's bandwidth that the product takes beside the collective
  double flops;   // its rate there, in kFlopsUnit
  double usual;   // the collective alone, and its wait for room where that was timed with it
  double beside;
  double bytes;

  [[nodiscard]] double slowdown() const { return beside / usual - 1; }
};

// nullopt for a pair in which the wait for room would hide the rest.
std::optional<Pair> pair_of(const BesideSample& sample, const Machine& machine, double rate,
                            int channels) {
  const Visit visit = visit_of(sample);
  const double kernel = middle(sample.product_beside_seconds);
  const double memory = std::min(1.0, sample.product.bytes().value() / kernel / rate);
  const double flops = sample.product.flops() / Seconds(kernel) / kFlopsUnit;
  if (sample.kernel_share > 0) return Pair{memory, flops, visit.alone, visit.beside, visit.bytes};
  const ProductPrice price = ProductTable(machine, sample.product.dtype).price(sample.product);
  if (kernel > kShortProduct * visit.alone || !price.grid) return std::nullopt;
  // It may come at any moment of a kernel.
  const double room =
      room_after(*price.grid, machine.device.multiprocessors, channels, Seconds(kernel)).value();
  return Pair{memory, flops, visit.alone + 0.5 * room * room / kernel, visit.beside, visit.bytes};
}

// Nothing is fitted here: what the grid says the product takes beside the collective, and what it
// took.
void judge_waves(const BesideSample& sample, const Machine& machine, double rate, const Link& link,
                 FitReport& report) {
  if (!(sample.kernel_share > 0) || machine.products.empty()) return;
  const Product& product = sample.product;
  const ProductPrice price = ProductTable(machine, product.dtype).price(product);
  if (!price.grid) return;
  const double beside = middle(sample.product_beside_seconds);
  // A kernel that outlasts the collective has others, and the pauses between them, beside it too.
  if (beside > middle(sample.collective_beside_seconds)) return;
  const Seconds alone(middle(sample.product_alone_seconds));
  const BesideCollective forecast = beside_collective(
      alone, *price.grid, machine.device.multiprocessors, link.channels,
      Seconds(sample.kernel_share * beside), wave_cost(alone, product.bytes(), rate));
  // The field's short names, for a line of 80 columns.
  const char* pass = product.pass == Pass::forward         ? "fprop"
                     : product.pass == Pass::data_gradient ? "dgrad"
                                                           : "wgrad";
  char what[160];
  std::snprintf(what, sizeof what, "%s, %s %s %.0fx%.0fx%.0f beside", link.name.c_str(),
                std::string(name(product.dtype)).c_str(), pass, product.rows, product.in,
                product.out);
  report.residuals.push_back({what, beside, forecast.time.value(), false, ""});
}

// GPUs: a collective waits for room (room_after), and beside products it is slowed by what these
// take of the memory's bandwidth and by what they draw.
void fit_beside_products(const std::vector<const BesideSample*>& samples, const Machine& machine,
                         double rate, Link& link, FitReport& report) {
  if (!(rate > 0)) return;
  std::vector<Pair> pairs;
  for (const BesideSample* sample : samples) {
    if (const auto pair = pair_of(*sample, machine, rate, link.channels)) pairs.push_back(*pair);
    judge_waves(*sample, machine, rate, link, report);
  }
  if (pairs.empty()) return;
  // Relative error of the collective's time beside the product.
  std::vector<CountedRow> rows;
  for (const Pair& pair : pairs)
    rows.push_back({{pair.memory, pair.flops}, pair.slowdown(), 1 + pair.slowdown()});
  const CountedCosts slopes = counted_costs(rows);
  double squares = 0;
  double fitted_squares = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Pair& pair = pairs[i];
    const double slowdown = slopes.of(rows[i]);
    const double fitted = pair.usual * (1 + slowdown);
    squares += (fitted / pair.beside - 1) * (fitted / pair.beside - 1);
    fitted_squares += slowdown * slowdown;
    report.residuals.push_back({what_of(link, pair.bytes), pair.beside, fitted, false, ""});
  }
  if (!(fitted_squares > 0)) return;
  // What the two together do not explain, over what they do.
  const double error = std::max(kLeastError, std::sqrt(squares / fitted_squares));
  const std::string origin = origin_of(pairs.size());
  if (slopes.each[0] > 0) link.beside_memory = {slopes.each[0], error, origin};
  if (slopes.each[1] > 0) link.beside_flops = {slopes.each[1], error, origin};
}

// Processor cores: a factor and a delay, and what the collective takes of the core.
void fit_shared_core(const std::vector<const BesideSample*>& samples, Machine& machine, Link& link,
                     FitReport& report) {
  std::vector<Visit> visits;
  visits.reserve(samples.size());
  for (const BesideSample* sample : samples) visits.push_back(visit_of(*sample));
  const Line line = fit_line(visits);
  double squares = 0;
  double core = 0;
  double bytes = 0;
  for (const Visit& v : visits) {
    const double fitted = line.factor * v.alone + line.delay;
    squares += (fitted / v.beside - 1) * (fitted / v.beside - 1);
    core += v.core_seconds;
    bytes += v.bytes;
    report.residuals.push_back({what_of(link, v.bytes), v.beside, fitted, false, ""});
  }
  const double error =
      std::max(kLeastError, std::sqrt(squares / static_cast<double>(visits.size())));
  const std::string origin = origin_of(visits.size());
  link.beside_compute = {line.factor, error, origin};
  link.shared_core = {{core / bytes, error, origin}, {Seconds(line.delay), error, origin}};
  // A link without samples of its own is most likely a network.
  if (!machine.shared_core || link.topology == Topology::network)
    machine.shared_core = link.shared_core;
}

// GPUs: a copy that wants all of the memory, beside a collective: the median of what the pairs of a
// link took, with what lies between as the error. Over NVLink the memory is all that they share,
// and a step's copies read what was just written, mostly from the cache, which the measured ones,
// going round more than it holds, do not: there it stays derived (docs/results/h200x2.md).
void fit_beside_copies(const Measurements& measurements, Link& link) {
  std::vector<double> collectives;
  std::vector<double> copies;
  std::vector<double> rates;
  for (const CopyBesideSample& sample : measurements.copy_besides) {
    if (sample.link != link.name) continue;
    const double alone = middle(sample.collective_alone_seconds);
    collectives.push_back(std::max(1.0, middle(sample.collective_beside_seconds) / alone));
    copies.push_back(
        std::max(1.0, middle(sample.copy_beside_seconds) / middle(sample.copy_alone_seconds)));
    rates.push_back(sample.call.bytes.value() * bus_factor(sample.call.kind, sample.call.ranks) /
                    alone);
  }
  if (collectives.empty()) return;
  const auto estimate = [&](const std::vector<double>& factors) {
    const SampleSummary all = summarise(factors, 0);
    // Of what it takes longer; a single pair says nothing of how sure it is.
    const double apart = all.median * all.relative_error;
    const double error = std::max(apart, kLeastError * (all.median - 1)) / all.median;
    return Estimate<double>{all.median, error, origin_of(factors.size())};
  };
  link.beside_copies = {estimate(collectives), estimate(copies), BytesPerSecond(middle(rates))};
}

}  // namespace

void fit_beside(const Measurements& measurements, Machine& machine, FitReport& report) {
  for (Link& link : machine.links) {
    if (machine.device.multiprocessors > 0 && link.topology != Topology::nvlink)
      fit_beside_copies(measurements, link);
    std::vector<const BesideSample*> samples;
    for (const BesideSample& sample : measurements.besides) {
      if (sample.link == link.name) samples.push_back(&sample);
    }
    // Kernel records are the better measurement of the same thing.
    const auto recorded = [](const BesideSample* sample) { return sample->kernel_share > 0; };
    if (std::any_of(samples.begin(), samples.end(), recorded))
      std::erase_if(samples, std::not_fn(recorded));
    if (samples.empty()) continue;
    if (machine.device.multiprocessors > 0) {
      fit_beside_products(samples, machine, memory_rate(measurements, machine), link, report);
    } else {
      fit_shared_core(samples, machine, link, report);
    }
  }
}

}  // namespace ddpx
