#include "io/judged_json.hpp"

#include "io/job_json.hpp"
#include "io/one_line.hpp"
#include "io/operation_json.hpp"
#include "io/schema.hpp"

namespace ddpx::io {
namespace {

// A step that took a thousandth or a thousand times what was forecast is of another job.
constexpr double kFarthest = 1e3;

double ratio(const Reader& measured, double forecast) {
  const double value = measured.positive() / forecast;
  if (!(value >= 1 / kFarthest && value <= kFarthest))
    measured.refuse("is more than a thousand times, or less than a thousandth of, the forecast");
  return value;
}

JudgedRow judged_row_of(const Reader& from) {
  JudgedRow row;
  row.network = from.at("network").label();
  row.link = from.at("link").label();
  Job& job = row.job;
  job.gpus = from.at("gpus").integer(1, kMostRanks);
  if (job.gpus == 1)
    from.at("gpus").refuse(
        "is 1: the validation is of one GPU alone, and the interval of a step of several is "
        "learned "
        "from steps of several");
  job.strategy = strategy_of(from.at("strategy"));
  job.scaling = scaling_of(from.at("scaling"));
  job.dtype = dtype_of(from.at("dtype"));
  job.optimizer = optimizer_of(from.at("optimizer"));
  job.engine = from.at("engine").one_of({Engine::native, Engine::torch});
  if (const auto graphs = from.find("graphs")) job.graphs = graphs->boolean();
  job.batch_per_rank = from.at("batch_per_rank").positive() * job.ranks_sharing_batch();
  row.step_s = from.at("step_time_s").at("value").positive();
  const Reader measured = from.at("measured_step_time_s").at("value");
  row.measured_s = row.step_s * ratio(measured, row.step_s);
  const Reader speedup = from.at("measured_speedup");
  if (!speedup.is_null())
    row.speedup_ratio = ratio(speedup, from.at("speedup").at("value").positive());
  return row;
}

}  // namespace

std::vector<JudgedRow> judged_rows_from_json(std::string_view text, std::string_view place,
                                             const std::string& machine) {
  const Document document = open_document(text, place, kValidationSchema);
  const Reader root(document);
  const Reader judged = root.at("machine");
  if (judged.label() != machine)
    judged.refuse("is " + io::quoted(judged.label()) + ", and the forecast is of " +
                  io::quoted(machine) + "; give a validation of that (ddpx-validate --json)");
  std::vector<JudgedRow> rows;
  for (const Reader& row : root.at("rows").filled()) rows.push_back(judged_row_of(row));
  return rows;
}

}  // namespace ddpx::io
