// Products of two H200 at widths left out, forecast by the costs of kernels
// (model/kernel_costs.hpp) and as without them. How the law was chosen: docs/results/h200x2.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "calibration/fit.hpp"
#include "calibration/fit_kernels.hpp"
#include "calibration/timed_steps.hpp"
#include "io/file.hpp"
#include "io/measurements_json.hpp"
#include "model/tiles.hpp"

namespace ddpx {
namespace {

const std::string kShipped = "calibration/measurements/h200x2.json";
const std::string kFresh = "docs/results/h200x2/fresh/measurements-0-machine.json";
const std::string kUnseen = "docs/results/h200x2/unseen-widths.json";
const std::string kTorch = "calibration/measurements/h200x2-torch.json";

// The products alone, as they were timed.
Machine products_of(const std::string& file) {
  Measurements measurements = io::measurements_from_json(io::read_text(file), file);
  measurements.steps.clear();
  FitReport report;
  return fit_machine(measurements, {.place = file}, report);
}

struct Miss {
  Product product;
  double measured = 0;
  double forecast = 0;
  double error = 0;  // one standard error, relative

  [[nodiscard]] double relative() const { return std::abs(forecast / measured - 1); }
  [[nodiscard]] bool inside() const {
    return std::abs(std::log(forecast / measured)) <= kNormalQuantile90 * error;
  }
};

bool square(const Product& product) { return product.in == product.out; }

void price(const Machine& machine, const std::vector<ProductPoint>& judged,
           std::vector<Miss>& misses) {
  std::map<DType, ProductTable> tables;
  for (const ProductPoint& point : judged) {
    const auto table = tables.try_emplace(point.product.dtype, machine, point.product.dtype).first;
    const ProductPrice priced = table->second.price(point.product);
    misses.push_back(
        {point.product, point.time.value.value(), priced.time.value(), priced.relative_error});
  }
}

// Square layers, or those of 64 outputs, of every width but the smallest and the largest, each
// forecast by costs, ratios and errors of the other widths.
std::vector<Miss> left_out(const Machine& machine, bool by_costs = true, bool squares = true) {
  std::set<double> widths;
  for (const ProductPoint& point : machine.products)
    if (square(point.product)) widths.insert(point.product.in);
  std::vector<Miss> misses;
  for (auto width = std::next(widths.begin()); width != std::prev(widths.end()); ++width) {
    Machine rest = machine;
    std::vector<ProductPoint> judged;
    std::erase_if(rest.products, [&](const ProductPoint& point) {
      if (point.product.in != *width && point.product.out != *width) return false;
      if (square(point.product) == squares) judged.push_back(point);
      return true;
    });
    fit_kernels(rest);
    if (!by_costs) rest.kernel_costs.clear();
    price(rest, judged, misses);
  }
  return misses;
}

struct Errors {
  double median = 0;
  double p90 = 0;
};

Errors errors_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return {values[static_cast<std::size_t>(0.5 * last)],
          values[static_cast<std::size_t>(0.9 * last)]};
}

Errors of_pass(const std::vector<Miss>& misses, Pass pass) {
  std::vector<double> errors;
  for (const Miss& miss : misses)
    if (miss.product.pass == pass) errors.push_back(miss.relative());
  return errors_of(errors);
}

// Of a layer's three products together.
Errors of_layers(const std::vector<Miss>& misses, DType dtype) {
  std::map<std::pair<double, double>, Miss> layers;
  for (const Miss& miss : misses) {
    if (miss.product.dtype != dtype) continue;
    Miss& layer = layers[{miss.product.rows, miss.product.in}];
    layer.measured += miss.measured;
    layer.forecast += miss.forecast;
  }
  std::vector<double> errors;
  for (const auto& [shape, layer] : layers) errors.push_back(layer.relative());
  return errors_of(errors);
}

double coverage(const std::vector<Miss>& misses) {
  const auto inside =
      std::count_if(misses.begin(), misses.end(), [](const Miss& miss) { return miss.inside(); });
  return static_cast<double>(inside) / static_cast<double>(misses.size());
}

// A row of docs/results/h200x2.md.
void print(const char* what, const std::vector<Miss>& misses) {
  std::printf("| %s | %zu |", what, misses.size());
  for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
    const Errors errors = of_pass(misses, pass);
    std::printf(" %.1f and %.0f %% |", 100 * errors.median, 100 * errors.p90);
  }
  for (const DType dtype : {DType::fp32, DType::tf32, DType::bf16}) {
    if (std::none_of(misses.begin(), misses.end(),
                     [&](const Miss& miss) { return miss.product.dtype == dtype; })) {
      std::printf(" |");
      continue;
    }
    const Errors errors = of_layers(misses, dtype);
    std::printf(" %.1f and %.1f %% |", 100 * errors.median, 100 * errors.p90);
  }
  std::printf(" %.0f %% |\n", 100 * coverage(misses));
}

void expect_within(const std::vector<Miss>& misses, double median, double p90) {
  for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
    EXPECT_LT(of_pass(misses, pass).median, median) << name(pass);
    EXPECT_LT(of_pass(misses, pass).p90, p90) << name(pass);
  }
  EXPECT_GT(coverage(misses), 0.84);
  EXPECT_LT(coverage(misses), 0.96);
}

TEST(ProductsLeftOut, are_forecast_from_the_other_widths) {
  for (const std::string& file : {kShipped, kFresh}) {
    const Machine machine = products_of(file);
    const std::vector<Miss> misses = left_out(machine);
    print(file == kShipped ? "native, first lease" : "native, second lease", misses);
    print("&nbsp; by the two nearest", left_out(machine, false));
    expect_within(misses, 0.045, 0.13);
    const std::vector<Miss> outputs = left_out(machine, true, false);
    print("&nbsp; layers of 64 outputs", outputs);
    print("&nbsp; by the two nearest", left_out(machine, false, false));
    for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient})
      EXPECT_LT(of_pass(outputs, pass).median, 0.04) << name(pass);
    EXPECT_LT(of_layers(misses, DType::fp32).p90, 0.08);
    EXPECT_LT(of_layers(misses, DType::tf32).p90, 0.10);
    EXPECT_LT(of_layers(misses, DType::bf16).p90, 0.08);
  }
  const Machine torch = products_of(kTorch);
  const std::vector<Miss> misses = left_out(torch);
  print("PyTorch (variants chosen on these)", misses);
  print("&nbsp; by the two nearest", left_out(torch, false));
  expect_within(misses, 0.045, 0.14);
}

// What a kernel of `file` takes less than one of `than`: copies of up to 4 MiB, which the cache
// holds.
double shorter_kernels(const std::string& file, const std::string& than) {
  const auto copies = [](const std::string& of) {
    std::map<double, double> times;
    for (const CopySample& copy : io::measurements_from_json(io::read_text(of), of).copies)
      times[copy.bytes.value()] = summarise(copy.seconds, 0).median;
    return times;
  };
  const std::map<double, double> other = copies(than);
  double sum = 0;
  int count = 0;
  for (const auto& [bytes, seconds] : copies(file)) {
    if (bytes > 4 << 20 || !other.contains(bytes)) continue;
    sum += other.at(bytes) - seconds;
    ++count;
  }
  return sum / count;
}

// Eight widths that no measurement before had, of another machine with an H200, some weeks later,
// forecast from all of the shipped machine's. Its kernels begin 0.4 us sooner after each other,
// whatever they do: so much is taken off.
TEST(ProductsLeftOut,
     of_widths_measured_when_all_was_settled_are_forecast_from_the_shipped_machine) {
  const Machine shipped = products_of(kShipped);
  const double sooner = shorter_kernels(kUnseen, kShipped);
  EXPECT_NEAR(sooner, 0.4e-6, 0.1e-6);
  Machine nearest = shipped;
  nearest.kernel_costs.clear();
  const Machine later = products_of(kUnseen);
  for (const bool squares : {true, false}) {
    std::vector<ProductPoint> judged = later.products;
    std::erase_if(judged, [&](const ProductPoint& p) { return square(p.product) != squares; });
    std::vector<Miss> misses;
    price(shipped, judged, misses);
    print(squares ? "widths of a third lease, as they are"
                  : "&nbsp; layers of 64 outputs, as they are",
          misses);
    for (Miss& miss : misses) miss.forecast -= sooner;
    print("&nbsp; kernels 0.4 us sooner", misses);
    std::vector<Miss> without;
    price(nearest, judged, without);
    for (Miss& miss : without) miss.forecast -= sooner;
    print("&nbsp; so by the two nearest", without);
    for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
      EXPECT_LT(of_pass(misses, pass).median, squares ? 0.04 : 0.03) << name(pass);
      EXPECT_LT(of_pass(misses, pass).p90, squares ? 0.13 : 0.10) << name(pass);
    }
  }
}

// One-GPU steps say what products take inside a step, and scale them; kernel costs are scaled with
// them (calibration/step_products.cpp).
TEST(KernelCosts, are_those_of_the_products_as_steps_scale_them) {
  const Measurements measurements = io::measurements_from_json(io::read_text(kShipped), kShipped);
  FitReport report;
  const Machine machine = fit_machine(measurements, {.place = kShipped}, report);
  const ProductPoint& point = machine.products.front();
  EXPECT_GT(std::abs(point.time.value / products_of(kShipped).products.front().time.value - 1),
            1e-4)
      << "the steps of these measurements scale products";
  Machine again = machine;
  fit_kernels(again);
  ASSERT_EQ(again.kernel_costs.size(), machine.kernel_costs.size());
  for (std::size_t i = 0; i < again.kernel_costs.size(); ++i) {
    const KernelCosts& a = machine.kernel_costs[i];
    const KernelCosts& b = again.kernel_costs[i];
    EXPECT_NEAR(a.error, b.error, 1e-6 * b.error);
    EXPECT_NEAR(a.error_outside, b.error_outside, 1e-6 * b.error_outside);
  }
  // Costs that the shapes of one generation cannot tell apart may change places; what they add up
  // to on these may not.
  const int multiprocessors = machine.device.multiprocessors;
  for (const ProductPoint& p : machine.products) {
    if (!has_tile(p)) continue;
    const double split = splits_of(*p.grid);
    const KernelGrid grid = grid_on(*p.grid, split, p.product, multiprocessors);
    const KernelParts parts = parts_of(grid, split, p.product, multiprocessors);
    const auto seconds = [&](const Machine& by) {
      const auto costs = std::find_if(
          by.kernel_costs.begin(), by.kernel_costs.end(), [&](const KernelCosts& known) {
            return known.pass == p.product.pass && known.dtype == p.product.dtype;
          });
      const KernelParts& each = costs->of(grid.generation);
      return std::inner_product(each.begin(), each.end(), parts.begin(), 0.0);
    };
    EXPECT_NEAR(seconds(again) / seconds(machine), 1, 1e-6) << p.product.rows << p.product.in;
  }
}

// Counted from the file's names and blocks: sixteen of the library's segment_k kernels.
TEST(KernelCosts, leave_out_grids_that_are_no_whole_number_of_tiles_and_say_so) {
  Measurements measurements = io::measurements_from_json(io::read_text(kShipped), kShipped);
  measurements.steps.clear();
  FitReport report;
  const Machine machine = fit_machine(measurements, {.place = kShipped}, report);
  const auto left_out =
      std::count_if(report.residuals.begin(), report.residuals.end(), [](const Residual& r) {
        return r.dropped && r.reason.find("no whole number of the tiles") != std::string::npos;
      });
  EXPECT_EQ(left_out, 16);
  const auto tiled = std::count_if(machine.products.begin(), machine.products.end(),
                                   [](const ProductPoint& point) { return has_tile(point); });
  EXPECT_EQ(tiled, 1512 - 16);
}

// Five widths at batches of 64, 256 and 1024, as a quick calibration times them, against `judged`
// widths of another measurement.
std::vector<Miss> from_five(const Machine& timed, const std::set<double>& widths,
                            const Machine& other, const std::set<double>& judged,
                            bool by_costs = true) {
  const std::set<double> batches{64, 256, 1024};
  Machine few = timed;
  std::erase_if(few.products, [&](const ProductPoint& point) {
    return !widths.contains(point.product.in) || !batches.contains(point.product.rows);
  });
  std::vector<ProductPoint> rest = other.products;
  std::erase_if(rest, [&](const ProductPoint& point) {
    const Product& p = point.product;
    return !square(p) || !judged.contains(p.in) || widths.contains(p.in) || p.rows > 1024;
  });
  fit_kernels(few);
  if (!by_costs) few.kernel_costs.clear();
  std::vector<Miss> misses;
  price(few, rest, misses);
  return misses;
}

double p90_of(const std::vector<Miss>& misses) {
  std::vector<double> errors;
  for (const Miss& miss : misses) errors.push_back(miss.relative());
  return errors_of(errors).p90;
}

// One width of three times a power of two shows waves that powers of two do not.
TEST(ProductsLeftOut, of_a_quick_calibration_are_forecast_best_with_a_width_between_powers_of_two) {
  const Machine first = products_of(kShipped);
  const Machine second = products_of(kFresh);
  const std::set<double> between{512, 768, 1024, 1536, 2048, 3072, 4096, 6144};
  const std::set<double> powers{256, 1024, 2048, 4096, 8192};
  const std::set<double> quick{256, 1024, 3072, 4096, 8192};
  const std::vector<Miss> of_powers = from_five(second, powers, first, between);
  const std::vector<Miss> of_quick = from_five(second, quick, first, between);
  const std::vector<Miss> before = from_five(second, powers, first, between, false);
  print("256, 1024, 2048, 4096, 8192", of_powers);
  print("&nbsp; by the two nearest", before);
  print("with 3072 instead of 2048", of_quick);
  EXPECT_LT(p90_of(of_powers), 0.7 * p90_of(before));
  EXPECT_LT(p90_of(of_quick), p90_of(of_powers));
  EXPECT_LT(p90_of(of_quick), 0.17);
  EXPECT_GT(coverage(of_quick), 0.75);

  const Machine torch = products_of(kTorch);
  const std::set<double> odd{1280, 2304, 4608, 6144, 7168};
  const std::vector<Miss> torch_powers =
      from_five(torch, {512, 1024, 2048, 4096, 8192}, torch, odd);
  const std::vector<Miss> torch_quick = from_five(torch, {512, 1024, 3072, 4096, 8192}, torch, odd);
  print("PyTorch, 512, 1024, 2048, 4096, 8192", torch_powers);
  print("with 3072 instead of 2048", torch_quick);
  EXPECT_LT(p90_of(torch_quick), p90_of(torch_powers));
}

// Square layers of `judged`, forecast from a calibration that ran them under kernel records alone,
// and by what it timed.
void expect_recorded_nearer(const char* what, const std::string& calibration,
                            const std::string& judged, double p90) {
  std::vector<ProductPoint> layers = products_of(judged).products;
  std::erase_if(layers, [](const ProductPoint& p) { return !square(p.product); });
  Measurements measurements = io::measurements_from_json(io::read_text(calibration), calibration);
  measurements.steps.clear();
  FitReport report;
  std::vector<Miss> recorded;
  price(fit_machine(measurements, {.place = calibration}, report), layers, recorded);
  print(what, recorded);
  std::erase_if(measurements.products,
                [](const ProductSample& sample) { return sample.seconds.empty(); });
  std::vector<Miss> timed;
  price(fit_machine(measurements, {.place = calibration}, report), layers, timed);
  print("&nbsp; without records", timed);
  for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
    EXPECT_LT(of_pass(recorded, pass).median, of_pass(timed, pass).median) << name(pass);
    EXPECT_LT(of_pass(recorded, pass).median, 0.03) << name(pass);
    EXPECT_LT(of_pass(recorded, pass).p90, p90) << name(pass);
  }
  EXPECT_GT(coverage(recorded), 0.85);
}

// Other H200, one each (docs/results/h200x2/recorded, docs/results/torch-h200x2/recorded): the
// judged widths were timed right after a calibration that had not timed them.
TEST(ProductsRecorded, are_forecast_within_the_mark_where_they_were_not_timed) {
  const std::string native = "docs/results/h200x2/recorded/";
  const std::string torch = "docs/results/torch-h200x2/recorded/";
  expect_recorded_nearer("full", native + "full.json", native + "timed.json", 0.06);
  expect_recorded_nearer("quick", native + "quick.json", native + "timed.json", 0.13);
  expect_recorded_nearer("PyTorch", torch + "measurements.json", torch + "timed.json", 0.10);
}

}  // namespace
}  // namespace ddpx
