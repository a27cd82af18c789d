#include "profiler/plan_lists.hpp"

#include <initializer_list>

namespace ddpx {
namespace {

std::vector<double> powers(double first, double last, double ratio) {
  std::vector<double> values;
  for (double v = first; v <= last; v *= ratio) values.push_back(v);
  return values;
}

Product hidden(double rows, double width, Pass pass = Pass::weight_gradient,
               DType dtype = DType::fp32) {
  return {pass, dtype, rows, width, width};
}

std::vector<Elementwise> between(double rows, std::initializer_list<double> widths) {
  std::vector<Elementwise> all;
  for (const double width : widths) {
    for (const RowKernel kernel :
         {RowKernel::bias_relu, RowKernel::relu_gradient, RowKernel::bias_gradient})
      all.push_back({kernel, DType::fp32, rows, width});
  }
  return all;
}

// Square layers of `first`, `first` + `step`, ... to `last`.
void add_squares(double first, double last, double step, std::vector<LayerSize>& layers) {
  for (double width = first; width <= last; width += step) layers.push_back({width, width});
}

// Of a transformer's block: query, key and value in one, and the two of its MLP.
void add_blocks(std::initializer_list<double> widths, std::vector<LayerSize>& layers) {
  for (const double width : widths) {
    layers.push_back({width, 3 * width});
    layers.push_back({width, 4 * width});
    layers.push_back({4 * width, width});
  }
}

}  // namespace

PlanLists core_lists(Effort effort) {
  PlanLists lists;
  if (effort == Effort::quick) {
    lists.widths = {128, 256, 512, 1024};
    lists.batches = {16, 64, 256, 512};
    lists.message_bytes = powers(4096, 67108864, 4);
    lists.copy_bytes = powers(65536, 16777216, 4);
    lists.update_parameters = powers(16384, 4194304, 4);
    lists.beside_products = {hidden(64, 256), hidden(64, 1024)};
    lists.beside_bytes = {262144, 4194304};
    lists.stopping = {.noise = 0.01, .fewest = 7, .most = 200, .time = Seconds(0.15)};
  } else {
    lists.widths = {64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048};
    lists.batches = {8, 16, 32, 64, 128, 256, 512};
    lists.message_bytes = powers(4096, 67108864, 2);
    lists.copy_bytes = powers(65536, 33554432, 2);
    lists.update_parameters = powers(16384, 8388608, 2);
    lists.beside_products = {hidden(64, 128), hidden(64, 256), hidden(64, 512), hidden(64, 1024),
                             hidden(256, 1024)};
    lists.beside_bytes = {65536, 1048576, 4194304, 16777216};
    lists.stopping = {.noise = 0.005, .fewest = 9, .most = 1000, .time = Seconds(0.6)};
  }
  return lists;
}

PlanLists gpu_lists(Effort effort, bool link_alone) {
  PlanLists lists;
  lists.beside_copies = {67108864};
  const auto beside = [&](std::initializer_list<double> widths, std::initializer_list<double> rows,
                          std::initializer_list<DType> dtypes) {
    for (const DType dtype : dtypes)
      for (const double width : widths)
        for (const double batch : rows)
          for (const Pass pass : {Pass::weight_gradient, Pass::data_gradient})
            lists.beside_products.push_back(hidden(batch, width, pass, dtype));
  };
  if (effort == Effort::quick) {
    // Not powers of two alone: they fill the same waves (tests/io/products_left_out_test.cpp).
    lists.widths = {256, 1024, 3072, 4096, 8192};
    lists.batches = {64, 256, 1024};
    lists.dtypes = {DType::fp32, DType::tf32, DType::bf16};
    lists.message_bytes = powers(4096, 268435456, 4);
    lists.copy_bytes = {4194304, 67108864, 268435456};
    lists.update_parameters = {1048576, 16777216, 67108864};
    lists.beside_bytes = {26214400};
    lists.between = between(256, {1024, 4096, 8192});
    beside({2048}, {256}, {DType::fp32});
    add_squares(512, 2048, 512, lists.recorded);
    add_squares(2560, 6144, 1024, lists.recorded);
    add_blocks({768, 1024, 2048}, lists.recorded);
    lists.recorded_rows = {64, 256, 1024, 4096};
    lists.stopping = {.noise = 0.005, .fewest = 5, .most = 40, .time = Seconds(0.05)};
  } else {
    lists.widths = {256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384};
    lists.batches = {64, 128, 256, 512, 1024, 2048, 4096};
    lists.dtypes = {DType::fp32, DType::tf32, DType::bf16};
    lists.message_bytes = powers(4096, 1073741824, 2);
    lists.copy_bytes = {1048576, 4194304, 16777216, 67108864, 268435456, 1073741824};
    lists.update_parameters = {1048576, 4194304, 16777216, 67108864, 268435456};
    lists.beside_bytes = {26214400};
    lists.between = between(256, {512, 1024, 2048, 4096, 8192, 16384});
    add_squares(128, 2048, 128, lists.recorded);
    add_squares(2304, 4096, 256, lists.recorded);
    add_squares(4608, 8192, 512, lists.recorded);
    add_squares(9216, 16384, 1024, lists.recorded);
    add_blocks({768, 1024, 1280, 1600, 2048, 4096}, lists.recorded);
    lists.recorded_rows = {64, 256, 1024, 4096, 16384};
    if (link_alone) {
      beside({2048, 4096}, {64, 256}, {DType::fp32, DType::bf16});
    } else {
      beside({1024, 2048, 4096, 8192}, {64, 256, 1024}, {DType::fp32, DType::tf32, DType::bf16});
    }
    lists.stopping = {.noise = 0.003, .fewest = 5, .most = 60, .time = Seconds(0.1)};
  }
  return lists;
}

}  // namespace ddpx
