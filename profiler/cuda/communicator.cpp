#include "profiler/cuda/communicator.hpp"

#include "model/error.hpp"

namespace ddpx::cuda {
namespace {

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
    case DType::tf32:
      return ncclFloat32;
    case DType::bf16:
      return ncclBfloat16;
    case DType::fp16:
      return ncclFloat16;
  }
  return ncclFloat32;
}

}  // namespace

Communicator::Communicator(Meeting& meeting) : ranks_(meeting.ranks()) {
  if (ranks_ == 1) return;
  ncclUniqueId id{};
  if (meeting.rank() == 0) check(ncclGetUniqueId(&id), "making the communicator's id");
  meeting.broadcast(std::as_writable_bytes(std::span(&id, 1)));
  ncclComm_t comm = nullptr;
  check(ncclCommInitRank(&comm, ranks_, id, meeting.rank()),
        "joining " + std::to_string(ranks_) + " ranks");
  nccl_.reset(comm);
}

void Communicator::issue(Collective kind, Elements from, Elements to, cudaStream_t stream) {
  if (!nccl_) {
    if (from.data == to.data) return;
    check(cudaMemcpyAsync(to.data, from.data,
                          from.count * static_cast<std::size_t>(element_bytes(from.dtype)),
                          cudaMemcpyDeviceToDevice, stream),
          "a collective of one rank");
    return;
  }
  const ncclDataType_t type = type_of(from.dtype);
  switch (kind) {
    case Collective::all_reduce:
      return check(ncclAllReduce(from.data, to.data, to.count, type, ncclSum, nccl_.get(), stream),
                   "all-reduce");
    case Collective::all_gather:
      return check(ncclAllGather(from.data, to.data, from.count, type, nccl_.get(), stream),
                   "all-gather");
    case Collective::reduce_scatter:
      return check(
          ncclReduceScatter(from.data, to.data, to.count, type, ncclSum, nccl_.get(), stream),
          "reduce-scatter");
  }
}

void Communicator::exchange(int peer, Elements from, Elements to, cudaStream_t stream) {
  check(ncclGroupStart(), "grouping a send and a receive");
  check(ncclSend(from.data, from.count, type_of(from.dtype), peer, nccl_.get(), stream), "a send");
  check(ncclRecv(to.data, to.count, type_of(to.dtype), peer, nccl_.get(), stream), "a receive");
  check(ncclGroupEnd(), "a send and a receive");
}

void Communicator::check_peers() const {
  if (!nccl_) return;
  ncclResult_t status = ncclSuccess;
  check(ncclCommGetAsyncError(nccl_.get(), &status), "asking NCCL for errors");
  if (status != ncclInProgress) check(status, "a collective under way");
}

std::vector<std::pair<std::string, std::string>> Communicator::context() {
  int version = 0;
  check(ncclGetVersion(&version), "reading NCCL's version");
  return {{"nccl", std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
                       "." + std::to_string(version % 100)}};
}

}  // namespace ddpx::cuda
