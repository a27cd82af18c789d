#include "validation/measure_rows.hpp"

#include <algorithm>
#include <chrono>

#include "cli/progress_line.hpp"
#include "io/catalog.hpp"
#include "io/file.hpp"
#include "io/provenance.hpp"
#include "io/runs_json.hpp"
#include "model/error.hpp"
#include "profiler/backends.hpp"
#include "profiler/rank.hpp"
#include "validation/percentile.hpp"
#include "validation/prepare.hpp"
#include "validation/rank.hpp"
#include "validation/row_plan.hpp"
#include "validation/row_request.hpp"

namespace ddpx {
namespace {

constexpr const char* kPlace = "the ranks' report";

std::string words_of(const RunRow& row) {
  return row.network + ", " + describe(row.job.strategy) + (row.job.graphs ? ", graphs" : "") +
         " on " + std::to_string(row.job.gpus);
}

// The process sets of all rows, gathered as they finish.
class Campaign {
 public:
  // With `traced` the rows keep a step's timeline.
  Campaign(const RowRequest& request, std::string backend, bool traced)
      : request_(request),
        backend_(std::move(backend)),
        traced_(traced),
        rows_(request.rows),
        reports_(rows_.size()) {
    runs_.name = "native-" + backend_;
    runs_.source = "measured by ddpx-validate --run";
    runs_.origin = Origin::native;
    runs_.context = io::provenance();
  }

  void visit(const Visit& visit, const std::function<void(const JobProgress&)>& every) {
    Runs work;
    work.name = backend_;
    work.origin = Origin::native;
    for (const std::size_t row : visit.rows) work.rows.push_back(rows_[row]);
    const RunRow& first = work.rows.front();
    JobOptions options;
    options.ranks = first.job.gpus;
    options.library = library_of(backend_);
    options.transport = transport_of(request_, first);
    options.channels = first.job.strategy.channels;
    options.work = io::to_json(work);
    // The last word is for whoever lists processes.
    options.command = {own_command().front(), kRankWord, backend_, words_of(first)};
    RankJob job(options);
    try {
      job.run(every);
    } catch (...) {
      take(job, visit);  // rows that were finished before
      throw;
    }
    if (!take(job, visit)) throw DeviceError("the ranks ended without a report");
  }

  // Rows with at least one finished process set.
  [[nodiscard]] Runs finished() const {
    Runs runs = runs_;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (reports_[i].empty()) continue;
      RunRow row = rows_[i];
      row.processes.clear();
      std::vector<double> busy;
      std::vector<double> waited;
      for (const RunRow& report : reports_[i]) {
        row.processes.push_back(report.processes.front());
        row.context = report.context;
        if (report.device_busy_share) busy.push_back(*report.device_busy_share);
        if (report.measured_communication_share)
          waited.push_back(*report.measured_communication_share);
      }
      if (traced_) row.timeline = reports_[i].back().timeline;
      if (!busy.empty()) row.device_busy_share = percentile(busy, 0.5);
      if (!waited.empty()) row.measured_communication_share = percentile(waited, 0.5);
      runs.rows.push_back(std::move(row));
    }
    return runs;
  }

  void note(std::string text) { runs_.notes.push_back(std::move(text)); }

 private:
  // Whether there was a report.
  bool take(const RankJob& job, const Visit& visit) {
    const auto text = job.results();
    if (!text) return false;
    Runs report = io::runs_from_json(*text, kPlace);
    std::vector<std::pair<std::string, std::string>> own;  // what other ranks had otherwise
    for (const auto& entry : report.context) {
      const auto known =
          std::find_if(runs_.context.begin(), runs_.context.end(),
                       [&](const auto& other) { return other.first == entry.first; });
      if (known == runs_.context.end()) {
        runs_.context.push_back(entry);
      } else if (known->second != entry.second) {
        own.push_back(entry);
      }
    }
    for (RunRow& row : report.rows) row.context = own;
    // The ranks train the rows in the order they were given.
    for (std::size_t i = 0; i < report.rows.size(); ++i)
      reports_[visit.rows[i]].push_back(std::move(report.rows[i]));
    return true;
  }

  const RowRequest& request_;
  std::string backend_;
  bool traced_;
  std::vector<RunRow> rows_;
  std::vector<std::vector<RunRow>> reports_;  // by row, a report per process set
  Runs runs_;
};

// What is finished, written; the end of a message.
std::string kept(const Campaign& campaign, const std::string& path, std::size_t all) {
  const Runs runs = campaign.finished();
  if (runs.rows.empty()) return "; nothing was finished yet";
  try {
    io::write_or_keep(path, io::to_json(runs));
  } catch (const InputError& error) {
    return std::string("; ") + error.what();
  }
  std::size_t processes = 0;
  for (const RunRow& row : runs.rows) processes += row.processes.size();
  return "; " + std::to_string(processes) + " of " + std::to_string(all) + " runs are kept in " +
         path;
}

}  // namespace

std::string measure_rows(const ValidateOptions& options) {
  if (rank_place())
    throw InputError("--run", "starts its own ranks, several times over; run it without mpirun");
  // A machine of processor cores is judged on them, also where there are GPUs.
  const bool cores = io::find_machine(*options.machine).device.multiprocessors == 0;
  const std::string backend = backend_named(cores ? "cpu" : "auto", "--run");
  const RowRequest request = row_request(options, library_of(backend));
  std::string path = path_for(options.measure);
  check_comparable(options, request);
  check_writable(options, path);
  warn(options);
  // GPU ranks take seconds to start, CPU ranks a fraction of one.
  const bool slow_start = library_of(backend) == Library::nccl;
  const std::vector<Visit> visits =
      (slow_start ? shared_visits_of : visits_of)(request.rows, request.processes, request.seed);
  const std::size_t all = request.rows.size() * static_cast<std::size_t>(request.processes);
  Campaign campaign(request, backend, options.trace.has_value());
  campaign.note("order drawn from seed " + std::to_string(request.seed) + ", " +
                std::to_string(request.processes) + " fresh process sets of every row");
  std::size_t done = 0;
  try {
    ProgressLine line;
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    for (const Visit& visit : visits) {
      const std::chrono::duration<double> spent = Clock::now() - start;
      const Seconds left(done == 0 ? 0
                                   : spent.count() / static_cast<double>(done) *
                                         static_cast<double>(all - done));
      campaign.visit(visit, [&](const JobProgress& progress) {
        const std::size_t at = std::min(progress.done, visit.rows.size() - 1);
        line.show(done + at, all, words_of(request.rows[visit.rows[at]]), left);
      });
      done += visit.rows.size();
    }
  } catch (const DeviceError& error) {
    throw DeviceError(error.what() + kept(campaign, path, all));
  } catch (const Interrupted& error) {
    throw Interrupted(error.what() + kept(campaign, path, all));
  }
  io::write_or_keep(path, io::to_json(campaign.finished()));
  return path;
}

}  // namespace ddpx
