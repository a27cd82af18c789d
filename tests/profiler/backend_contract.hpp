// What every backend promises, run on each of them: INSTANTIATE_TEST_SUITE_P(Name, BackendContract,
// ...).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "model/error.hpp"
#include "profiler/backend.hpp"

namespace ddpx::test {

struct BackendUnderTest {
  std::string name;
  std::function<Backend&()> backend;
  // Whether all ranks hold these values; true where there is one process.
  std::function<bool(const std::vector<double>&)> same_on_all_ranks = [](const auto&) {
    return true;
  };
};

inline std::string name_of(const testing::TestParamInfo<BackendUnderTest>& info) {
  return info.param.name;
}

class BackendContract : public testing::TestWithParam<BackendUnderTest> {
 protected:
  [[nodiscard]] static Backend& backend() { return GetParam().backend(); }

  // One of each kind that this backend supports.
  [[nodiscard]] static std::vector<Operation> operations() {
    const int ranks = backend().hardware().ranks;
    std::vector<Operation> all{Launch{}, Copy{kMiB}, OptimizerStep{Optimizer::sgd, 65536},
                               OptimizerStep{Optimizer::adamw, 65536}};
    for (RowKernel kernel :
         {RowKernel::bias_relu, RowKernel::relu_gradient, RowKernel::bias_gradient})
      all.emplace_back(Elementwise{kernel, DType::fp32, 64, 256});
    for (DType dtype : {DType::fp32, DType::tf32, DType::bf16, DType::fp16}) {
      for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient})
        all.emplace_back(Product{pass, dtype, 16, 64, 128});
      for (Collective kind :
           {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter})
        all.emplace_back(CollectiveCall{kind, dtype, kKiB * 64, ranks});
    }
    std::erase_if(all, [](const Operation& o) { return !backend().supports(o); });
    return all;
  }

  static double fastest(const Operation& operation) {
    const auto samples = backend().sample(operation, 7);
    return *std::min_element(samples.begin(), samples.end());
  }
};

TEST_P(BackendContract, hardware_has_a_name_and_at_least_one_rank_and_stays_the_same) {
  const Hardware hardware = backend().hardware();
  EXPECT_FALSE(hardware.device.name.empty());
  EXPECT_GE(hardware.ranks, 1);
  EXPECT_EQ(hardware.link.has_value(), hardware.ranks > 1);
  EXPECT_EQ(backend().hardware().device.name, hardware.device.name);
}

TEST_P(BackendContract, every_supported_operation_gives_as_many_positive_times_as_asked_for) {
  const auto all = operations();
  ASSERT_FALSE(all.empty());
  for (const Operation& operation : all) {
    for (int n : {1, 4}) {
      const std::vector<double> samples = backend().sample(operation, n);
      ASSERT_EQ(samples.size(), static_cast<std::size_t>(n)) << describe(operation);
      for (double s : samples) {
        EXPECT_GT(s, 0) << describe(operation);
        EXPECT_LT(s, 10) << describe(operation);
      }
    }
  }
}

TEST_P(BackendContract, samples_are_the_same_on_all_ranks) {
  for (const Operation& operation : operations())
    EXPECT_TRUE(GetParam().same_on_all_ranks(backend().sample(operation, 3)))
        << describe(operation);
}

TEST_P(BackendContract, products_of_fp32_a_copy_an_update_and_a_launch_are_supported) {
  EXPECT_TRUE(backend().supports(Product{Pass::forward, DType::fp32, 16, 64, 64}));
  EXPECT_TRUE(backend().supports(Copy{kMiB}));
  EXPECT_TRUE(backend().supports(OptimizerStep{Optimizer::sgd, 1024}));
  EXPECT_TRUE(backend().supports(Launch{}));
}

TEST_P(BackendContract, a_collective_of_another_rank_count_is_not_supported) {
  const int other = backend().hardware().ranks + 1;
  const CollectiveCall call{Collective::all_reduce, DType::fp32, kKiB * 12 * other, other};
  EXPECT_FALSE(backend().supports(call));
}

TEST_P(BackendContract, an_operation_that_is_not_supported_is_refused_by_name) {
  const int other = backend().hardware().ranks + 1;
  const CollectiveCall call{Collective::all_reduce, DType::fp32, kKiB * 12 * other, other};
  try {
    static_cast<void>(backend().sample(call, 1));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("all_reduce"), std::string::npos) << error.what();
  }
}

TEST_P(BackendContract, more_work_of_one_kind_takes_longer) {
  EXPECT_LT(fastest(Copy{kKiB * 256}), fastest(Copy{kMiB * 32}));
  EXPECT_LT(fastest(Product{Pass::forward, DType::fp32, 16, 64, 64}),
            fastest(Product{Pass::forward, DType::fp32, 128, 512, 512}));
  const int ranks = backend().hardware().ranks;
  const auto reduce = [&](Bytes bytes) {
    return CollectiveCall{Collective::all_reduce, DType::fp32, bytes, ranks};
  };
  if (ranks > 1) {
    EXPECT_LT(fastest(reduce(kKiB * 16)), fastest(reduce(kMiB * 8)));
  }
}

TEST_P(BackendContract, side_by_side_four_positive_times_come_back_per_visit_on_all_ranks_alike) {
  const int ranks = backend().hardware().ranks;
  if (ranks < 2) GTEST_SKIP() << "one rank has nobody to communicate with";
  const Product product{Pass::weight_gradient, DType::fp32, 16, 128, 128};
  const CollectiveCall call{Collective::all_reduce, DType::fp32, kKiB * 256, ranks};
  const std::vector<BesideTimes> visits = backend().sample_beside(product, call, 3);
  ASSERT_EQ(visits.size(), 3U);
  for (const BesideTimes& t : visits) {
    const std::vector<double> times{t.product_alone, t.product_beside, t.collective_alone,
                                    t.collective_beside};
    for (double s : times) EXPECT_TRUE(s > 0 && std::isfinite(s)) << s;
    EXPECT_TRUE(GetParam().same_on_all_ranks(times));
  }
}

}  // namespace ddpx::test
