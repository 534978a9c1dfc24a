// The flag of a slice: whether no equal one comes before it.
#define FLAG_PARAMETERS const i64* __restrict__ leaders
#define FLAG_ARGUMENTS leaders
__device__ inline int flag(i64 i, const i64* leaders) { return leaders[i] == i; }
