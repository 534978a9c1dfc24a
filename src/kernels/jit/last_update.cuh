// Where several updates meet at one place, the last one counts, whichever thread is faster: the same code runs three
// times over all updates, with one number for each place.

/// Steps of a run: clears the numbers, finds each place's last update, writes.
enum Pass : i64 { kForget, kFind, kWrite };

/// Whether update `number` is to be written now.
__device__ inline bool is_last_update(u32* last, i64 place, u32 number, i64 pass) {
  if (pass == kForget) last[place] = 0;
  if (pass == kFind) atomicMax(last + place, number);
  return pass == kWrite && last[place] == number;
}
