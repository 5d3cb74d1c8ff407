// A thread passes, lists or assigns a structure whose address another thread has.
#include <mowgli.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

struct record { uint64_t a, b, c; };
static struct record *_Atomic known;
static __thread struct record variable = { 1, 1, 1 };
static _Atomic int is_over;

static __attribute__((noinline)) uint64_t passed(struct record r) { return r.b; }
static __attribute__((noinline)) uint64_t listed(int n, ...) {
  va_list all;
  va_start(all, n);
  struct record r = va_arg(all, struct record);
  va_end(all);
  return r.b;
}
static __attribute__((noinline)) struct record made(uint64_t v) {
  struct record r = { v, v, v };
  return r;
}

static void *owner(void *unused) {
  struct record frame = { 1, 1, 1 }, *heap = malloc(sizeof *heap);
  *heap = frame;
  known = &PLACE;
  __asm__ volatile("" ::: "memory");
  mowgli_outcome("seen", OF(PLACE));
  __asm__ volatile("" ::: "memory");
  while (!is_over) {}
  return unused;
}

static void *other(void *unused) {
  struct record *r = known;
  if (r) {
    mowgli_outcome("b", r->b);
    __atomic_store_n(&r->b, 7, __ATOMIC_SEQ_CST);
  }
  is_over = 1;
  return unused;
}

int main(void) {
  mowgli_node(1, owner, 0);
  mowgli_node(1, other, 0);
  mowgli_join();
}
