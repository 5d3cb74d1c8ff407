// A program whose second thread does something else in its later runs, because it counts them in a file.
#include <assert.h>
#include <fcntl.h>
#include <mowgli.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static int64_t data;
static _Atomic int64_t flag;
static const char *runs, *kind;
static int most;

static void *writer(void *unused) {
  data = 1;
  flag = 1;
  return unused;
}

static void *reader(void *unused) {
  int file = open(runs, O_CREAT | O_WRONLY | O_APPEND, 0600);
  if (file < 0 || write(file, "x", 1) != 1) abort();
  int is_early = lseek(file, 0, SEEK_END) <= most;
  close(file);
  if (is_early && !flag) {
    if (*kind == 'r') mowgli_outcome("a", data);
    if (*kind == 'f') assert(flag);
    if (*kind == 's') while (flag != 2) {}
  }
  return unused;
}

int main(int count, char **args) {
  if (count != 4) return 2;
  runs = args[1];
  kind = args[2];
  most = atoi(args[3]);
  pthread_t one, two;
  pthread_create(&one, 0, writer, 0);
  pthread_create(&two, 0, reader, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
}
