// Products of the shipped two-H200 machine at widths left out of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "io/file.hpp"
#include "io/machine_json.hpp"
#include "model/machine.hpp"

namespace ddpx {
namespace {

double at(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

// |error| of the three passes of a square layer together, for every width but the first and last.
std::vector<double> errors(const Machine& machine, DType dtype) {
  std::set<double> widths;
  std::set<double> batches;
  for (const ProductPoint& point : machine.products) {
    if (point.product.in != point.product.out) continue;
    widths.insert(point.product.in);
    batches.insert(point.product.rows);
  }
  std::vector<double> all;
  for (auto width = std::next(widths.begin()); width != std::prev(widths.end()); ++width) {
    Machine without = machine;
    std::erase_if(without.products, [&](const ProductPoint& point) {
      return point.product.in == *width || point.product.out == *width;
    });
    const ProductTable known(machine, dtype);
    const ProductTable rest(without, dtype);
    for (const double rows : batches) {
      double measured = 0;
      double forecast = 0;
      for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
        const Product product{pass, dtype, rows, *width, *width};
        measured += known.price(product).time.value();
        forecast += rest.price(product).time.value();
      }
      all.push_back(std::abs(forecast / measured - 1));
    }
  }
  return all;
}

TEST(ProductsLeftOut, are_forecast_from_the_other_widths) {
  const Machine machine =
      io::machine_from_json(io::read_text("calibration/machines/h200x2.json"), "h200x2.json");
  for (const auto& [dtype, median, p90] : std::initializer_list<std::tuple<DType, double, double>>{
           {DType::fp32, 0.05, 0.22}, {DType::tf32, 0.08, 0.22}, {DType::bf16, 0.12, 0.27}}) {
    const std::vector<double> all = errors(machine, dtype);
    std::printf("%s: %zu layers, median %.1f %%, 90th percentile %.1f %%\n",
                std::string(name(dtype)).c_str(), all.size(), 100 * at(all, 0.5),
                100 * at(all, 0.9));
    EXPECT_LT(at(all, 0.5), median) << name(dtype);
    EXPECT_LT(at(all, 0.9), p90) << name(dtype);
  }
}

}  // namespace
}  // namespace ddpx
