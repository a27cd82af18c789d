#include "calibration/sweep.hpp"

#include <cmath>
#include <cstdio>
#include <map>

#include "calibration/sweep_records.hpp"
#include "profiler/measure.hpp"

namespace ddpx {
namespace {

// The same product is timed first and last. A change beyond this share and this many standard
// errors means that the device did not keep its speed over the calibration.
constexpr double kAgeingShare = 0.03;
constexpr double kAgeingErrors = 4;
// Remarks beyond this many are counted, not listed.
constexpr std::size_t kMostRemarks = 20;

// What was disturbed is measured again, for at most this share of the budget and this many times.
constexpr double kRevisitShare = 0.3;
constexpr int kMostVisits = 3;

// Puts an operation's samples among those of its kind: at `index`, or as the last.
struct Store {
  Measurements& to;
  Measured& measured;
  const std::string& link;
  Bytes working_set;
  std::optional<std::size_t> index;

  template <class Sample>
  std::size_t put(std::vector<Sample>& all, Sample sample) const {
    if (index) {
      all[*index] = std::move(sample);
      return *index;
    }
    all.push_back(std::move(sample));
    return all.size() - 1;
  }
  std::size_t operator()(const Product& p) const {
    return put(to.products, ProductSample{p, std::move(measured.seconds), std::nullopt,
                                          std::move(measured.dropped)});
  }
  std::size_t operator()(const CollectiveCall& c) const {
    return put(to.collectives, CollectiveSample{link, c, std::move(measured.seconds), "ddpx",
                                                std::move(measured.dropped)});
  }
  std::size_t operator()(const Copy& c) const {
    return put(to.copies, CopySample{c.bytes, std::move(measured.seconds),
                                     std::move(measured.dropped), working_set});
  }
  std::size_t operator()(const OptimizerStep& o) const {
    return put(to.optimizers, OptimizerSample{o, std::move(measured.seconds),
                                              std::move(measured.dropped), working_set});
  }
  std::size_t operator()(const Elementwise& e) const {
    return put(to.elementwise,
               ElementwiseSample{e, std::move(measured.seconds), std::move(measured.dropped)});
  }
  std::size_t operator()(const Launch& /*unused*/) const {
    return put(to.launches, LaunchSample{std::move(measured.seconds), std::move(measured.dropped)});
  }
};

// The times of `visits` visits; a product's, whatever runs beside the collective.
BesideSample beside_sample(Backend& backend, const Beside& beside, const std::string& link,
                           int visits, Seconds& spent) {
  BesideSample sample;
  sample.link = link;
  sample.call = beside.call;
  for (const BesideTimes& t : backend.sample_beside(beside.work, beside.call, visits)) {
    sample.product_alone_seconds.push_back(t.product_alone);
    sample.product_beside_seconds.push_back(t.product_beside);
    sample.collective_alone_seconds.push_back(t.collective_alone);
    sample.collective_beside_seconds.push_back(t.collective_beside);
    sample.kernel_share = std::min(1.0, sample.kernel_share + t.share / visits);
    // A visit runs one at least three times, the other as often as fits beside it.
    spent += 3.0 *
             Seconds(t.product_alone + t.collective_alone + t.product_beside + t.collective_beside);
  }
  return sample;
}

class Sweeper {
 public:
  Sweeper(Backend& backend, const MeasurementPlan& plan, Measurements& measurements,
          const SweepHooks& hooks)
      : backend_(backend), plan_(plan), measurements_(measurements), hooks_(hooks) {
    if (!measurements.links.empty()) link_ = measurements.links.back().name;
    for (const Task& task : plan.tasks) left_ += task.estimate;
  }

  void run() {
    const bool recorded = measurements_.device.multiprocessors > 0;
    carry_out_those(
        [&](const Work& work) { return !is_recorded(work) && (!recorded || !is_pair(work)); });
    const Seconds planned = spent_;
    revisit();
    say_remarks();
    look_again();
    spent_ = planned;
    // GPUs show pairs by kernel records, which nothing else is to be timed beside.
    carry_out_those([&](const Work& work) { return recorded && is_pair(work); });
    record_kernels(backend_, measurements_);
    carry_out_those(is_recorded);
    if (unfinished_ > 0) note_unfinished(unfinished_);
    ask_for_reports(backend_, measurements_);
    say_what_slowed();
    hooks_.before({done_count_, plan_.tasks.size(), Seconds{}, ""}, measurements_);
  }

 private:
  static bool is_pair(const Work& work) { return std::holds_alternative<Beside>(work); }

  static bool is_recorded(const Work& work) { return std::holds_alternative<Recorded>(work); }

  template <class Wanted>
  void carry_out_those(const Wanted& wanted) {
    for (const Task& task : plan_.tasks) {
      if (!wanted(task.work)) continue;
      // The sum of samples decides, not a clock: it is the same on all ranks.
      if (spent_ > plan_.budget && task.level > 0) {
        ++unfinished_;
        continue;
      }
      hooks_.before({done_count_, plan_.tasks.size(), left_, describe(task.work)}, measurements_);
      carry_out(task);
      left_ -= task.estimate;
      ++done_count_;
    }
  }

  void carry_out(const Task& task) {
    if (const auto* beside = std::get_if<Beside>(&task.work)) {
      BesideSample sample = beside_sample(backend_, *beside, link_, task.stopping.fewest, spent_);
      if (const auto* product = std::get_if<Product>(&beside->work)) {
        sample.product = *product;
        measurements_.besides.push_back(std::move(sample));
      } else if (const auto* copy = std::get_if<Copy>(&beside->work)) {
        measurements_.copy_besides.push_back(
            {std::move(sample.link), *copy, sample.call, std::move(sample.product_alone_seconds),
             std::move(sample.product_beside_seconds), std::move(sample.collective_alone_seconds),
             std::move(sample.collective_beside_seconds), sample.kernel_share});
      }
      return;
    }
    if (const auto* recorded = std::get_if<Recorded>(&task.work)) {
      ProductSample sample{recorded->product, {}, std::nullopt};
      records_ = records_ && record_product(backend_, sample);
      if (!sample.recorded_seconds.empty()) measurements_.products.push_back(std::move(sample));
      spent_ += task.estimate;
      return;
    }
    const auto& operation = std::get<Operation>(task.work);
    Measured measured = sampled(task);
    if (const std::string slow = backend_.slowed_by(); !slow.empty()) {
      ++slowed_[slow];
      for (DroppedSample& dropped : measured.dropped)
        dropped.reason += "; device slowed by " + slow;
    }
    if (!first_product_ && std::holds_alternative<Product>(operation)) {
      first_product_ = &task;
      first_median_ = median(measured.seconds);
      first_error_ = measured.relative_error;
    }
    Done done{&task, 0, upper(measured), measured.remark};
    done.index = store(operation, measured, std::nullopt);
    done_.push_back(std::move(done));
  }

  std::size_t store(const Operation& operation, Measured& measured,
                    std::optional<std::size_t> index) {
    return std::visit(Store{measurements_, measured, link_, backend_.working_set(operation), index},
                      operation);
  }

  Measured sampled(const Task& task) {
    const auto& operation = std::get<Operation>(task.work);
    Measured measured =
        measure([&](int n) { return backend_.sample(operation, n); }, task.stopping);
    spent_ += measured.spent;
    return measured;
  }

  // Time that the operation hardly exceeds. Whatever disturbs a device only ever slows it, so of
  // two visits the one with the lower such time says more.
  static double upper(const Measured& measured) {
    return median(measured.seconds) * (1 + 2 * measured.relative_error);
  }

  // Disturbances last for seconds; a later visit may miss them.
  void revisit() {
    const Seconds until = spent_ + kRevisitShare * plan_.budget;
    for (int visit = 1; visit < kMostVisits; ++visit) {
      for (Done& done : done_) {
        if (!done.remark) continue;
        if (spent_ > until) return;
        hooks_.before({plan_.tasks.size(), plan_.tasks.size(), until - spent_,
                       describe(done.task->work) + ", again"},
                      measurements_);
        Measured again = sampled(*done.task);
        if (upper(again) >= done.upper) continue;
        done.upper = upper(again);
        done.remark = again.remark;
        store(std::get<Operation>(done.task->work), again, done.index);
      }
    }
  }

  void say_remarks() {
    std::size_t remarks = 0;
    for (const Done& done : done_) {
      if (done.remark && ++remarks <= kMostRemarks)
        measurements_.notes.push_back(describe(done.task->work) + ": " + *done.remark);
    }
    if (remarks > kMostRemarks)
      measurements_.notes.push_back(std::to_string(remarks - kMostRemarks) +
                                    " more operations were disturbed");
  }

  void look_again() {
    if (first_product_ == nullptr) return;
    const auto& operation = std::get<Operation>(first_product_->work);
    const Measured again =
        measure([&](int n) { return backend_.sample(operation, n); }, first_product_->stopping);
    const double change = median(again.seconds) / first_median_ - 1.0;
    const double error = std::hypot(first_error_, again.relative_error);
    if (std::abs(change) <= kAgeingShare || std::abs(change) <= kAgeingErrors * error) return;
    char text[160];
    std::snprintf(
        text, sizeof text,
        "the device did not keep its speed: %s took %+.0f %% at the end of the calibration",
        describe(operation).c_str(), 100 * change);
    measurements_.notes.emplace_back(text);
  }

  void say_what_slowed() {
    for (const auto& [reason, count] : slowed_)
      measurements_.notes.push_back(std::to_string(count) +
                                    " operations ran on a device slowed by " + reason);
    const std::vector<std::string> notes = backend_.hardware().notes;
    measurements_.notes.insert(measurements_.notes.end(), notes.begin(), notes.end());
  }

  void note_unfinished(std::size_t count) {
    measurements_.notes.push_back("the budget was used up: " + std::to_string(count) +
                                  " planned operations were not measured");
  }

  Backend& backend_;
  const MeasurementPlan& plan_;
  Measurements& measurements_;
  const SweepHooks& hooks_;
  std::string link_;
  Seconds left_{};
  Seconds spent_{};
  std::size_t done_count_ = 0;
  std::size_t unfinished_ = 0;
  bool records_ = true;  // until the backend has none
  // An operation that has been measured, and where its samples lie.
  struct Done {
    const Task* task = nullptr;
    std::size_t index = 0;
    double upper = 0;
    std::optional<std::string> remark;
  };
  std::vector<Done> done_;
  std::map<std::string, int> slowed_;  // operations by what slowed the device
  const Task* first_product_ = nullptr;
  double first_median_ = 0;
  double first_error_ = 0;
};

}  // namespace

Measurements opened(const Hardware& hardware, const std::string& name) {
  Measurements measurements;
  measurements.name = name;
  measurements.source = "measured by ddpx-calibrate";
  measurements.device = hardware.device;
  measurements.context = hardware.context;
  if (hardware.link) measurements.links.push_back(*hardware.link);
  // A CPU rank computes on the core that issues the work: nothing runs ahead, and nothing is added.
  if (hardware.device.multiprocessors == 0) {
    measurements.priors.push_back(
        {"host.native.step_per_tensor_s", 0.0, 0.0, "CPU ranks: host and device are one core"});
  }
  // One process cannot show how much the next one differs.
  measurements.priors.push_back(
      {"residual", 0.03, 0.0, "fresh processes on one host move a step by 1-3 %"});
  return measurements;
}

void sweep(Backend& backend, const MeasurementPlan& plan, Measurements& measurements,
           const SweepHooks& hooks) {
  Sweeper(backend, plan, measurements, hooks).run();
}

}  // namespace ddpx
