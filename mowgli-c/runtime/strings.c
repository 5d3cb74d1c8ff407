/* Functions of libc that read or write strings. They read a string word by word, as other threads may write it, and write it like a
 * structure that is copied. In objects of the program their names are replaced by these.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a string of at most so many bytes, and returns its length. */
static size_t length(const char *s, size_t most)
{
	if (mw_sets_up_still()) return strnlen(s, most);
	mw_flush();
	for (size_t n = 0; n < most;) {
		size_t k = mw_load_word(s + n, most - n);
		const char *end = memchr(s + n, 0, k);
		if (end) return (size_t)(end - s);
		n += k;
	}
	return most;
}
static void put(char *to, const char *from, size_t n)
{
	if (mw_sets_up_still()) memmove(to, from, n);
	else mw_store(to, from, n, 1);
}
static void put_zeros(char *to, size_t n)
{
	char *zeros = calloc(n, 1);
	if (zeros) put(to, zeros, n);
	free(zeros);
}
#define STRINGS(type, name, parameters, ...) ENTRY(__mowgli_##name); type mw___mowgli_##name parameters { __VA_ARGS__ }
#define ALL ((size_t)-1 >> 1)
STRINGS(size_t, strlen, (const char *s), return length(s, ALL);)
STRINGS(size_t, strnlen, (const char *s, size_t n), return length(s, n);)
STRINGS(char *, strcpy, (char *to, const char *from), put(to, from, length(from, ALL) + 1); return to;)
STRINGS(char *, strncpy, (char *to, const char *from, size_t n),
	size_t k = length(from, n);
	put(to, from, k);
	put_zeros(to + k, n - k);
	return to;)
STRINGS(char *, strcat, (char *to, const char *from),
	size_t n = length(to, ALL);
	put(to + n, from, length(from, ALL) + 1);
	return to;)
STRINGS(int, strcmp, (const char *a, const char *b), length(a, ALL); length(b, ALL); return strcmp(a, b);)
STRINGS(int, strncmp, (const char *a, const char *b, size_t n), length(a, n); length(b, n); return strncmp(a, b, n);)
STRINGS(char *, strchr, (const char *s, int c), length(s, ALL); return strchr(s, c);)
STRINGS(char *, strrchr, (const char *s, int c), length(s, ALL); return strrchr(s, c);)
STRINGS(char *, strstr, (const char *s, const char *part), length(s, ALL); length(part, ALL); return strstr(s, part);)
STRINGS(char *, strdup, (const char *s),
	size_t n = length(s, ALL) + 1;
	char *to = __mowgli_malloc(n);
	if (to) put(to, s, n);
	return to;)
STRINGS(char *, stpcpy, (char *to, const char *from),
	size_t n = length(from, ALL);
	put(to, from, n + 1);
	return to + n;)
STRINGS(char *, strncat, (char *to, const char *from, size_t n),
	size_t at = length(to, ALL), k = length(from, n);
	put(to + at, from, k);
	put_zeros(to + at + k, 1);
	return to;)
STRINGS(int, strcasecmp, (const char *a, const char *b), length(a, ALL); length(b, ALL); return strcasecmp(a, b);)
STRINGS(int, strncasecmp, (const char *a, const char *b, size_t n), length(a, n); length(b, n); return strncasecmp(a, b, n);)
STRINGS(size_t, strspn, (const char *s, const char *of), length(s, ALL); length(of, ALL); return strspn(s, of);)
STRINGS(size_t, strcspn, (const char *s, const char *of), length(s, ALL); length(of, ALL); return strcspn(s, of);)
/* The end of a number goes to memory of the program. */
#define NUMBERS(type, name) \
	STRINGS(type, name, (const char *s, char **to, int base), \
		char *end; \
		length(s, ALL); \
		type n = name(s, &end, base); \
		if (to) put((char *)to, (char *)&end, sizeof end); \
		return n;)
NUMBERS(long, strtol) NUMBERS(unsigned long, strtoul) NUMBERS(long long, strtoll) NUMBERS(unsigned long long, strtoull)
STRINGS(int, atoi, (const char *s), length(s, ALL); return atoi(s);)
STRINGS(int, puts, (const char *s), length(s, ALL); return puts(s);)
STRINGS(int, fputs, (const char *s, FILE *to), length(s, ALL); return fputs(s, to);)

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
	char *text;
	int n = vasprintf(&text, format, all);
	if (n < 0) return n;
	size_t k = (size_t)n < size ? (size_t)n : size - 1;
	text[k] = 0;
	if (size) put(to, text, k + 1);
	free(text);
	return n;
}
#define PRINTS(name, parameters, last, call) \
	STRINGS(int, name, parameters, va_list all; va_start(all, last); int n = call; va_end(all); return n;)
PRINTS(printf, (const char *format, ...), format, (reads(format, all), vprintf(format, all)))
PRINTS(fprintf, (FILE *to, const char *format, ...), format, (reads(format, all), vfprintf(to, format, all)))
PRINTS(sprintf, (char *to, const char *format, ...), format, prints(to, ALL, format, all))
PRINTS(snprintf, (char *to, size_t size, const char *format, ...), format, prints(to, size, format, all))
STRINGS(int, vprintf, (const char *format, va_list all), reads(format, all); return vprintf(format, all);)
STRINGS(int, vfprintf, (FILE *to, const char *format, va_list all), reads(format, all); return vfprintf(to, format, all);)
STRINGS(int, vsnprintf, (char *to, size_t size, const char *format, va_list all), return prints(to, size, format, all);)

/* What these read and write is not known, so only the set-up may call them. */
#define UNSEEN(name) \
	__asm__(".text\n__mowgli_" #name ":\ncmpl $0, mw_thread(%rip)\njl " #name "\njmp mw_unseen_" #name "\n.globl __mowgli_" #name "\n"); \
	ENTRY(mw_unseen_##name); \
	void mw_mw_unseen_##name(void) { mw_flush(); mw_end('x', #name " in a thread: what it reads and writes is not seen"); }
UNSEEN(sscanf) UNSEEN(__isoc99_sscanf) UNSEEN(fgets) UNSEEN(fread) UNSEEN(fwrite) UNSEEN(getline) UNSEEN(qsort) UNSEEN(strtok)
UNSEEN(strtok_r) UNSEEN(strsep) UNSEEN(memchr) UNSEEN(memccpy) UNSEEN(mempcpy) UNSEEN(bcopy) UNSEEN(bzero) UNSEEN(bcmp) UNSEEN(strtod)
UNSEEN(strpbrk) UNSEEN(getrandom)
