// What it costs to keep an all-reduce going beside products on a CPU rank, by who calls MPI and
// when (docs/cpu-engine.md).
//
//   mpirun -n 2 build/bench/ddpx_progress_bench [MIB [WIDTH [BATCH]]]
//
// Every policy sums the same buffer, alone and beside the same product; visits to the policies
// alternate, and the medians of the slowest rank are printed. "Compute lost" is the time the pair
// took beyond the products' own: what the all-reduce cost this core. "thread in MPI" needs
// mpi_yield_when_idle from outside: OMPI_MCA_mpi_yield_when_idle=0 or 1.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "profiler/cpu/communicator.hpp"
#include "profiler/cpu/kernels.hpp"
#include "profiler/cpu/processor.hpp"
#include "profiler/cpu/progress.hpp"

namespace {

using namespace ddpx;
using namespace ddpx::cpu;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Starts an all-reduce; the function it returns says whether it is done, and waits for it when
// asked to.
using Done = std::function<bool(bool wait)>;

struct Policy {
  std::string name;
  std::function<Done()> start;
  std::vector<double> alone, beside, lost;
};

class Bench {
 public:
  Bench(std::size_t bytes, double width, double batch)
      : world_(place()),
        values_(bytes / sizeof(float), 1e-3F),
        product_{Pass::forward, DType::fp32, batch, width, width},
        a_(static_cast<std::size_t>(batch * width), 1e-3F),
        b_(static_cast<std::size_t>(width * width), 1e-3F),
        c_(static_cast<std::size_t>(batch * width)) {
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi_);
    policies_.push_back({"thread in MPI_Allreduce", [this] { return in_thread(); }, {}, {}, {}});
    policies_.push_back(
        {"MPI_Iallreduce, tested every 200 us", [this] { return tested(); }, {}, {}, {}});
    for (const int pace : {100, 200, 300, 500, 1000, 2000}) {
      queues_.push_back(
          std::make_unique<CollectiveQueue>(world_, pulse_, std::chrono::microseconds(pace)));
      policies_.push_back({"ring, paced every " + std::to_string(pace) + " us",
                           [this, &queue = *queues_.back()] { return queued(queue); },
                           {},
                           {},
                           {}});
    }
    queues_.push_back(
        std::make_unique<CollectiveQueue>(world_, pulse_, std::chrono::microseconds(0)));
    policies_.push_back({"ring, only when waited for",
                         [this, &queue = *queues_.back()] { return queued(queue); },
                         {},
                         {},
                         {}});
  }

  void run(int visits) {
    for (int i = 0; i < visits + 1; ++i) {
      for (Policy& policy : policies_) visit(policy, i > 0);
    }
  }

  void print() {
    const double product = slowest(product_alone_);
    if (world_.rank() == 0)
      std::printf(
          "product alone: %.3f ms\n\n| policy | all-reduce alone | beside products | products "
          "slowed | compute lost |\n| --- | ---: | ---: | ---: | ---: |\n",
          1e3 * product);
    for (const Policy& policy : policies_) {
      const double alone = slowest(policy.alone);
      const double beside = slowest(policy.beside);
      const double lost = slowest(policy.lost);
      if (world_.rank() == 0)
        std::printf("| %s | %.1f ms | %.1f ms | x%.2f | %.1f ms |\n", policy.name.c_str(),
                    1e3 * alone, 1e3 * beside, beside / (beside - lost), 1e3 * lost);
    }
  }

 private:
  static Communicator place() {
    Communicator world = Communicator::world();
    take_core(world.place_on_host().rank);
    return world;
  }

  [[nodiscard]] int count() const { return static_cast<int>(values_.size()); }

  Done in_thread() {
    auto done = std::make_shared<std::atomic<bool>>(false);
    auto thread = std::make_shared<std::thread>([this, done] {
      MPI_Allreduce(MPI_IN_PLACE, values_.data(), count(), MPI_FLOAT, MPI_SUM, mpi_);
      *done = true;
    });
    return [done, thread](bool wait) {
      if (wait || *done) {
        if (thread->joinable()) thread->join();
      }
      return done->load();
    };
  }

  Done tested() {
    MPI_Request raw = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, values_.data(), count(), MPI_FLOAT, MPI_SUM, mpi_, &raw);
    auto request = std::make_shared<Request>(raw);
    auto done = std::make_shared<std::atomic<bool>>(false);
    auto thread = std::make_shared<std::thread>([request, done] {
      while (!request->test()) std::this_thread::sleep_for(std::chrono::microseconds(200));
      *done = true;
    });
    return [done, thread](bool wait) {
      if (wait || *done) {
        if (thread->joinable()) thread->join();
      }
      return done->load();
    };
  }

  Done queued(CollectiveQueue& queue) {
    const auto ticket = queue.start(
        {Collective::all_reduce, DType::fp32, std::as_writable_bytes(std::span(values_)), {}});
    return [&queue, ticket](bool wait) {
      if (wait) queue.wait(ticket);
      return queue.done(ticket);
    };
  }

  double one_product() {
    const double start = now();
    multiply(product_, a_.data(), b_.data(), c_.data());
    return now() - start;
  }

  void visit(Policy& policy, bool counts) {
    for (int i = 0; i < 4; ++i) {
      const double seconds = one_product();
      if (counts) product_alone_.push_back(seconds);
    }
    world_.barrier();
    double start = now();
    policy.start()(true);
    const double alone = now() - start;
    world_.barrier();
    start = now();
    const Done done = policy.start();
    int products = 0;
    // At most so long: a collective that nobody drives ends only when waited for.
    while (!done(false) && now() - start < 4 * alone + 0.05) {
      static_cast<void>(one_product());
      ++products;
    }
    done(true);
    const double beside = now() - start;
    if (!counts) return;
    policy.alone.push_back(alone);
    policy.beside.push_back(beside);
    policy.lost.push_back(beside - products * median(product_alone_));
  }

  static double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  // The slowest rank's median.
  double slowest(const std::vector<double>& values) {
    double value = median(values);
    world_.maximum({&value, 1});
    return value;
  }

  Pulse pulse_;
  Communicator world_;
  MPI_Comm mpi_ = MPI_COMM_NULL;  // for MPI's own all-reduces
  std::vector<float> values_;
  Product product_;
  std::vector<float> a_, b_, c_;
  std::vector<std::unique_ptr<CollectiveQueue>> queues_;
  std::vector<Policy> policies_;
  std::vector<double> product_alone_;
};

double argument(int argc, char** argv, int index, double usual) {
  return argc > index ? std::atof(argv[index]) : usual;
}

}  // namespace

int main(int argc, char** argv) {
  Bench bench(static_cast<std::size_t>(argument(argc, argv, 1, 8) * 1048576),
              argument(argc, argv, 2, 1024), argument(argc, argv, 3, 64));
  bench.run(9);
  bench.print();
}
