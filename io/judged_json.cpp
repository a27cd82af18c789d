#include "io/judged_json.hpp"

#include "io/one_line.hpp"
#include "io/schema.hpp"
#include "model/error.hpp"

namespace ddpx::io {
namespace {

constexpr int kMostGpus = 1'000'000;
// A step that took a thousandth or a thousand times what was forecast is of another job.
constexpr double kFarthest = 1e3;

double ratio(const Reader& of, double measured, double forecast) {
  const double value = measured / forecast;
  if (!(value >= 1 / kFarthest && value <= kFarthest))
    of.refuse("is more than a thousand times, or less than a thousandth of, what was forecast");
  return value;
}

JudgedStep step_of(const Reader& row) {
  JudgedStep step;
  step.kind.link = row.at("link").label();
  step.kind.gpus = row.at("gpus").integer(2, kMostGpus);
  step.kind.dtype = row.at("dtype").one_of({DType::fp32, DType::tf32, DType::bf16, DType::fp16});
  step.kind.engine = row.at("engine").one_of({Engine::native, Engine::torch});
  step.kind.regime = row.at("forecast_regime").one_of({Regime::gpu_bound, Regime::host_bound});
  step.network = row.at("network").label();
  step.family = row.at("family").label();
  const Reader measured = row.at("measured_step_time_s").at("value");
  step.step_ratio =
      ratio(measured, measured.positive(), row.at("step_time_s").at("value").positive());
  const Reader speedup = row.at("measured_speedup");
  if (!speedup.is_null())
    step.speedup_ratio =
        ratio(speedup, speedup.positive(), row.at("speedup").at("value").positive());
  return step;
}

}  // namespace

std::vector<JudgedStep> judged_steps_from_json(std::string_view text, std::string_view place,
                                               const Machine& machine) {
  const Document document = open_document(text, place, kValidationSchema);
  const Reader root(document);
  const Reader judged = root.at("machine");
  if (judged.label() != machine.name)
    judged.refuse("is " + quoted(judged.label()) + ", and the forecast is of " +
                  quoted(machine.name) + "; give a validation of that (ddpx-validate --json)");
  const Reader measurements = root.at("machine_measurements");
  if (measurements.text() != machine.measurements_hash)
    measurements.refuse("is " + quoted(measurements.text()) + ", and " + quoted(machine.name) +
                        " was fitted on " + quoted(machine.measurements_hash) +
                        "; judge the machine as it is now (ddpx-validate --json)");
  std::vector<JudgedStep> steps;
  for (const Reader& row : root.at("rows").filled()) steps.push_back(step_of(row));
  return steps;
}

}  // namespace ddpx::io
