/*
 * What lab scripts do with many blocks of disks: in a guest, a process for each of them takes most of the time.
 *
 * write DEVICE SIZE LABEL...: a block of SIZE bytes, `mark at LABEL.` and spaces, at the place that LABEL ends with:
 *     OFFSET or NAME:OFFSET; past the page cache.
 * find DISK...: where such marks lie, a line for each: `LABEL DISK PLACE`. What is cached is written down before.
 * zero DISK...: zeros on all of it, past the page cache.
 * requests DEVICE read|write SIZE STEP COUNT sequential|random DISK...: COUNT direct requests of SIZE bytes at multiples
 *     of STEP, one after the other, in order or in a random order that is the same each time; then, as /proc/diskstats
 *     counts what the disks did meanwhile: READS WRITES BYTES-READ BYTES-WRITTEN.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Of one read or write at most; as the kernel wants it for direct access, it begins at a page. */
enum { PIECE = 1 << 20, SECTOR = 512 };
/* A mark has fewer bytes. */
enum { LONGEST = 128 };
static char piece[PIECE] __attribute__((aligned(4096)));

static int opened(const char *path, int how)
{
	int file = open(path, how | O_CLOEXEC);

	if (file < 0)
		err(1, "%s", path);
	return file;
}

static long long number(const char *word)
{
	char *end;
	long long value = strtoll(word, &end, 10);

	if (*word < '0' || *word > '9' || *end)
		errx(1, "`%s` is not a number", word);
	return value;
}

/* A number of bytes that fits the buffer. */
static size_t size_of(const char *word)
{
	long long value = number(word);

	if (value < 1 || value > PIECE)
		errx(1, "no block has %s bytes", word);
	return value;
}

static void write_at(int file, const char *path, size_t size, off_t at)
{
	ssize_t done = pwrite(file, piece, size, at);

	if (done < 0)
		err(1, "%s: write of %zu bytes at %lld", path, size, (long long)at);
	if ((size_t)done != size)
		errx(1, "%s: %zd of %zu bytes written at %lld", path, done, size, (long long)at);
}

static void write_marks(const char *device, size_t size, char **labels)
{
	int file = opened(device, O_WRONLY | O_DIRECT);
	const char *colon;
	char text[LONGEST];
	int length;

	for (; *labels; labels++) {
		length = snprintf(text, sizeof text, "mark at %s.", *labels);
		if ((size_t)length >= sizeof text || (size_t)length > size)
			errx(1, "`%s` is too long for a mark in %zu bytes", *labels, size);
		memset(piece, ' ', size);
		memcpy(piece, text, length);
		colon = strrchr(*labels, ':');
		write_at(file, device, size, number(colon ? colon + 1 : *labels));
	}
	close(file);
}

/* The length of the mark's label at the start of this text, which is `mark at LABEL.`; -1 when it is none. */
static int label_of(const char *text, const char *end)
{
	static const char begin[] = "mark at ";
	const char *label = text + sizeof begin - 1, *at = label;

	if (end - text < (long)sizeof begin || memcmp(text, begin, sizeof begin - 1))
		return -1;
	while (at < end && *at && strchr("abcdefghijklmnopqrstuvwxyz0123456789_-:", *at))
		at++;
	return at < end && *at == '.' ? at - label : -1;
}

static void find_marks(const char *disk)
{
	/* What the end of a piece begins is looked at with the next. */
	static char text[LONGEST + PIECE];
	const char *slash = strrchr(disk, '/'), *name = slash ? slash + 1 : disk, *at, *end;
	int file = opened(disk, O_RDONLY), length;
	long long place = 0;
	size_t kept = 0;
	ssize_t got;

	if (ioctl(file, BLKFLSBUF, 0) < 0)
		err(1, "%s: flush", disk);
	do {
		got = read(file, text + kept, PIECE);
		if (got < 0)
			err(1, "%s", disk);
		end = text + kept + got;
		for (at = text; (at = memchr(at, 'm', end - at)); at++) {
			/* With the next piece, unless there is none. */
			if (got && end - at < LONGEST)
				break;
			length = label_of(at, end);
			if (length >= 0)
				printf("%.*s %s %lld\n", length, at + 8, name, place + (at - text));
		}
		if (!at)
			at = end;
		kept = end - at;
		place += at - text;
		memmove(text, at, kept);
	} while (got);
	close(file);
}

static void zero(const char *disk)
{
	int file = opened(disk, O_WRONLY | O_DIRECT);
	unsigned long long size, at;

	if (ioctl(file, BLKGETSIZE64, &size) < 0)
		err(1, "%s: size", disk);
	for (at = 0; at < size; at += PIECE)
		write_at(file, disk, size - at < PIECE ? size - at : PIECE, at);
	close(file);
}

/* Adds what the disks have done so far, times `sign`. */
static void count(char **disks, long long sign, long long done[4])
{
	long long reads, read, writes, written;
	char line[512], name[64];
	FILE *stats = fopen("/proc/diskstats", "re");
	int i;

	if (!stats)
		err(1, "/proc/diskstats");
	while (fgets(line, sizeof line, stats)) {
		if (sscanf(line, "%*d %*d %63s %lld %*d %lld %*d %lld %*d %lld", name, &reads, &read, &writes, &written) != 5)
			errx(1, "/proc/diskstats: %s", line);
		for (i = 0; disks[i]; i++) {
			if (strncmp(disks[i], "/dev/", 5) || strcmp(disks[i] + 5, name))
				continue;
			done[0] += sign * reads;
			done[1] += sign * writes;
			done[2] += sign * read * SECTOR;
			done[3] += sign * written * SECTOR;
		}
	}
	fclose(stats);
}

static void requests(char **words)
{
	const char *device = words[0];
	int reading = !strcmp(words[1], "read"), file = opened(device, (reading ? O_RDONLY : O_WRONLY) | O_DIRECT);
	size_t size = size_of(words[2]);
	long long step = number(words[3]), left = number(words[4]), done[4] = { 0 }, *places, i, j, place;
	char **disks = words + 6;

	if (left < 1 || !(places = calloc(left, sizeof *places)))
		errx(1, "%s requests", words[4]);
	for (i = 0; i < left; i++)
		places[i] = i * step;
	if (!strcmp(words[5], "random")) {
		srand48(1);
		for (i = left - 1; i > 0; i--) {
			j = drand48() * (i + 1);
			place = places[i];
			places[i] = places[j];
			places[j] = place;
		}
	}
	memset(piece, 0xa5, size);
	count(disks, -1, done);
	for (i = 0; i < left; i++) {
		if (!reading)
			write_at(file, device, size, places[i]);
		else if (pread(file, piece, size, places[i]) != (ssize_t)size)
			err(1, "%s: read of %zu bytes at %lld", device, size, places[i]);
	}
	close(file);
	count(disks, 1, done);
	printf("%lld %lld %lld %lld\n", done[0], done[1], done[2], done[3]);
	free(places);
}

static void each(void (*what)(const char *), char **disks)
{
	while (*disks)
		what(*disks++);
}

int main(int words, char **word)
{
	const char *what = words > 2 ? word[1] : "";

	if (!strcmp(what, "write") && words > 4)
		write_marks(word[2], size_of(word[3]), word + 4);
	else if (!strcmp(what, "find"))
		each(find_marks, word + 2);
	else if (!strcmp(what, "zero"))
		each(zero, word + 2);
	else if (!strcmp(what, "requests") && words > 8)
		requests(word + 2);
	else
		errx(2, "write DEVICE SIZE LABEL... | find DISK... | zero DISK... | "
			"requests DEVICE read|write SIZE STEP COUNT sequential|random DISK...");
	if (fflush(stdout) || ferror(stdout))
		err(1, "stdout");
	return 0;
}
