/* Functions of libc that read or write memory. They read a text word by word, as other threads may write it, and write it like a
 * structure that is copied. In objects of the program their names are replaced by these: see replaced.txt.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <alloca.h>
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#undef basename

/* Reads a string of at most so many bytes, and returns its length. */
static size_t length(const char *s, size_t most)
{
	if (mw_native(NULL, 0, 0)) {
		size_t n = strnlen(s, most);
		mw_window(s, n < most ? n + 1 : n, 0);
		return n;
	}
	mw_flush();
	for (size_t n = 0; n < most;) {
		size_t k = mw_load_word(s + n, most - n, 0);
		const char *end = memchr(s + n, 0, k);
		if (end) return (size_t)(end - s);
		n += k;
	}
	return most;
}
static void put_zeros(char *to, size_t n)
{
	char *zeros = mw_own_malloc(n + 1);
	memset(zeros, 0, n);
	mw_put(to, zeros, n);
	mw_own_free(zeros);
}
#define REAL(type, name, parameters, ...) ENTRY_OF_REAL(__mowgli_##name); type mw___mowgli_##name parameters { __VA_ARGS__ }
#define STRINGS(type, name, parameters, ...) ENTRY(__mowgli_##name); type mw___mowgli_##name parameters { __VA_ARGS__ }
#define ALL ((size_t)-1 >> 1)
/* Looks at two texts, of which these many bytes decide which one is first. */
#define BOTH(one, n, other, m, looks_at_one, looks_at_other) \
	if (mw_begins_with_second(one, n, other, m)) { looks_at_other; looks_at_one; } else { looks_at_one; looks_at_other; }
#define LOOKS_AT_BOTH(type, name, parameters, most, call) \
	STRINGS(type, name, parameters, BOTH(a, most < 8 ? most : 8, b, most < 8 ? most : 8, length(a, most), length(b, most)) return call;)
/* A function that looks at one text, or at two, and writes nothing. What it returns points into the text, or is a number. */
#define LOOKS(type, name, parameters, looks, call) STRINGS(type, name, parameters, looks; return call;)
LOOKS(size_t, strlen, (const char *s), , length(s, ALL))
LOOKS(size_t, strnlen, (const char *s, size_t n), , length(s, n))
LOOKS_AT_BOTH(int, strcmp, (const char *a, const char *b), ALL, strcmp(a, b))
LOOKS_AT_BOTH(int, strncmp, (const char *a, const char *b, size_t n), n, strncmp(a, b, n))
LOOKS_AT_BOTH(int, strcasecmp, (const char *a, const char *b), ALL, strcasecmp(a, b))
LOOKS_AT_BOTH(int, strncasecmp, (const char *a, const char *b, size_t n), n, strncasecmp(a, b, n))
LOOKS_AT_BOTH(int, strcoll, (const char *a, const char *b), ALL, strcoll(a, b))
LOOKS(char *, strchr, (const char *s, int c), length(s, ALL), strchr(s, c))
LOOKS(char *, index, (const char *s, int c), length(s, ALL), strchr(s, c))
LOOKS(char *, strrchr, (const char *s, int c), length(s, ALL), strrchr(s, c))
LOOKS(char *, rindex, (const char *s, int c), length(s, ALL), strrchr(s, c))
LOOKS(char *, strchrnul, (const char *s, int c), length(s, ALL), strchrnul(s, c))
LOOKS(char *, strstr, (const char *s, const char *part), (length(s, ALL), length(part, ALL)), strstr(s, part))
LOOKS(char *, strcasestr, (const char *s, const char *part), (length(s, ALL), length(part, ALL)), strcasestr(s, part))
LOOKS(size_t, strspn, (const char *s, const char *of), (length(s, ALL), length(of, ALL)), strspn(s, of))
LOOKS(size_t, strcspn, (const char *s, const char *of), (length(s, ALL), length(of, ALL)), strcspn(s, of))
LOOKS(char *, strpbrk, (const char *s, const char *of), (length(s, ALL), length(of, ALL)), strpbrk(s, of))
LOOKS(char *, basename, (const char *s), length(s, ALL), strrchr(s, '/') ? strrchr(s, '/') + 1 : (char *)s)
LOOKS(int, atoi, (const char *s), length(s, ALL), atoi(s))
LOOKS(long, atol, (const char *s), length(s, ALL), atol(s))
LOOKS(long long, atoll, (const char *s), length(s, ALL), atoll(s))
REAL(double, atof, (const char *s), length(s, ALL); return atof(s);)
LOOKS(int, puts, (const char *s), length(s, ALL), puts(s))
LOOKS(int, fputs, (const char *s, FILE *to), length(s, ALL), fputs(s, to))
LOOKS(int, perror, (const char *s), if (s) length(s, ALL), (perror(s), 0))
LOOKS(in_addr_t, inet_addr, (const char *s), length(s, ALL), inet_addr(s))
LOOKS(size_t, fwrite, (const void *from, size_t size, size_t n, FILE *to), mw_look(from, size * n), fwrite(from, size, n, to))
#define COMPARES(name) STRINGS(int, name, (const void *a, const void *b, size_t n), BOTH(a, n, b, n, mw_look(a, n), mw_look(b, n)) return memcmp(a, b, n);)
COMPARES(memcmp) COMPARES(bcmp)
LOOKS(void *, memrchr, (const void *s, int c, size_t n), mw_look(s, n), memrchr(s, c, n))
STRINGS(void *, memmem, (const void *s, size_t n, const void *part, size_t m),
	BOTH(s, n, part, m, mw_look(s, n), mw_look(part, m))
	return memmem(s, n, part, m);)
/* Reads word by word up to a byte, of at most so many bytes. */
static void *found(const char *s, int c, size_t most)
{
	if (mw_native(s, most < ALL ? most : 0, 0)) return memchr(s, c, most);
	mw_flush();
	for (size_t n = 0; n < most;) {
		size_t k = mw_load_word(s + n, most - n, c);
		void *at = memchr(s + n, c, k);
		if (at) return at;
		n += k;
	}
	return NULL;
}
LOOKS(void *, memchr, (const void *s, int c, size_t n), , found(s, c, n))
LOOKS(void *, rawmemchr, (const void *s, int c), , found(s, c, ALL))

/* The environment. A thread has a process of its own, so what threads change is a list of texts in memory: NAME=VALUE, or a name that has
 * no value any more. The last one counts. Behind NULL nothing of what was before does. */
enum { TEXTS = 64 };
static struct { long count; char *texts[TEXTS]; } environment __attribute__((aligned(64)));
static int changes_environment(const char *call, char *text)
{
	mw_look(&environment.count, sizeof environment.count);
	long count = environment.count + 1;
	if (count > TEXTS) mw_end('x', "threads change the environment more than %d times", TEXTS);
	mw_put(&environment.texts[count - 1], &text, sizeof text);
	mw_put(&environment.count, &count, sizeof count);
	if (mw_threads_run()) mw_unsure(call);
	return 0;
}
static int is_name(const char *name) { return length(name, ALL) && !strchr(name, '='); }
static char *environment_text(const char *name, const char *equals, const char *to)
{
	size_t n = strlen(name), m = strlen(equals), k = strlen(to) + 1;
	char *text = mw_allocated(n + m + k);
	mw_put(text, name, n);
	mw_put(text + n, equals, m);
	mw_put(text + n + m, to, k);
	return text;
}
static char *value_in_environment(const char *name)
{
	size_t n = length(name, ALL);
	mw_look(&environment.count, sizeof environment.count);
	for (long k = environment.count; k-- > 0;) {
		mw_look(&environment.texts[k], sizeof *environment.texts);
		char *text = environment.texts[k];
		if (!text) return NULL;
		length(text, ALL);
		if (!strncmp(text, name, n) && (text[n] == '=' || !text[n])) return text[n] ? text + n + 1 : NULL;
	}
	return getenv(name);
}
/* While `main` sets up, libc has it. */
#define ENVIRONMENT(name, parameters, arguments, is_wrong, text) \
	STRINGS(int, name, parameters, \
		if (mw_thread < 0) { mw_window(&environment.count, sizeof environment.count, 1); return name arguments; } \
		mw_flush(); \
		if (is_wrong) { errno = EINVAL; return -1; } \
		return changes_environment(#name, text);)
STRINGS(char *, getenv, (const char *name), return value_in_environment(name);)
ENVIRONMENT(setenv, (const char *name, const char *to, int again), (name, to, again), !is_name(name),
	!again && value_in_environment(name) ? "" : (length(to, ALL), environment_text(name, "=", to)))
ENVIRONMENT(unsetenv, (const char *name), (name), !is_name(name), environment_text(name, "", ""))
ENVIRONMENT(putenv, (char *all), (all), 0, all)
ENVIRONMENT(clearenv, (void), (), 0, NULL)

/* Functions of libstdc++ that copy a text to memory of their own, or compute with bytes. */
#define OF_LIBRARY(type, name, parameters, looks, arguments) \
	ENTRY(name); \
	type mw_##name parameters { looks; return ((type (*) parameters)dlsym(RTLD_NEXT, #name)) arguments; }
OF_LIBRARY(size_t, _ZSt11_Hash_bytesPKvmm, (const void *at, size_t n, size_t seed), mw_look(at, n), (at, n, seed))
#define TEXT_OF(name) OF_LIBRARY(const char *, _ZNKSt##name##4whatEv, (const char *const *e), mw_look(e, 2 * sizeof *e), (e))
TEXT_OF(13runtime_error) TEXT_OF(11logic_error)
/* A text of std::string: where it is, and its length. */
struct text { const char *at; size_t n; };
#define STRING_EXCEPTION_OF(name, kind) \
	OF_LIBRARY(void *, _ZNSt##name##kind##ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE, (void *e, const struct text *s), \
		(mw_look(s, sizeof *s), mw_look(s->at, s->n)), (e, s))
/* A cast reads the table of the part that it is given, and that of the whole object. */
static void look_at_tables(const char *object)
{
	mw_look(object, sizeof(void *));
	mw_look(object + (*(ptrdiff_t *const *)object)[-2], sizeof(void *));
}
OF_LIBRARY(void *, __dynamic_cast, (const void *object, const void *from, const void *to, ptrdiff_t hint), look_at_tables(object),
	(object, from, to, hint))
#define EXCEPTION_OF(name) OF_LIBRARY(void *, _ZNSt##name##C1EPKc, (void *e, const char *s), length(s, ALL), (e, s)) \
	OF_LIBRARY(void *, _ZNSt##name##C2EPKc, (void *e, const char *s), length(s, ALL), (e, s)) \
	STRING_EXCEPTION_OF(name, C1) STRING_EXCEPTION_OF(name, C2)
EXCEPTION_OF(13runtime_error) EXCEPTION_OF(11logic_error) EXCEPTION_OF(12out_of_range) EXCEPTION_OF(16invalid_argument)
EXCEPTION_OF(12length_error) EXCEPTION_OF(12domain_error) EXCEPTION_OF(11range_error) EXCEPTION_OF(14overflow_error) EXCEPTION_OF(15underflow_error)

/* Memory of the program in which streams keep their text. libc reads and writes it unseen. */
enum { STREAMS = 64 };
static struct { uintptr_t at; size_t n; } of_streams[STREAMS];
static size_t of_streams_count;
static void keeps(const char *call, const void *at, size_t n)
{
	if (mw_thread >= 0) mw_flush();
	if (!at || !n) return;
	if (mw_thread >= 0) mw_unsure(call);
	if (of_streams_count == STREAMS) mw_end('x', "more than %d streams in memory of the program", STREAMS);
	of_streams[of_streams_count].at = (uintptr_t)at;
	of_streams[of_streams_count++].n = n;
}
void mw_streams_touch(uintptr_t at, size_t n)
{
	for (size_t i = 0; i < of_streams_count; i++)
		if (at < of_streams[i].at + of_streams[i].n && of_streams[i].at < at + n) mw_unsure("memory in which a stream keeps its text");
}
STRINGS(FILE *, fmemopen, (void *at, size_t n, const char *mode), keeps("fmemopen", at, n); return fmemopen(at, n, mode);)
STRINGS(FILE *, open_memstream, (char **at, size_t *n),
	keeps("open_memstream", at, sizeof *at);
	keeps("open_memstream", n, sizeof *n);
	return open_memstream(at, n);)
STRINGS(int, setvbuf, (FILE *f, char *at, int mode, size_t n), keeps("setvbuf", at, n); return setvbuf(f, at, mode, n);)
STRINGS(void, setbuf, (FILE *f, char *at), keeps("setbuf", at, BUFSIZ); setbuf(f, at);)
STRINGS(void, setbuffer, (FILE *f, char *at, size_t n), keeps("setbuffer", at, n); setbuffer(f, at, n);)

/* Copies and fills. */
static char *duplicate(const char *s, size_t n)
{
	char *to = mw_allocated(n + 1);
	if (!to) return NULL;
	mw_put(to, s, n);
	put_zeros(to + n, 1);
	return to;
}
static void *move(void *to, const void *from, size_t n) { return mw_copy(to, from, n); }
static void *fill(void *to, int byte, size_t n)
{
	char *bytes = mw_own_malloc(n + 1);
	memset(bytes, byte, n);
	mw_put(to, bytes, n);
	mw_own_free(bytes);
	return to;
}
/* Copies at most so many bytes of a text, and fills up with zeros. Returns the end of the text. */
static char *copy_filled(char *to, const char *from, size_t n)
{
	size_t k = length(from, n);
	mw_put(to, from, k);
	put_zeros(to + k, n - k);
	return to + k;
}
static char *copy_text(char *to, const char *from)
{
	size_t n = length(from, ALL);
	mw_put(to, from, n + 1);
	return to + n;
}
static char *append_text(char *to, const char *from, size_t most)
{
	size_t at = length(to, ALL), k = length(from, most);
	mw_put(to + at, from, k);
	put_zeros(to + at + k, 1);
	return to;
}
STRINGS(void *, mempcpy, (void *to, const void *from, size_t n), return (char *)move(to, from, n) + n;)
STRINGS(void *, __memcpy_chk, (void *to, const void *from, size_t n, size_t size), (void)size; return move(to, from, n);)
STRINGS(void *, __memmove_chk, (void *to, const void *from, size_t n, size_t size), (void)size; return move(to, from, n);)
STRINGS(void *, __mempcpy_chk, (void *to, const void *from, size_t n, size_t size), (void)size; return (char *)move(to, from, n) + n;)
STRINGS(void, bcopy, (const void *from, void *to, size_t n), move(to, from, n);)
STRINGS(void *, __memset_chk, (void *to, int byte, size_t n, size_t size), (void)size; return fill(to, byte, n);)
STRINGS(void, bzero, (void *to, size_t n), fill(to, 0, n);)
STRINGS(void, explicit_bzero, (void *to, size_t n), fill(to, 0, n);)
STRINGS(void, __explicit_bzero_chk, (void *to, size_t n, size_t size), (void)size; fill(to, 0, n);)
STRINGS(void *, memccpy, (void *to, const void *from, int c, size_t n),
	char *end = found(from, c, n);
	size_t k = end ? (size_t)(end + 1 - (const char *)from) : n;
	move(to, from, k);
	return end ? (char *)to + k : NULL;)
STRINGS(char *, strcpy, (char *to, const char *from), copy_text(to, from); return to;)
STRINGS(char *, __strcpy_chk, (char *to, const char *from, size_t size), (void)size; copy_text(to, from); return to;)
STRINGS(char *, stpcpy, (char *to, const char *from), return copy_text(to, from);)
STRINGS(char *, __stpcpy_chk, (char *to, const char *from, size_t size), (void)size; return copy_text(to, from);)
STRINGS(char *, strncpy, (char *to, const char *from, size_t n), copy_filled(to, from, n); return to;)
STRINGS(char *, __strncpy_chk, (char *to, const char *from, size_t n, size_t size), (void)size; copy_filled(to, from, n); return to;)
STRINGS(char *, stpncpy, (char *to, const char *from, size_t n), return copy_filled(to, from, n);)
STRINGS(char *, __stpncpy_chk, (char *to, const char *from, size_t n, size_t size), (void)size; return copy_filled(to, from, n);)
STRINGS(char *, strcat, (char *to, const char *from), return append_text(to, from, ALL);)
STRINGS(char *, __strcat_chk, (char *to, const char *from, size_t size), (void)size; return append_text(to, from, ALL);)
STRINGS(char *, strncat, (char *to, const char *from, size_t n), return append_text(to, from, n);)
STRINGS(char *, __strncat_chk, (char *to, const char *from, size_t n, size_t size), (void)size; return append_text(to, from, n);)
STRINGS(char *, strdup, (const char *s), return duplicate(s, length(s, ALL));)
STRINGS(char *, strndup, (const char *s, size_t n), return duplicate(s, length(s, n));)
STRINGS(char *, __xpg_basename, (char *s),
	size_t n = s ? length(s, ALL) : 0;
	while (n > 1 && s[n - 1] == '/') put_zeros(s + --n, 1);
	char *slash = n ? strrchr(s, '/') : NULL;
	return !n ? "." : slash && slash[1] ? slash + 1 : s;)

/* Words of a text, which is changed. `*rest` is where the next one begins. */
static char *next_word(char *s, const char *of, char **rest)
{
	if (!s) { mw_look(rest, sizeof *rest); s = *rest; }
	if (!s) return NULL;
	length(s, ALL);
	length(of, ALL);
	s += strspn(s, of);
	char *end = s + strcspn(s, of), *next = *end ? end + 1 : end;
	if (*end) put_zeros(end, 1);
	if (!*s) s = NULL;
	mw_put(rest, &next, sizeof next);
	return s;
}
/* All threads share it, so it is in memory that the model knows. */
static char *rest_of_words __attribute__((aligned(64)));
STRINGS(char *, strtok_r, (char *s, const char *of, char **rest), return next_word(s, of, rest);)
STRINGS(char *, strtok, (char *s, const char *of), return next_word(s, of, &rest_of_words);)
STRINGS(char *, strsep, (char **at, const char *of),
	mw_look(at, sizeof *at);
	char *s = *at;
	if (!s) return NULL;
	length(s, ALL);
	length(of, ALL);
	char *end = s + strcspn(s, of), *next = *end ? end + 1 : NULL;
	if (*end) put_zeros(end, 1);
	mw_put(at, &next, sizeof next);
	return s;)

/* Numbers. The end of one goes to memory of the program. */
#define NUMBERS(type, name, own) \
	STRINGS(type, name, (const char *s, char **to, int base), \
		char *end; \
		length(s, ALL); \
		type n = own(s, &end, base); \
		if (to) mw_put(to, &end, sizeof end); \
		return n;)
NUMBERS(long, strtol, strtol) NUMBERS(unsigned long, strtoul, strtoul) NUMBERS(long long, strtoll, strtoll)
NUMBERS(unsigned long long, strtoull, strtoull) NUMBERS(intmax_t, strtoimax, strtoimax) NUMBERS(uintmax_t, strtoumax, strtoumax)
NUMBERS(long, __isoc23_strtol, strtol) NUMBERS(unsigned long, __isoc23_strtoul, strtoul)
NUMBERS(long long, __isoc23_strtoll, strtoll) NUMBERS(unsigned long long, __isoc23_strtoull, strtoull)
#define REALS(type, name) \
	REAL(type, name, (const char *s, char **to), \
		char *end; \
		length(s, ALL); \
		type n = name(s, &end); \
		if (to) mw_put(to, &end, sizeof end); \
		return n;)
REALS(double, strtod) REALS(float, strtof) REALS(long double, strtold)
STRINGS(int, inet_pton, (int family, const char *s, void *to),
	unsigned char own[16];
	length(s, ALL);
	int n = inet_pton(family, s, own);
	if (n == 1) mw_put(to, (char *)own, family == AF_INET ? 4 : 16);
	return n;)
STRINGS(const char *, inet_ntop, (int family, const void *from, char *to, socklen_t size),
	char own[INET6_ADDRSTRLEN];
	mw_look(from, family == AF_INET ? 4 : 16);
	if (!inet_ntop(family, from, own, sizeof own) || strlen(own) >= size) { errno = ENOSPC; return NULL; }
	mw_put(to, own, strlen(own) + 1);
	return to;)

/* Sorting and searching. The comparison is a function of the program, so its accesses are those of the program. */
typedef int compares(const void *, const void *);
static int compared(compares *by, const void *a, const void *b)
{
	return mw_call_program((int (*)(void *, void *))by, (void *)a, (void *)b);
}
#define CALLS(type, name, parameters, ...) ENTRY_THAT_CALLS(__mowgli_##name); type mw___mowgli_##name parameters { __VA_ARGS__ }
CALLS(void, qsort, (void *at, size_t n, size_t size, compares *by),
	if (mw_native(at, n * size, 1)) { qsort(at, n, size, by); return; }
	char *all = at; char *one = alloca(size); char *other = alloca(size);
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && compared(by, all + (k - 1) * size, all + k * size) > 0; k--) {
			mw_look(all + (k - 1) * size, 2 * size);
			memcpy(one, all + (k - 1) * size, size);
			memcpy(other, all + k * size, size);
			mw_put(all + (k - 1) * size, other, size);
			mw_put(all + k * size, one, size);
		})
CALLS(void *, bsearch, (const void *key, const void *at, size_t n, size_t size, compares *by),
	if (mw_native(at, n * size, 0)) return bsearch(key, at, n, size, by);
	for (size_t low = 0; low < n;) {
		size_t middle = (low + n) / 2;
		const char *one = (const char *)at + middle * size;
		int less = compared(by, key, one);
		if (!less) return (void *)one;
		if (less < 0) n = middle; else low = middle + 1;
	}
	return NULL;)

/* Reads a format, and the strings among its arguments. All other arguments are values that the program has read itself. */
static void reads(const char *format, va_list all)
{
	va_list arguments;
	va_copy(arguments, all);
	length(format, ALL);
	for (const char *p = format; *p; p++) {
		if (*p != '%') continue;
		size_t most = ALL;
		int is_long = 0;
		p += 1 + strspn(p + 1, "#0- +'");
		if (*p == '*') { va_arg(arguments, int); p++; } else p += strspn(p, "0123456789");
		if (*p == '.') {
			char *end = (char *)++p;
			long n = *p == '*' ? va_arg(arguments, int) : strtol(p, &end, 10);
			p = *p == '*' ? p + 1 : end;
			if (n >= 0) most = (size_t)n;
		}
		for (; *p && strchr("hljztLq", *p); p++) is_long = *p == 'L';
		if (!*p) break;
		if (*p == '%' || *p == 'm') continue;
		if (*p == 'n') mw_end('x', "%%n of printf is not supported");
		/* Those in registers are no part of the state at the entry. */
		if (strchr("aAeEfFgG", *p) && is_long) { long double v = va_arg(arguments, long double); mw_learn(&v, 10); }
		else if (strchr("aAeEfFgG", *p)) { double v = va_arg(arguments, double); mw_learn(&v, sizeof v); }
		else if (*p == 's') { const char *s = va_arg(arguments, const char *); if (s) length(s, most); }
		else va_arg(arguments, long);
	}
	va_end(arguments);
}
/* Writes the text to memory of the program, cut to its size. */
static int prints(char *to, size_t size, const char *format, va_list all)
{
	reads(format, all);
	char *text = mw_text(format, all);
	size_t n = strlen(text), k = n < size ? n : size - 1;
	text[k] = 0;
	if (size) mw_put(to, text, k + 1);
	mw_own_free(text);
	return (int)n;
}
static int allocates(char **to, const char *format, va_list all)
{
	reads(format, all);
	char *text = mw_text(format, all), *own = duplicate(text, strlen(text));
	mw_put(to, &own, sizeof own);
	int n = (int)strlen(text);
	mw_own_free(text);
	return own ? n : -1;
}
static int shows(FILE *to, const char *format, va_list all) { reads(format, all); return vfprintf(to, format, all); }
static int shows_at(int fd, const char *format, va_list all) { reads(format, all); return vdprintf(fd, format, all); }
/* Each of these has a variant with a list of arguments, and both have checked variants with more parameters. */
#define PRINTS(name, first, checked, call) \
	STRINGS(int, name, (FIRST first, const char *format, ...), va_list all; va_start(all, format); int n = call; va_end(all); return n;) \
	STRINGS(int, v##name, (FIRST first, const char *format, va_list all), return call;) \
	STRINGS(int, __##name##_chk, (FIRST first, FIRST checked, const char *format, ...), \
		va_list all; va_start(all, format); int n = call; va_end(all); return n;) \
	STRINGS(int, __v##name##_chk, (FIRST first, FIRST checked, const char *format, va_list all), return call;)
#define FIRST(...) __VA_ARGS__
PRINTS(fprintf, (FILE *to), (int flag), shows(to, format, all))
PRINTS(dprintf, (int fd), (int flag), shows_at(fd, format, all))
PRINTS(sprintf, (char *to), (int flag, size_t most), prints(to, ALL, format, all))
PRINTS(snprintf, (char *to, size_t size), (int flag, size_t most), prints(to, size, format, all))
PRINTS(asprintf, (char **to), (int flag), allocates(to, format, all))
STRINGS(int, printf, (const char *format, ...), va_list all; va_start(all, format); int n = shows(stdout, format, all); va_end(all); return n;)
STRINGS(int, vprintf, (const char *format, va_list all), return shows(stdout, format, all);)
STRINGS(int, __printf_chk, (int flag, const char *format, ...),
	(void)flag; va_list all; va_start(all, format); int n = shows(stdout, format, all); va_end(all); return n;)
STRINGS(int, __vprintf_chk, (int flag, const char *format, va_list all), (void)flag; return shows(stdout, format, all);)

/* Scanning. libc writes what it finds to memory of the runtime, twice and over different bytes. What is equal then is a value, which goes
 * to memory of the program as one store. */
enum { SCANNED = 32 };
struct scanned { char *to, kind; size_t size; };
/* Lists the values of a format. `longest` is the length of the longest text that may be one. */
static int values_of(const char *format, va_list arguments, size_t longest, struct scanned *all)
{
	int count = 0;
	for (const char *p = format; *p; p++) {
		if (*p != '%') continue;
		int skips = *++p == '*', longs = 0, shorts = 0;
		if (skips) p++;
		char *end;
		long width = strtol(p, &end, 10);
		for (p = end; *p && strchr("hljztLqm", *p); p++) {
			longs += *p != 'h';
			shorts += *p == 'h';
			if (*p == 'm') mw_end('x', "%%m of scanf is not supported");
		}
		if (!*p) break;
		char kind = *p;
		if (kind == '$' || ((longs || strchr("SC", kind)) && strchr("sScC[", kind))) mw_end('x', "%%%c of scanf is not supported", kind);
		if (kind == '[') {
			p += p[1] == '^' ? 2 : 1;
			while (*++p && *p != ']') {}
		}
		if (kind == '%' || skips) continue;
		if (count == SCANNED) mw_end('x', "scanf of more than %d values", SCANNED);
		size_t size = kind == 's' || kind == '[' ? longest + 1 : kind == 'c' ? (size_t)(width ? width : 1) : kind == 'p' ? 8
			: strchr("aAeEfFgG", kind) ? (longs ? p[-1] == 'L' ? 10 : 8 : 4) : longs ? 8 : shorts == 2 ? 1 : shorts ? 2 : 4;
		all[count++] = (struct scanned){ va_arg(arguments, char *), kind, size };
	}
	return count;
}
static int scans_to(const char *s, const char *format, char *const *p)
{
	return sscanf(s, format, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17],
		p[18], p[19], p[20], p[21], p[22], p[23], p[24], p[25], p[26], p[27], p[28], p[29], p[30], p[31]);
}
static int scans(const char *s, const char *format, va_list all)
{
	struct scanned values[SCANNED];
	char *once[SCANNED] = { NULL }, *twice[SCANNED] = { NULL };
	va_list arguments;
	length(s, ALL);
	length(format, ALL);
	if (mw_native(NULL, 0, 0)) return vsscanf(s, format, all);
	va_copy(arguments, all);
	int count = values_of(format, arguments, strlen(s), values);
	va_end(arguments);
	for (int k = 0; k < count; k++) {
		once[k] = memset(mw_own_malloc(values[k].size), 0x55, values[k].size);
		twice[k] = memset(mw_own_malloc(values[k].size), 0xaa, values[k].size);
	}
	scans_to(s, format, once);
	int n = scans_to(s, format, twice);
	for (int k = 0; k < count; k++) {
		int is_text = values[k].kind == 's' || values[k].kind == '[';
		if (once[k][0] == twice[k][0]) mw_put(values[k].to, once[k], is_text ? strlen(once[k]) + 1 : values[k].size);
		mw_own_free(once[k]);
		mw_own_free(twice[k]);
	}
	return n;
}
#define SCANS(name) \
	STRINGS(int, name, (const char *s, const char *format, ...), \
		va_list all; va_start(all, format); int n = scans(s, format, all); va_end(all); return n;)
#define SCANS_LIST(name) STRINGS(int, name, (const char *s, const char *format, va_list all), return scans(s, format, all);)
SCANS(sscanf) SCANS(__isoc99_sscanf) SCANS(__isoc23_sscanf) SCANS_LIST(vsscanf) SCANS_LIST(__isoc99_vsscanf) SCANS_LIST(__isoc23_vsscanf)
