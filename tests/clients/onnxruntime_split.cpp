// Notes when ONNX Runtime's TensorRT provider calls CUDA's run time and our contexts, and can leave
// out enqueueV3: a run without our part is the provider's own overhead. onnxruntime_split.py loads
// it in front of the provider (LD_PRELOAD).
#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>

namespace {

// Functions of an object's table as the binary interface lists them (tests/api/abi), behind the two
// of the destructor.
constexpr int kDestructors = 2, kDeserialize = 1, kContexts[] = {3, 4, 53}, kSlots = 52,
              kEnqueue = 35;
constexpr const char* kCuda = "libcudart.so.13";
enum Mode { kRun = 0, kNote = 1, kSkip = 2, kEvents = 3, kIdle = 4 };

struct Call {
  const char* name;  // Null for one of our contexts.
  int slot;
  long long begin, end;
};

// All functions here take at most six numbers or addresses.
using Any = long (*)(long, long, long, long, long, long);

constexpr int kMost = 4096;
Call calls[kMost];
int count = 0, mode = kRun;
long long idle = 0;  // Nanoseconds that kIdle spends in place of a run.
void* events[2] = {};
Any of_context[kSlots] = {}, of_engine[3] = {}, deserialize = nullptr;

long long now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

Any find(const char* library, const char* name) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  return handle ? reinterpret_cast<Any>(dlsym(handle, name)) : nullptr;
}

void note(const char* name, int slot, long long begin) {
  if (mode == kNote && count < kMost) calls[count++] = {name, slot, begin, now()};
}

// An object of the API is its own table and a pointer to the object that does the work, which
// begins with a table too.
Any* table_of(long object) {
  return *reinterpret_cast<Any**>(reinterpret_cast<long*>(object)[1]) + kDestructors;
}

Any exchange(Any* place, Any function) {
  char* const page = reinterpret_cast<char*>(reinterpret_cast<unsigned long>(place) & ~4095UL);
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
  const Any before = *place;
  *place = function;
  return before;
}

long enqueue_between_events(long a, long stream) {
  static const Any record = find(kCuda, "cudaEventRecord"), create = find(kCuda, "cudaEventCreate");
  for (void*& event : events)
    if (!event) create(reinterpret_cast<long>(&event), 0, 0, 0, 0, 0);
  record(reinterpret_cast<long>(events[0]), stream, 0, 0, 0, 0);
  const long result = of_context[kEnqueue](a, stream, 0, 0, 0, 0);
  record(reinterpret_cast<long>(events[1]), stream, 0, 0, 0, 0);
  return result;
}

template <int slot> long context_call(long a, long b, long c, long d, long e, long f) {
  if (slot == kEnqueue && mode == kSkip) return 1;
  if (slot == kEnqueue && mode == kIdle) {
    for (const long long end = now() + idle; now() < end;) {
    }
    return 1;
  }
  if (slot == kEnqueue && mode == kEvents) return enqueue_between_events(a, b);
  const long long begin = now();
  const long result = of_context[slot](a, b, c, d, e, f);
  note(nullptr, slot, begin);
  return result;
}

template <int slot = 0> void wrap_context(Any* table) {
  if constexpr (slot < kSlots) {
    of_context[slot] = exchange(table + slot, context_call<slot>);
    wrap_context<slot + 1>(table);
  }
}

template <int which> long create_context(long a, long b, long c, long d, long e, long f) {
  const long made = of_engine[which](a, b, c, d, e, f);
  if (made && !of_context[0]) wrap_context(table_of(made));
  return made;
}

long deserialize_call(long a, long b, long c, long d, long e, long f) {
  const long made = deserialize(a, b, c, d, e, f);
  if (!made || of_engine[0]) return made;
  Any* const table = table_of(made);
  of_engine[0] = exchange(table + kContexts[0], create_context<0>);
  of_engine[1] = exchange(table + kContexts[1], create_context<1>);
  of_engine[2] = exchange(table + kContexts[2], create_context<2>);
  return made;
}

}  // namespace

extern "C" {

// The provider calls it to make a runtime; deserializing makes engines, these make contexts, and
// all tables are met once.
void* createInferRuntime_INTERNAL(void* logger, int version) noexcept {
  static const Any original = find("libnvinfer.so.10", "createInferRuntime_INTERNAL");
  const long made = original(reinterpret_cast<long>(logger), version, 0, 0, 0, 0);
  if (made && !deserialize) deserialize = exchange(table_of(made) + kDeserialize, deserialize_call);
  return reinterpret_cast<void*>(made);
}

#define NOTED(name)                                           \
  long name(long a, long b, long c, long d, long e, long f) { \
    static const Any original = find(kCuda, #name);           \
    const long long begin = now();                            \
    const long result = original(a, b, c, d, e, f);           \
    note(#name, -1, begin);                                   \
    return result;                                            \
  }
NOTED(cudaMemcpyAsync)
NOTED(cudaMemcpy)
NOTED(cudaMemset)
NOTED(cudaMemsetAsync)
NOTED(cudaStreamSynchronize)
NOTED(cudaDeviceSynchronize)
NOTED(cudaStreamCreateWithFlags)
NOTED(cudaStreamDestroy)
NOTED(cudaStreamWaitEvent)
NOTED(cudaEventCreateWithFlags)
NOTED(cudaEventDestroy)
NOTED(cudaEventRecord)
NOTED(cudaEventSynchronize)
NOTED(cudaMalloc)
NOTED(cudaFree)
NOTED(cudaHostAlloc)
NOTED(cudaFreeHost)
NOTED(cudaSetDevice)
NOTED(cudaGetDevice)
NOTED(cudaPointerGetAttributes)
NOTED(cudaLaunchHostFunc)

void split_mode(int value) {
  mode = value;
  count = 0;
}

void split_idle(double milliseconds) {
  idle = static_cast<long long>(milliseconds * 1e6);
}

int split_calls(const Call** found) {
  *found = calls;
  return count;
}

// The device's time between the events around the last enqueueV3, in milliseconds; -1 where there
// was none.
float split_device_time() {
  float ms = -1;
  if (!events[1]) return ms;
  static const Any wait = find(kCuda, "cudaEventSynchronize"),
                   elapsed = find(kCuda, "cudaEventElapsedTime");
  wait(reinterpret_cast<long>(events[1]), 0, 0, 0, 0, 0);
  elapsed(reinterpret_cast<long>(&ms), reinterpret_cast<long>(events[0]),
          reinterpret_cast<long>(events[1]), 0, 0, 0);
  return ms;
}
}
