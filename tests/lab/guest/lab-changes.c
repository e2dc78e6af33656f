/*
 * What lab scripts ask of disks between two writes: in a guest, copies of whole disks and a comparison of them in other
 * processes take most of the time.
 *
 * remember DISK...: keeps what the disks hold, in /tmp/before.
 * changed DISK...: runs of sectors that have changed since then, or since this was last asked: `sda 32256+4096`, without
 *     those within a line `sda START END` of $BESIDES.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of one read or write at most. */
enum { PIECE = 1 << 20, SECTOR = 512 };
static char now[PIECE], old[PIECE];
static const char before[] = "/tmp/before";

static int opened(const char *path, int how)
{
	int file = open(path, how | O_CLOEXEC, 0644);

	if (file < 0)
		err(1, "%s", path);
	return file;
}

/* The disk as it is once what is cached was written down. */
static int opened_flushed(const char *disk)
{
	int file = opened(disk, O_RDONLY);

	if (ioctl(file, BLKFLSBUF, 0) < 0)
		err(1, "%s: flush", disk);
	return file;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int opened_copy(const char *disk, int how)
{
	char path[256];

	if (mkdir(before, 0755) < 0 && errno != EEXIST)
		err(1, "%s", before);
	if (snprintf(path, sizeof path, "%s/%s", before, name_of(disk)) >= (int)sizeof path)
		errx(1, "%s: the name is too long", disk);
	return opened(path, how);
}

static void keep(int copy, size_t size, off_t at)
{
	if (pwrite(copy, now, size, at) != (ssize_t)size)
		err(1, "%s", before);
}

static void remember(const char *disk)
{
	int file = opened_flushed(disk), copy = opened_copy(disk, O_WRONLY | O_CREAT | O_TRUNC);
	off_t at = 0;
	ssize_t got;

	for (; (got = read(file, now, PIECE)) > 0; at += got)
		keep(copy, got, at);
	if (got < 0)
		err(1, "%s", disk);
	close(copy);
	close(file);
}

/* Prints a run of sectors, unless it lies within what is left out. */
static void print_run(const char *disk, long long start, long long end)
{
	const char *line = getenv("BESIDES"), *name = name_of(disk);
	long long first, last;
	char other[64];

	for (; line && *line; line = strchr(line, '\n'), line += !!line)
		if (sscanf(line, "%63s %lld %lld", other, &first, &last) == 3 && !strcmp(other, name) && start >= first &&
		    end <= last)
			return;
	printf("%s %lld+%lld\n", name, start, end - start);
}

static void changed(const char *disk)
{
	int file = opened_flushed(disk), copy = opened_copy(disk, O_RDWR);
	long long place = 0, start = 0, end = 0;
	ssize_t got, at;

	for (; (got = read(file, now, PIECE)) > 0; place += got) {
		if (pread(copy, old, got, place) != got)
			errx(1, "%s has grown", disk);
		if (!memcmp(now, old, got))
			continue;
		for (at = 0; at < got; at += SECTOR) {
			if (!memcmp(now + at, old + at, SECTOR))
				continue;
			if (place + at != end) {
				if (start < end)
					print_run(disk, start, end);
				start = place + at;
			}
			end = place + at + SECTOR;
		}
		keep(copy, got, place);
	}
	if (got < 0)
		err(1, "%s", disk);
	if (start < end)
		print_run(disk, start, end);
	close(copy);
	close(file);
}

int main(int words, char **word)
{
	const char *what = words > 2 ? word[1] : "";
	void (*how)(const char *) = !strcmp(what, "remember") ? remember : !strcmp(what, "changed") ? changed : NULL;

	if (!how)
		errx(2, "remember DISK... | changed DISK...");
	for (word += 2; *word; word++)
		how(*word);
	if (fflush(stdout) || ferror(stdout))
		err(1, "stdout");
	return 0;
}
