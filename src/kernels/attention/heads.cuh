// Addresses of queries, keys, values and masks of a head, for attention kernels that read them by address.

struct Head {
  const X *q, *k, *v;
  const Mask* mask;
  X* out;
};

__device__ inline Head locate_head(const X* q, const X* k, const X* v, const Mask* mask, X* out, Index batch, Index head) {
  const Index shared = head / (kHeads / kKvHeads);
  return {q + batch * Index(kQBatch) + head * Index(kQHead), k + batch * Index(kKBatch) + shared * Index(kKHead),
          v + batch * Index(kVBatch) + shared * Index(kVHead),
          mask == nullptr ? nullptr : mask + batch * Index(kMaskBatch) + head * Index(kMaskHead),
          out + batch * Index(kOutBatch) + head * Index(kOutHead)};
}
