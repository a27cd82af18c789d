// The same weights and data through PyTorch's DistributedDataParallel (over Gloo) and through the
// engine: equal losses, step by step.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/profiler/engine/training.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

namespace fs = std::filesystem;
using namespace ddpx::engine;  // a test's own file

constexpr int kReferenceSteps = 100;
constexpr int kBatchRows = 16;
constexpr int kMostMicroBatches = 3;
constexpr std::uint64_t kSeed = 7;
constexpr float kNoTorch = 77;
constexpr MlpShape kShape{.width = 24, .depth = 3, .classes = 6};

// A folder that all ranks can name; the first one makes it.
fs::path folder() { return fs::path(testing::TempDir()) / "ddpx-torch-reference"; }

void write(const std::string& name, const std::vector<float>& values) {
  std::ofstream(folder() / name, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
}

std::vector<float> read(const std::string& name) {
  std::ifstream file(folder() / name, std::ios::binary | std::ios::ate);
  std::vector<float> values(static_cast<std::size_t>(std::max<std::streamoff>(0, file.tellg())) /
                            sizeof(float));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

struct Case {
  std::string name;
  Strategy strategy;
  double bucket_cap_mb = 0;
  Optimizer optimizer = Optimizer::sgd;
};

std::vector<Case> cases() {
  std::vector<Case> all{{"ddp", {}},
                        {"small_buckets", {}, 2e-3},
                        {"bucket_view", {}},
                        {"accumulate", {}},
                        {"fp16", {}},
                        {"adamw", {}},
                        {"adamw_accumulate", {}}};
  all[1].strategy.buckets = BucketLimits::explicit_cap(all[1].bucket_cap_mb * kMiB);
  all[2].strategy.bucket_view = true;
  all[3].strategy.micro_batches = kMostMicroBatches;
  all[4].strategy.compression = DType::fp16;
  all[5].optimizer = all[6].optimizer = Optimizer::adamw;
  all[6].strategy.micro_batches = kMostMicroBatches;
  return all;
}

void write_job(int ranks) {
  std::ofstream file(folder() / "job.json");
  file << "{\"width\": " << kShape.width << ", \"depth\": " << kShape.depth
       << ", \"classes\": " << kShape.classes << ", \"ranks\": " << ranks
       << ", \"steps\": " << kReferenceSteps << ", \"rows\": " << kBatchRows
       << ", \"learning_rate\": " << kRate << ", \"adamw_rate\": " << kAdamWRate
       << ", \"cases\": [";
  const char* separator = "";
  for (const Case& c : cases()) {
    file << separator << "{\"name\": \"" << c.name
         << "\", \"micro_batches\": " << c.strategy.micro_batches
         << ", \"bucket_view\": " << (c.strategy.bucket_view ? "true" : "false")
         << ", \"optimizer\": \"" << name(c.optimizer)
         << "\", \"bucket_cap_mb\": " << c.bucket_cap_mb << ", \"compress\": \""
         << (c.strategy.compression ? name(*c.strategy.compression) : "") << "\"}";
    separator = ", ";
  }
  file << "]}\n";
}

void write_inputs(int ranks) {
  fs::remove_all(folder());
  fs::create_directories(folder());
  write_job(ranks);
  const Layout layout(mlp(kShape));
  write("parameters.f32", initial_parameters(layout, kSeed));
  const Samples all =
      samples(layout, kSeed + 1, 0,
              static_cast<std::size_t>(kReferenceSteps * ranks * kMostMicroBatches * kBatchRows));
  std::vector<float> rows;
  for (std::size_t i = 0; i < all.labels.size(); ++i) {
    const auto begin = all.inputs.begin() + static_cast<std::ptrdiff_t>(i * layout.inputs());
    rows.insert(rows.end(), begin, begin + static_cast<std::ptrdiff_t>(layout.inputs()));
    rows.push_back(all.labels[i]);
  }
  write("samples.f32", rows);
}

// Exit code of the reference, and what it said.
std::pair<int, std::string> run_reference() {
  // mpirun's variables would make Python's processes think they are ranks of ours.
  // Gloo looks the host's name up to find an interface, which a container may not have.
  const char* python = std::getenv("DDPX_PYTHON");
  const std::string command = "env -i PATH=/usr/bin:/bin HOME=/tmp GLOO_SOCKET_IFNAME=lo " +
                              std::string(python != nullptr ? python : "/usr/bin/python3") +
                              " tests/profiler/engine/torch_reference.py " + folder().string() +
                              " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string said;
  std::array<char, 4096> piece{};
  while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), pipe))
    said.append(piece.data(), n);
  return {WEXITSTATUS(::pclose(pipe)), said};
}

TEST(Torch, losses_and_weights_equal_those_of_pytorch_from_the_same_weights_and_data) {
  engine::Device& device = shared_device();
  const int ranks = device.ranks();
  float status = 0;
  std::string said;
  if (device.rank() == 0) {
    write_inputs(ranks);
    const auto result = run_reference();
    status = static_cast<float>(result.first);
    said = result.second;
  }
  status = from_all_ranks({status})[0][0];
  if (status == kNoTorch) GTEST_SKIP() << said;
  ASSERT_EQ(status, 0) << said;

  for (const Case& c : cases()) {
    const Trained here =
        train(device, mlp(kShape), with(native_job(ranks, kBatchRows, c.strategy), c.optimizer),
              kReferenceSteps, kSeed);
    const std::vector<float> losses = read(c.name + "-losses.f32");
    ASSERT_EQ(losses.size(), static_cast<std::size_t>(ranks * kReferenceSteps)) << c.name;
    // Gradients differ in the last place of fp32 before they are rounded to half, and then by one
    // unit of that.
    const double tolerance = c.strategy.compression ? 1e-3 : 1e-5;
    // AdamW divides by the gradient's size: what rounds a small one moves a weight by the same
    // share of the rate.
    const double of_weights = c.optimizer == Optimizer::adamw ? 3e-4 : tolerance;
    for (int s = 0; s < kReferenceSteps; ++s) {
      const float theirs = losses[static_cast<std::size_t>(device.rank() * kReferenceSteps + s)];
      EXPECT_NEAR(here.losses[static_cast<std::size_t>(s)], theirs, tolerance)
          << c.name << ", step " << s;
    }
    EXPECT_LT(difference(here.parameters, read(c.name + "-parameters.f32")), of_weights) << c.name;
  }
  device.barrier();  // before another run of these ranks removes the folder
}

}  // namespace
}  // namespace ddpx::test
