#include "validation/row_request.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "io/file.hpp"
#include "io/network_json.hpp"
#include "io/runs_json.hpp"
#include "model/error.hpp"
#include "model/network_spec.hpp"
#include "model/quantity.hpp"
#include "profiler/engine/layout.hpp"
#include "validation/row_plan.hpp"

namespace ddpx {
namespace {

constexpr int kMostRanks = 256;
constexpr int kLargestBatch = 1'000'000;
constexpr int kMostProcesses = 1000;
constexpr int kFewestProcesses = 3;  // fewer have no spread to speak of
constexpr const char* kDefaultNetwork = "mlp:width=512,depth=8";
constexpr const char* kSocketLink = "tcp";
constexpr const char* kMemoryLink = "shm";
// How GPUs are joined where nothing else is said, and where peer access is switched off.
constexpr const char* kGpuLink = "nvlink";
constexpr const char* kHostMemoryLink = "host-memory";

std::vector<int> counts(const char* flag, const std::optional<std::string>& text, int usual,
                        int most) {
  if (!text) return {usual};
  std::vector<int> values;
  for (const std::string& word : parse_list(flag, *text))
    values.push_back(parse_count(flag, word, 1, most));
  return values;
}

template <class Value, class Parse>
Value word(const char* flag, const std::optional<std::string>& text, Parse parse,
           const char* accepted, Value usual) {
  if (!text) return usual;
  if (const std::optional<Value> value = parse(*text)) return *value;
  throw InputError(flag, "'" + shown(*text) + "' is not known; accepted: " + accepted);
}

std::vector<std::string> networks_of(const MeasureOptions& options) {
  std::vector<std::string> networks = options.networks;
  if (networks.empty()) networks.emplace_back(options.sweep ? "mlp:depth=8" : kDefaultNetwork);
  if (!options.sweep) return networks;
  const Sweep sweep = parse_sweep("--sweep", *options.sweep);
  std::vector<std::string> swept;
  for (const std::string& network : networks) {
    for (const double value : sweep.values) swept.push_back(with_key(network, sweep.key, value));
  }
  return swept;
}

std::vector<RunRow> rows_asked_for(const MeasureOptions& options) {
  if (options.rows) {
    const bool grid = !options.networks.empty() || options.sweep || !options.strategies.empty() ||
                      options.batch || options.gpus || options.dtype || options.optimizer;
    if (grid) {
      throw InputError("--rows",
                       "says everything that --network, --sweep, --strategy, --batch, --gpus, "
                       "--dtype and --optimizer say; give it or them");
    }
    return io::work_from_json(io::read_text(*options.rows), io::shown_path(*options.rows));
  }
  RowGrid grid;
  grid.networks = networks_of(options);
  for (const int batch : counts("--batch", options.batch, 64, kLargestBatch))
    grid.batches.push_back(batch);
  for (const std::string& words : options.strategies)
    grid.strategies.push_back(parse_strategy(words));
  if (grid.strategies.empty()) grid.strategies.emplace_back();
  grid.gpus = counts("--gpus", options.gpus, 2, kMostRanks);
  grid.dtype = word("--dtype", options.dtype, dtype_from, "fp32, tf32, bf16", grid.dtype);
  grid.optimizer =
      word("--optimizer", options.optimizer, optimizer_from, "sgd, adamw", grid.optimizer);
  return rows_of(grid);
}

// The name a link has when nobody gives it one.
std::string link_of(std::optional<Transport> transport, Library library) {
  if (transport == Transport::socket) return kSocketLink;
  if (library == Library::mpi) return kMemoryLink;
  return transport == Transport::shared_memory ? kHostMemoryLink : kGpuLink;
}

void check_row(const RunRow& row, Library library) {
  check(row.job);
  if (!is_network_spec(row.network))
    throw InputError("--network",
                     "'" + shown(row.network) + "' is a file; the native engine trains mlp:...");
  static_cast<void>(engine::Layout(network_from(row.network)));
  if (library == Library::mpi && row.job.dtype != DType::fp32)
    throw InputError("--dtype", "a row asks for " + std::string(name(row.job.dtype)) +
                                    "; CPU ranks train in fp32, tf32 and bf16 need GPUs");
  if (library == Library::mpi && row.job.graphs)
    throw InputError("--graphs",
                     "CPU ranks issue their own work and have no CUDA graphs; leave it "
                     "out, or run on GPUs");
  if (row.job.dtype == DType::fp16)
    throw InputError("--dtype",
                     "a row asks for fp16, which needs its loss scaled; the native engine "
                     "trains in fp32, tf32 or bf16");
  const double rows = row.job.samples_per_micro_batch();
  if (rows < 1 || rows != std::floor(rows))
    throw InputError("--rows", "a row gives each rank " + std::to_string(rows) +
                                   " samples; whole samples are needed");
}

// PyTorch trains any network that a forecast can be made of. A file is named from the folder of the
// rows it stands in, and here in full, since the rows are handed on in another file.
void check_torch_row(RunRow& row, const std::filesystem::path& rows) {
  check(row.job);
  if (row.job.graphs)
    throw InputError("--rows",
                     "a row asks for CUDA graphs, which the native engine replays; use --run");
  row.job.engine = Engine::torch;
  if (is_network_spec(row.network)) {
    static_cast<void>(network_from(row.network));
    return;
  }
  const std::filesystem::path file = rows.parent_path() / row.network;
  static_cast<void>(io::network_from_json(io::read_text(file.string()), file.string()));
  row.network = std::filesystem::absolute(file).string();
}

}  // namespace

Transport transport_of(const RowRequest& request, const RunRow& row) {
  if (request.transport) return *request.transport;
  if (row.link == kSocketLink) return Transport::socket;
  if (row.link == kMemoryLink || row.link == kHostMemoryLink) return Transport::shared_memory;
  return Transport::automatic;
}

RowRequest row_request(const ValidateOptions& options, Library library) {
  const MeasureOptions& m = options.measure;
  RowRequest request;
  if (m.transport && *m.transport != "auto")
    request.transport = transport_from(*m.transport, library);
  if (m.processes)
    request.processes = parse_count("--processes", *m.processes, kFewestProcesses, kMostProcesses);
  if (m.seed) {
    request.seed = static_cast<std::uint64_t>(parse_count("--seed", *m.seed, 0, 1'000'000'000));
  }
  std::vector<RunRow> rows = rows_asked_for(m);
  std::string link = link_of(request.transport, library);
  // PyTorch on a CPU goes over Gloo, which is TCP.
  if (m.torch && !m.transport) link = library == Library::nccl ? kGpuLink : kSocketLink;
  if (options.links.size() == 1) link = options.links.front().first;
  for (RunRow& row : rows) {
    if (row.link.empty()) row.link = link;
    row.job.graphs = row.job.graphs || m.graphs;
    if (m.torch) {
      check_torch_row(row, m.rows.value_or(""));
    } else {
      check_row(row, library);
    }
  }
  const bool shared =
      std::any_of(rows.begin(), rows.end(), [](const RunRow& row) { return row.job.gpus > 1; });
  request.rows = shared ? with_one_gpu_rows(std::move(rows)) : std::move(rows);
  return request;
}

}  // namespace ddpx
