#include "validation/measure_rows.hpp"

#include <algorithm>
#include <chrono>

#include "cli/progress_line.hpp"
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

// The process sets of all rows, gathered as they finish.
class Campaign {
 public:
  explicit Campaign(const RowRequest& request, std::string backend)
      : request_(request),
        backend_(std::move(backend)),
        rows_(request.rows),
        reports_(rows_.size()) {
    runs_.name = "native-" + backend_;
    runs_.source = "measured by ddpx-validate --run";
    runs_.origin = Origin::native;
    runs_.context = io::provenance();
  }

  void visit(const Visit& visit, const std::function<void()>& every) {
    Runs work;
    work.name = backend_;
    work.origin = Origin::native;
    work.rows = {rows_[visit.row]};
    JobOptions options;
    options.ranks = rows_[visit.row].job.gpus;
    options.transport = transport_of(request_, rows_[visit.row]);
    options.command = {own_command().front(), kRankWord, backend_, io::to_json(work)};
    RankJob job(options);
    job.run([&](const JobProgress&) { every(); });
    const auto text = job.results();
    if (!text) throw DeviceError("the ranks ended without a report");
    take(io::runs_from_json(*text, kPlace), visit);
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
        if (report.device_busy_share) busy.push_back(*report.device_busy_share);
        if (report.measured_communication_share)
          waited.push_back(*report.measured_communication_share);
      }
      if (!busy.empty()) row.device_busy_share = percentile(busy, 0.5);
      if (!waited.empty()) row.measured_communication_share = percentile(waited, 0.5);
      runs.rows.push_back(std::move(row));
    }
    return runs;
  }

  void note(std::string text) { runs_.notes.push_back(std::move(text)); }

 private:
  void take(Runs report, const Visit& visit) {
    for (const auto& entry : report.context) {
      if (std::find(runs_.context.begin(), runs_.context.end(), entry) == runs_.context.end())
        runs_.context.push_back(entry);
    }
    reports_[visit.row].push_back(std::move(report.rows.front()));
  }

  const RowRequest& request_;
  std::string backend_;
  std::vector<RunRow> rows_;
  std::vector<std::vector<RunRow>> reports_;  // by row, a report per process set
  Runs runs_;
};

std::string words_of(const RunRow& row) {
  return row.network + ", " + describe(row.job.strategy) + " on " + std::to_string(row.job.gpus);
}

// What is finished, written; the end of a message.
std::string kept(const Campaign& campaign, const std::string& path, std::size_t done,
                 std::size_t all) {
  const Runs runs = campaign.finished();
  if (runs.rows.empty()) return "; nothing was finished yet";
  try {
    io::write_text(path, io::to_json(runs));
  } catch (const InputError& error) {
    return std::string("; finished rows could not be kept: ") + error.what();
  }
  return "; " + std::to_string(done) + " of " + std::to_string(all) + " process sets are kept in " +
         path;
}

}  // namespace

std::string measure_rows(const ValidateOptions& options) {
  if (rank_place())
    throw InputError("--run", "starts its own ranks, several times over; run it without mpirun");
  const std::string backend = backend_named("auto", "--run");
  const RowRequest request = row_request(options);
  std::string path = path_for(options.measure);
  check_comparable(options, request);
  check_writable(path);
  const std::vector<Visit> visits = visits_of(request.rows, request.processes, request.seed);
  Campaign campaign(request, backend);
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
                                         static_cast<double>(visits.size() - done));
      campaign.visit(
          visit, [&] { line.show(done, visits.size(), words_of(request.rows[visit.row]), left); });
      ++done;
    }
  } catch (const DeviceError& error) {
    throw DeviceError(error.what() + kept(campaign, path, done, visits.size()));
  } catch (const Interrupted& error) {
    throw Interrupted(error.what() + kept(campaign, path, done, visits.size()));
  }
  io::write_text(path, io::to_json(campaign.finished()));
  return path;
}

}  // namespace ddpx
