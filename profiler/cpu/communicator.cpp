#include "profiler/cpu/communicator.hpp"

#include <array>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "model/error.hpp"

namespace ddpx::cpu {
namespace {

void check(int status, const char* doing) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw DeviceError(std::string("MPI: ") + doing + ": " +
                    std::string(text.data(), static_cast<std::size_t>(length)));
}

int count_of(std::size_t elements, const char* doing) {
  if (elements <= static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return static_cast<int>(elements);
  throw DeviceError(std::string("MPI: ") + doing + ": " + std::to_string(elements) +
                    " elements are more than one call takes");
}

void check_shards(std::size_t shard, std::size_t whole, int ranks, const char* doing) {
  if (shard * static_cast<std::size_t>(ranks) == whole) return;
  throw DeviceError(std::string("MPI: ") + doing + ": " + std::to_string(ranks) + " shards of " +
                    std::to_string(shard) + " elements do not make " + std::to_string(whole));
}

// MPI's signature for a user's operation.
void add_halves(void* from, void* to, int* count, MPI_Datatype* /*type*/) {
  const auto elements = static_cast<std::size_t>(*count);
  add({static_cast<const Half*>(from), elements}, {static_cast<Half*>(to), elements});
}

MPI_Datatype type_of(const float* /*unused*/) { return MPI_FLOAT; }
MPI_Datatype type_of(const Half* /*unused*/) { return MPI_UINT16_T; }

bool started = false;

}  // namespace

// MPI from start to end. Only one in the life of a process: MPI cannot be started again.
class Session {
 public:
  static std::shared_ptr<Session> get() {
    static std::weak_ptr<Session> current;
    if (auto session = current.lock()) return session;
    if (started) throw DeviceError("MPI: starting: it has ended already in this process");
    auto session = std::make_shared<Session>();
    current = session;
    return session;
  }

  Session() {
    started = true;
    // Waiting ranks give their core away (see progress.hpp); what the user set stands.
    ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    int level = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "starting");
    if (level < MPI_THREAD_MULTIPLE)
      throw DeviceError("MPI: starting: this library cannot be used from several threads");
    check(MPI_Op_create(&add_halves, 1, &half_sum_), "creating the fp16 sum");
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    // MPI_Finalize waits for all ranks, and a rank that failed may be waited for in vain.
    if (std::uncaught_exceptions() > 0) return;
    MPI_Op_free(&half_sum_);
    MPI_Finalize();
  }

  [[nodiscard]] MPI_Op sum_of(const float* /*unused*/) const { return MPI_SUM; }
  [[nodiscard]] MPI_Op sum_of(const Half* /*unused*/) const { return half_sum_; }

 private:
  MPI_Op half_sum_ = MPI_OP_NULL;
};

Request::Request(Request&& other) noexcept
    : request_(std::exchange(other.request_, MPI_REQUEST_NULL)) {}

Request& Request::operator=(Request&& other) noexcept {
  std::swap(request_, other.request_);
  return *this;
}

Request::~Request() {
  if (request_ != MPI_REQUEST_NULL && std::uncaught_exceptions() == 0)
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
}

bool Request::test() {
  int done = 0;
  check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "going on with a collective");
  return done != 0;
}

void Request::wait() { check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "waiting for a collective"); }

Communicator::Communicator(std::shared_ptr<Session> session, MPI_Comm handle)
    : session_(std::move(session)), handle_(handle) {
  check(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN), "setting up a communicator");
  check(MPI_Comm_rank(handle_, &rank_), "asking for the rank");
  check(MPI_Comm_size(handle_, &size_), "asking for the number of ranks");
}

Communicator Communicator::world() {
  auto session = Session::get();
  MPI_Comm handle = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &handle), "duplicating the communicator of all ranks");
  return {std::move(session), handle};
}

Communicator Communicator::duplicate() const {
  MPI_Comm handle = MPI_COMM_NULL;
  check(MPI_Comm_dup(handle_, &handle), "duplicating a communicator");
  return {session_, handle};
}

Communicator::Communicator(Communicator&& other) noexcept
    : session_(std::move(other.session_)),
      handle_(std::exchange(other.handle_, MPI_COMM_NULL)),
      rank_(other.rank_),
      size_(other.size_) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(session_, other.session_);
  std::swap(handle_, other.handle_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  return *this;
}

Communicator::~Communicator() {
  if (handle_ != MPI_COMM_NULL && std::uncaught_exceptions() == 0) MPI_Comm_free(&handle_);
}

Communicator::Place Communicator::place_on_host() const {
  MPI_Comm host = MPI_COMM_NULL;
  check(MPI_Comm_split_type(handle_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host),
        "finding the ranks of this host");
  Place place;
  check(MPI_Comm_rank(host, &place.rank), "asking for the rank on this host");
  check(MPI_Comm_size(host, &place.ranks), "asking for the ranks of this host");
  MPI_Comm_free(&host);
  return place;
}

void Communicator::barrier() const { check(MPI_Barrier(handle_), "a barrier"); }

namespace {

template <class T>
void all_reduce_in_place(MPI_Comm handle, const Session& session, std::span<T> values) {
  check(MPI_Allreduce(MPI_IN_PLACE, values.data(), count_of(values.size(), "an all-reduce"),
                      type_of(values.data()), session.sum_of(values.data()), handle),
        "an all-reduce");
}

template <class T>
Request start_all_reduce_in_place(MPI_Comm handle, const Session& session, std::span<T> values) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(MPI_IN_PLACE, values.data(), count_of(values.size(), "an all-reduce"),
                       type_of(values.data()), session.sum_of(values.data()), handle, &request),
        "starting an all-reduce");
  return Request(request);
}

// MPI forbids a send buffer inside the receive buffer, unless it says that it is in place.
template <class T>
const void* shard_or_in_place(std::span<const T> shard, std::span<T> whole, int rank) {
  const T* own = whole.data() + static_cast<std::size_t>(rank) * shard.size();
  return shard.data() == own ? MPI_IN_PLACE : static_cast<const void*>(shard.data());
}

template <class T>
Request start_all_gather_of(MPI_Comm handle, int rank, int ranks, std::span<const T> shard,
                            std::span<T> whole) {
  check_shards(shard.size(), whole.size(), ranks, "an all-gather");
  const int count = count_of(shard.size(), "an all-gather");
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(shard_or_in_place(shard, whole, rank), count, type_of(whole.data()),
                       whole.data(), count, type_of(whole.data()), handle, &request),
        "starting an all-gather");
  return Request(request);
}

template <class T>
void all_gather_of(MPI_Comm handle, int rank, int ranks, std::span<const T> shard,
                   std::span<T> whole) {
  check_shards(shard.size(), whole.size(), ranks, "an all-gather");
  const int count = count_of(shard.size(), "an all-gather");
  check(MPI_Allgather(shard_or_in_place(shard, whole, rank), count, type_of(whole.data()),
                      whole.data(), count, type_of(whole.data()), handle),
        "an all-gather");
}

template <class T>
void reduce_scatter_of(MPI_Comm handle, const Session& session, int ranks,
                       std::span<const T> whole, std::span<T> shard) {
  check_shards(shard.size(), whole.size(), ranks, "a reduce-scatter");
  check(MPI_Reduce_scatter_block(whole.data(), shard.data(),
                                 count_of(shard.size(), "a reduce-scatter"), type_of(shard.data()),
                                 session.sum_of(shard.data()), handle),
        "a reduce-scatter");
}

template <class T>
Request start_reduce_scatter_of(MPI_Comm handle, const Session& session, int ranks,
                                std::span<const T> whole, std::span<T> shard) {
  check_shards(shard.size(), whole.size(), ranks, "a reduce-scatter");
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ireduce_scatter_block(whole.data(), shard.data(),
                                  count_of(shard.size(), "a reduce-scatter"), type_of(shard.data()),
                                  session.sum_of(shard.data()), handle, &request),
        "starting a reduce-scatter");
  return Request(request);
}

}  // namespace

void Communicator::all_reduce(std::span<float> values) const {
  all_reduce_in_place(handle_, *session_, values);
}
void Communicator::all_reduce(std::span<Half> values) const {
  all_reduce_in_place(handle_, *session_, values);
}
void Communicator::all_gather(std::span<const float> shard, std::span<float> whole) const {
  all_gather_of(handle_, rank_, size_, shard, whole);
}
void Communicator::all_gather(std::span<const Half> shard, std::span<Half> whole) const {
  all_gather_of(handle_, rank_, size_, shard, whole);
}
void Communicator::reduce_scatter(std::span<const float> whole, std::span<float> shard) const {
  reduce_scatter_of(handle_, *session_, size_, whole, shard);
}
void Communicator::reduce_scatter(std::span<const Half> whole, std::span<Half> shard) const {
  reduce_scatter_of(handle_, *session_, size_, whole, shard);
}

Request Communicator::start_all_reduce(std::span<float> values) const {
  return start_all_reduce_in_place(handle_, *session_, values);
}
Request Communicator::start_all_reduce(std::span<Half> values) const {
  return start_all_reduce_in_place(handle_, *session_, values);
}
Request Communicator::start_all_gather(std::span<const float> shard, std::span<float> whole) const {
  return start_all_gather_of(handle_, rank_, size_, shard, whole);
}
Request Communicator::start_all_gather(std::span<const Half> shard, std::span<Half> whole) const {
  return start_all_gather_of(handle_, rank_, size_, shard, whole);
}
Request Communicator::start_reduce_scatter(std::span<const float> whole,
                                           std::span<float> shard) const {
  return start_reduce_scatter_of(handle_, *session_, size_, whole, shard);
}
Request Communicator::start_reduce_scatter(std::span<const Half> whole,
                                           std::span<Half> shard) const {
  return start_reduce_scatter_of(handle_, *session_, size_, whole, shard);
}

Request Communicator::start_send(std::span<const std::byte> message, int to, int tag) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(message.data(), count_of(message.size(), "sending"), MPI_BYTE, to, tag, handle_,
                  &request),
        "sending");
  return Request(request);
}

Request Communicator::start_receive(std::span<std::byte> message, int from, int tag) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(message.data(), count_of(message.size(), "receiving"), MPI_BYTE, from, tag,
                  handle_, &request),
        "receiving");
  return Request(request);
}

void Communicator::maximum(std::span<double> values) const {
  check(MPI_Allreduce(MPI_IN_PLACE, values.data(), count_of(values.size(), "a maximum"), MPI_DOUBLE,
                      MPI_MAX, handle_),
        "finding the slowest rank");
}

void Communicator::broadcast(std::span<float> values) const {
  check(MPI_Bcast(values.data(), count_of(values.size(), "a broadcast"), MPI_FLOAT, 0, handle_),
        "a broadcast");
}

void Communicator::broadcast(std::span<std::byte> values) const {
  check(MPI_Bcast(values.data(), count_of(values.size(), "a broadcast"), MPI_BYTE, 0, handle_),
        "a broadcast");
}

void Communicator::abort(int exit_code) const {
  MPI_Abort(handle_, exit_code);
  std::_Exit(exit_code);
}

}  // namespace ddpx::cpu
