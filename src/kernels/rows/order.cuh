// Elements in the order of top-k: unsigned numbers, the wanted ones highest; NaN counts as the largest, equal elements
// keep their order.

enum : int { kBits = sizeof(Key) * 8 };

struct Ordered {
  Key key;
  int place;
};

// Unsigned numbers in the order of the elements, the wanted ones highest.
__device__ inline Key key_of(X element) {
  const Wide<X> v = widen(element);
  Key key;
#if TOPK_FLOAT
  if (v != v) {
    key = ~Key(0);
  } else if (kBits == 32) {
    const u32 bits = __float_as_uint(float(v) + 0.0f);
    key = Key(bits >> 31 ? ~bits : bits | 0x80000000u);
  } else {
    const u64 bits = u64(__double_as_longlong(double(v) + 0.0));
    key = Key(bits >> 63 ? ~bits : bits | 0x8000000000000000ull);
  }
#else
  key = Key(v) ^ (kSigned ? Key(1) << (kBits - 1) : Key(0));
#endif
  return kLargest ? key : Key(~key);
}

__device__ inline bool comes_first(const Ordered& a, const Ordered& b) {
  return a.key != b.key ? a.key > b.key : a.place < b.place;
}
