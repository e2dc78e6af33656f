/*
 * Lets Debian 12's linux.uml run on processors with AVX-512, AMX or protection keys.
 *
 * User-Mode Linux restores the floating point registers of its processes with PTRACE_SETREGSET and a buffer of fixed
 * size, made for the registers of AVX. Where the processor has more, the host kernel wants the whole area and answers
 * EFAULT: "ptrace set fp regs failed, errno = 14". Preloaded, this reads the whole area first, lays what the guest
 * gave over its beginning, and writes the whole area back.
 *
 * It also leaves out a write of what the process has, for which the host would allocate and map memory: that is known
 * from the last read or write, after which the process ran at most what the kernel put into it to map memory (continued
 * without a signal), which leaves these registers alone. Of all writes more than half are left out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The largest area that is known (AMX) has 11,008 bytes. */
static unsigned char area[1 << 16] __attribute__((aligned(64)));

/* What processes have, by number: a guest has one process on the host for each of its own, of which few take turns. */
struct known {
	pid_t pid;
	size_t len;
	unsigned char bytes[4096];
};
static struct known all[256];

static struct known *known(pid_t pid)
{
	return &all[(unsigned)pid % (sizeof all / sizeof *all)];
}

static void forget(pid_t pid)
{
	if (known(pid)->pid == pid)
		known(pid)->pid = 0;
}

/* What is known after a read or a write, unless that failed. */
static long learn(pid_t pid, const struct iovec *now, long result)
{
	struct known *one = known(pid);

	one->pid = 0;
	if (result >= 0 && now->iov_len <= sizeof one->bytes) {
		memcpy(one->bytes, now->iov_base, now->iov_len);
		one->len = now->iov_len;
		one->pid = pid;
	}
	return result;
}

static long set_extended_state(pid_t pid, void *type, const struct iovec *given)
{
	struct iovec whole = { area, sizeof area };
	struct known *one = known(pid);

	if (one->pid == pid && one->len == given->iov_len && memcmp(one->bytes, given->iov_base, one->len) == 0)
		return 0;
	forget(pid);
	if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, type, &whole) < 0)
		return -1;
	memcpy(area, given->iov_base, given->iov_len < whole.iov_len ? given->iov_len : whole.iov_len);
	return learn(pid, given, syscall(SYS_ptrace, PTRACE_SETREGSET, pid, type, &whole));
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list rest;
	pid_t pid;
	void *address, *data;
	long word, result;

	va_start(rest, request);
	pid = va_arg(rest, pid_t);
	address = va_arg(rest, void *);
	data = va_arg(rest, void *);
	va_end(rest);

	switch (request) {
	case PTRACE_GETREGSET:
		if ((long)address == NT_X86_XSTATE)
			return learn(pid, data, syscall(SYS_ptrace, request, pid, address, data));
		break;
	case PTRACE_SETREGSET:
		if ((long)address == NT_X86_XSTATE)
			return set_extended_state(pid, address, data);
		forget(pid);
		break;
	case PTRACE_GETREGS:
	case PTRACE_SETREGS:
		break;
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
	case PTRACE_PEEKUSER:
		/* The system call stores the word; the C library's function, which this replaces, returns it. */
		result = syscall(SYS_ptrace, request, pid, address, &word);
		if (result < 0)
			return result;
		errno = 0;
		return word;
	case PTRACE_CONT:
		if (data)
			forget(pid);
		break;
	default:
		/* It may run, or is another one. */
		forget(pid);
	}
	return syscall(SYS_ptrace, request, pid, address, data);
}
